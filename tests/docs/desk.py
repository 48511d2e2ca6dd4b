"""The files that the examples on the pages use."""

import json
from pathlib import Path

from tavernkit import Character, CharacterCard, characters

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


def lay_out(folder: Path) -> None:
    card = CharacterCard(character=Character(name="Mira", description="{{char}} paints harbours.", first_mes="Hm?"))
    (folder / "mira.png").write_bytes(characters.to_png(card))
    (folder / "harbour.json").write_text(json.dumps(LORE))
    (folder / "vectors").mkdir()
    (folder / "vectors" / "text.json").write_text(json.dumps(CASES))
