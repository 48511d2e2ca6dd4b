"""The files that the examples on the pages use."""

import json
from pathlib import Path

from tavernkit import Book, Character, CharacterCard, Entry, characters

LORE = {
    "name": "Harbour",
    "entries": {
        "0": {"uid": 0, "key": ["harbour"], "content": "The harbour freezes in March.", "order": 10},
        "1": {"uid": 1, "key": ["tide"], "content": "The tide comes twice.", "constant": True},
    },
}
CASES = {
    "source": "SillyTavern 1.18.0",
    "group": "dialects",
    "cases": [
        {
            "id": "one",
            "group": "convertTextCompletionPrompt",
            "args": {"messages": [{"role": "user", "content": "Light it."}]},
            "expected": "user: Light it.\nassistant:",
        }
    ],
}
ROLEPLAY = {
    "openai_max_context": 8192,
    "openai_max_tokens": 512,
    "temperature": 0.8,
    "prompts": [
        {"identifier": "main", "system_prompt": True, "content": "You are {{char}}, and {{user}} is here."},
        {"identifier": "jailbreak", "system_prompt": True, "content": "Stay in the scene."},
    ],
}
CHATML = {
    "name": "ChatML",
    "input_sequence": "<|im_start|>user",
    "output_sequence": "<|im_start|>assistant",
    "input_suffix": "<|im_end|>\n",
    "output_suffix": "<|im_end|>\n",
}
EVENING = """\
{"chat_metadata":{},"user_name":"Sam","character_name":"Mira"}
{"name":"Mira","is_user":false,"mes":"Hm?","extra":{}}"""


def lay_out(folder: Path) -> None:
    book = Book(name="Studio", entries=(Entry(id="1", keys=("easel",), content="The easel is broken."),))
    mira = Character(name="Mira", description="{{char}} paints harbours.", first_mes="Hm?", character_book=book)
    card = CharacterCard(character=mira)
    (folder / "mira.png").write_bytes(characters.to_png(card))
    (folder / "harbour.json").write_text(json.dumps(LORE))
    (folder / "roleplay.json").write_text(json.dumps(ROLEPLAY))
    (folder / "chatml.json").write_text(json.dumps(CHATML))
    (folder / "scene.txt").write_text("They walked down to the harbour.")
    (folder / "evening.jsonl").write_text(EVENING)
    (folder / "vectors").mkdir()
    (folder / "vectors" / "text.json").write_text(json.dumps(CASES))
    user = folder / "SillyTavern" / "data" / "default-user"
    (user / "characters").mkdir(parents=True)
    (user / "chats" / "Mira").mkdir(parents=True)
    (user / "characters" / "Mira.png").write_bytes(characters.to_png(card))
    (user / "chats" / "Mira" / "Mira - 2025-03-01@10h00m00s.jsonl").write_text(EVENING)
    (user / "settings.json").write_text(json.dumps({"username": "Sam", "power_user": {}}))
