"""Every kind of broken input: a strict build refuses it and names the place, any other lists the place as a warning."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.characters import card_files
from tests.cli.running import run


class Broken(NamedTuple):
    """The option that names a file, what is in the file, the place that is broken in it, and further options."""

    option: str
    document: Any
    place: str
    others: tuple[str, ...] = ()


CHAT: dict[str, Any] = {"prompts": [{"identifier": "main", "content": "Write."}], "prompt_order": []}
TEXT: dict[str, Any] = {"temp": 1, "rep_pen": 1, "max_length": 4096}
INSTRUCT: dict[str, Any] = {"input_sequence": "<u>", "output_sequence": "<a>"}
CONTEXT: dict[str, Any] = {"story_string": "{{description}}"}
RISU_PRESET: dict[str, Any] = {"mainPrompt": "Write.", "maxContext": 4000}
RISUAI = ("--platform", "risuai")


def world(*entries: Any, **fields: Any) -> dict[str, Any]:
    return {"entries": {str(uid): entry for uid, entry in enumerate(entries)}, **fields}


def entry(**fields: Any) -> dict[str, Any]:
    return {"key": ["sea"], "content": "Salt.", "constant": True, **fields}


def settings(**fields: Any) -> dict[str, Any]:
    return {"power_user": {}, "extension_settings": {}, **fields}


def chat(*lines: Any) -> str:
    header = {"user_name": "User", "chat_metadata": {}}
    return "\n".join(line if isinstance(line, str) else json.dumps(line) for line in (header, *lines))


def risu_card(**risuai: Any) -> dict[str, Any]:
    return card_files.v3(extensions={"risuai": risuai})


def risu_module(**module: Any) -> dict[str, Any]:
    return {"type": "risuModule", "module": {"name": "M", "description": "", "id": "m", **module}}


MESSAGE = {"name": "User", "is_user": True, "mes": "Hi", "send_date": "2026-01-01"}

BROKEN: dict[str, Broken] = {
    # Presets for chat completion
    "a sampler that is a word": Broken("--preset", CHAT | {"temperature": "hot"}, "temperature"),
    "a sampler without end": Broken("--preset", CHAT | {"top_p": float("inf")}, "top_p"),
    "a count that is not whole": Broken("--preset", CHAT | {"top_k": 1.5}, "top_k"),
    "a budget that is a word": Broken("--preset", CHAT | {"openai_max_context": "wide"}, "openai_max_context"),
    "a switch that is a word": Broken("--preset", CHAT | {"squash_system_messages": "sure"}, "squash_system_messages"),
    "a format string that is an object": Broken("--preset", CHAT | {"wi_format": {"a": 1}}, "wi_format"),
    "an unknown way of telling names": Broken("--preset", CHAT | {"names_behavior": 9}, "names_behavior"),
    "an unknown way of merging": Broken(
        "--preset", CHAT | {"custom_prompt_post_processing": "zigzag"}, "custom_prompt_post_processing"
    ),
    "prompts that are no list": Broken("--preset", CHAT | {"prompts": "none"}, "prompts"),
    "a prompt that is no object": Broken("--preset", CHAT | {"prompts": ["Write."]}, "prompts[0]"),
    "a prompt's text that is a list": Broken(
        "--preset", CHAT | {"prompts": [{"identifier": "main", "content": [1]}]}, "prompts[0].content"
    ),
    "a prompt's depth that is a word": Broken(
        "--preset",
        CHAT | {"prompts": [{"identifier": "main", "injection_depth": "deep"}]},
        "prompts[0].injection_depth",
    ),
    "an order that is no list": Broken("--preset", CHAT | {"prompt_order": "no"}, "prompt_order"),
    "an order of no objects": Broken("--preset", CHAT | {"prompt_order": [5]}, "prompt_order[0]"),
    "a place in the order that is no object": Broken(
        "--preset", CHAT | {"prompt_order": [{"character_id": 100001, "order": ["main"]}]}, "prompt_order[0].order[0]"
    ),
    "a role that no chat has": Broken(
        "--preset",
        {
            "prompts": [{"identifier": "x", "role": "bard", "content": "Sing.", "injection_position": 1}],
            "prompt_order": [{"character_id": 100001, "order": [{"identifier": "x", "enabled": True}]}],
        },
        "prompt x",
    ),
    "a role that no provider has": Broken(
        "--preset", CHAT | {"prompts": [{"identifier": "main", "role": "bard", "content": "Sing."}]}, "prompt main"
    ),
    "a prompt's place": Broken(
        "--preset",
        CHAT | {"prompts": [{"identifier": "main", "injection_position": 9}]},
        "prompts[0].injection_position",
    ),
    "an order for nobody": Broken(
        "--preset", CHAT | {"prompt_order": [{"character_id": {"a": 1}, "order": []}]}, "prompt_order[0].character_id"
    ),
    "a macro in a prompt": Broken(
        "--preset", CHAT | {"prompts": [{"identifier": "main", "content": "{{nope}}"}]}, "prompt main"
    ),
    "a macro in a format string": Broken("--preset", CHAT | {"new_chat_prompt": "{{nope}}"}, "preset.new_chat_prompt"),
    "a preset's regex script that is no object": Broken(
        "--preset", CHAT | {"extensions": {"regex_scripts": ["x"]}}, "extensions.regex_scripts[0]"
    ),
    # Presets and templates for text completion
    "a sampler of a text preset": Broken("--preset", TEXT | {"temp": "hot"}, "temp"),
    "a budget of a text preset": Broken("--preset", TEXT | {"genamt": [300]}, "genamt"),
    "an order of samplers that is no list": Broken("--preset", TEXT | {"sampler_order": "first"}, "sampler_order"),
    "an instruct switch": Broken("--instruct", INSTRUCT | {"wrap": "maybe"}, "wrap"),
    "an instruct sequence": Broken("--instruct", INSTRUCT | {"system_sequence": {"a": 1}}, "system_sequence"),
    "an instruct way of telling names": Broken("--instruct", INSTRUCT | {"names_behavior": "x"}, "names_behavior"),
    "a macro in an instruct sequence": Broken(
        "--instruct", INSTRUCT | {"story_string_prefix": "{{nope}}"}, "instruct.story_string_prefix"
    ),
    "a context switch": Broken("--context-template", CONTEXT | {"use_stop_strings": 7}, "use_stop_strings"),
    "a context depth": Broken("--context-template", CONTEXT | {"story_string_depth": "x"}, "story_string_depth"),
    "a macro in a story string": Broken(
        "--context-template", {"story_string": "{{description}} {{nope}}"}, "context.story_string"
    ),
    "a part of a master export": Broken("--preset", {"instruct": INSTRUCT, "context": 5}, "context"),
    "a field in a master export": Broken("--preset", {"instruct": INSTRUCT | {"macro": [1]}}, "instruct.macro"),
    # Settings
    "a setting of the user": Broken(
        "--settings", settings(power_user={"trim_sentences": "x"}), "power_user.trim_sentences"
    ),
    "a persona's place": Broken(
        "--settings",
        settings(power_user={"persona_description_position": 7}),
        "power_user.persona_description_position",
    ),
    "a persona that is no text": Broken(
        "--settings", settings(power_user={"persona_description": {"a": 1}}), "power_user.persona_description"
    ),
    "an unknown kind of completion": Broken("--settings", settings(main_api="telegraph"), "main_api"),
    "the place of a note in the settings": Broken(
        "--settings",
        settings(extension_settings={"note": {"defaultPosition": 9}}),
        "extension_settings.note.defaultPosition",
    ),
    "a sampler in the settings": Broken(
        "--settings", settings(main_api="openai", oai_settings={"temperature": "hot"}), "oai_settings.temperature"
    ),
    "a global regex script": Broken(
        "--settings", settings(extension_settings={"regex": [5]}), "extension_settings.regex[0]"
    ),
    # Lorebooks
    "an entry that is no object": Broken("--lore", world(entry(), 5), "entries[1]"),
    "keys that are one text": Broken("--lore", world(entry(key="sea, tide")), "entries[0].key"),
    "a key that is no text": Broken("--lore", world(entry(key=["sea", {}])), "entries[0].key[1]"),
    "an entry's text that is a list": Broken("--lore", world(entry(content=[{}])), "entries[0].content"),
    "an entry's order": Broken("--lore", world(entry(order="first")), "entries[0].order"),
    "an entry's probability": Broken("--lore", world(entry(probability="often")), "entries[0].probability"),
    "an entry's position": Broken("--lore", world(entry(position=99)), "entries[0].position"),
    "an entry's logic": Broken("--lore", world(entry(selectiveLogic="or")), "entries[0].selectiveLogic"),
    "an entry's switch": Broken("--lore", world(entry(preventRecursion="x")), "entries[0].preventRecursion"),
    "an entry's characters": Broken(
        "--lore", world(entry(characterFilter={"names": [{}], "tags": []})), "entries[0].characterFilter.names[0]"
    ),
    "a filter that is no object": Broken("--lore", world(entry(characterFilter="Mira")), "entries[0].characterFilter"),
    "a field of a book": Broken(
        "--lore", {"name": "B", "entries": [{"keys": ["a"], "content": ""}], "scan_depth": "x"}, "scan_depth"
    ),
    "a macro in an entry": Broken("--lore", world(entry(content="{{nope}}"), name="Tides"), "lore entry 0 of Tides"),
    # Regex scripts
    "a script that is no object": Broken("--regex", [{"findRegex": "a"}, 5], "regex_scripts[1]"),
    "a script's pattern that is an object": Broken("--regex", {"scriptName": "x", "findRegex": {"a": 1}}, "findRegex"),
    "a script's trims": Broken("--regex", {"findRegex": "a", "trimStrings": [{}]}, "trimStrings[0]"),
    "a script's switch": Broken("--regex", {"findRegex": "a", "promptOnly": "sure"}, "promptOnly"),
    "a script's place": Broken("--regex", {"findRegex": "a", "placement": [1, "2"]}, "placement[1]"),
    "a script's depth": Broken("--regex", {"findRegex": "a", "minDepth": "deep"}, "minDepth"),
    "a pattern that is none": Broken(
        "--regex", {"scriptName": "Quotes", "findRegex": "/(/g", "placement": [1, 2], "promptOnly": True}, "Quotes"
    ),
    # Cards
    "a greeting that is no text": Broken(
        "--card", card_files.v3(alternate_greetings=["Hi", {}]), "data.alternate_greetings[1]"
    ),
    "a description that is an object": Broken("--card", card_files.v3(description={"a": 1}), "data.description"),
    "a lorebook that is no object": Broken("--card", card_files.v3(character_book="x"), "data.character_book"),
    "an entry of a card's book": Broken(
        "--card", card_files.v3(character_book={"entries": [5]}), "data.character_book.entries[0]"
    ),
    "a field of an entry of a card's book": Broken(
        "--card",
        card_files.v3(character_book={"entries": [{"keys": ["a"], "content": "", "extensions": {"depth": "x"}}]}),
        "data.character_book.entries[0].extensions.depth",
    ),
    "a place of an entry of a card's book": Broken(
        "--card",
        card_files.v3(character_book={"entries": [{"keys": ["a"], "content": "", "position": "sideways"}]}),
        "data.character_book.entries[0].position",
    ),
    "a card's note that is no object": Broken(
        "--card", card_files.v3(extensions={"depth_prompt": "Rain."}), "data.extensions.depth_prompt"
    ),
    "the depth of a card's note": Broken(
        "--card", card_files.v3(extensions={"depth_prompt": {"depth": "deep"}}), "data.extensions.depth_prompt.depth"
    ),
    "the role of a card's note": Broken(
        "--card", card_files.v3(extensions={"depth_prompt": {"role": "bard"}}), "data.extensions.depth_prompt.role"
    ),
    "a card's talkativeness": Broken(
        "--card", card_files.v3(extensions={"talkativeness": "chatty"}), "data.extensions.talkativeness"
    ),
    "a card of an unknown format": Broken("--card", {"spec": "hero", "data": {"name": "Mira"}}, "spec"),
    "a number that is none": Broken("--card", card_files.v3(extensions={"x": float("nan")}), "data.extensions.x"),
    "a card's regex script": Broken(
        "--card",
        card_files.v3(extensions={"regex_scripts": [{"findRegex": [{}]}]}),
        "data.extensions.regex_scripts[0].findRegex",
    ),
    "a macro in a card": Broken("--card", card_files.v3(personality="{{nope}}"), "character.personality"),
    "a macro that never ends": Broken("--card", card_files.v3(scenario="A {{nope2"), "character.scenario"),
    "a member of a group that is no text": Broken(
        "--group", {"members": ["ottoline.json", {}], "activation_strategy": 0}, "members[1]"
    ),
    "an unknown way to choose a speaker": Broken(
        "--group", {"members": ["ottoline.json"], "activation_strategy": 77}, "activation_strategy"
    ),
    # Chats
    "a line that is no JSON": Broken("--history", chat(MESSAGE, "{broken", MESSAGE), "line 3"),
    "a message that is no text": Broken("--history", chat(MESSAGE | {"mes": {"a": 1}}), "message 1.mes"),
    "a message that is a yes": Broken("--history", chat(MESSAGE | {"mes": True}), "message 1.mes"),
    "a speaker's switch": Broken("--history", chat(MESSAGE | {"is_user": "yes"}), "message 1.is_user"),
    "the place of a chat's note": Broken(
        "--history",
        json.dumps({"user_name": "U", "chat_metadata": {"note_prompt": "Rain.", "note_depth": "x"}})
        + "\n"
        + json.dumps(MESSAGE),
        "chat_metadata.note_depth",
    ),
    "a message of another application": Broken(
        "--history", {"type": "risuChat", "data": {"message": [{"role": "user", "data": "Hi"}, 5]}}, "data.message[1]"
    ),
    # RisuAI
    "a budget of a RisuAI preset": Broken("--preset", RISU_PRESET | {"maxContext": "wide"}, "maxContext", RISUAI),
    "a prompt of a RisuAI preset": Broken("--preset", RISU_PRESET | {"jailbreak": {"a": 1}}, "jailbreak", RISUAI),
    "a RisuAI order that is no list": Broken("--preset", RISU_PRESET | {"formatingOrder": 5}, "formatingOrder", RISUAI),
    "a part that RisuAI does not know": Broken("--preset", RISU_PRESET | {"formatingOrder": ["hum"]}, "hum", RISUAI),
    "a card of a template that is no object": Broken(
        "--preset", RISU_PRESET | {"promptTemplate": [5, {"type": "chat"}]}, "promptTemplate[0]", RISUAI
    ),
    "a card of a type that nobody knows": Broken(
        "--preset", RISU_PRESET | {"promptTemplate": [{"type": "chat"}, {"type": "hum"}]}, "'hum'", RISUAI
    ),
    "a script of a RisuAI preset": Broken("--preset", RISU_PRESET | {"regex": [5]}, "regex[0]", RISUAI),
    "a macro in a RisuAI preset": Broken("--preset", {"mainPrompt": "{{nope}}"}, "preset.main_prompt", RISUAI),
    "a block in a RisuAI preset": Broken("--preset", {"mainPrompt": "{{#when::1}}x"}, "preset.main_prompt", RISUAI),
    "the lore of a module": Broken("--module", risu_module(lorebook=[5]), "lorebook[0]", RISUAI),
    "an entry of a module": Broken(
        "--module", risu_module(lorebook=[{"key": "a", "content": {"a": 1}}]), "lorebook[0].content", RISUAI
    ),
    "a trigger of a module": Broken("--module", risu_module(trigger=["x"]), "trigger[0]", RISUAI),
    "an effect of a trigger": Broken(
        "--module", risu_module(trigger=[{"type": "start", "effect": ["x"]}]), "trigger[0].effect[0]", RISUAI
    ),
    "an effect that nobody knows": Broken(
        "--module",
        risu_module(trigger=[{"type": "start", "comment": "Tide", "effect": [{"type": "hum"}]}]),
        "trigger Tide",
        RISUAI,
    ),
    "a trigger in Lua": Broken(
        "--module",
        risu_module(trigger=[{"type": "start", "comment": "Tide", "effect": [{"type": "triggerlua", "code": "x"}]}]),
        "trigger Tide",
        RISUAI,
    ),
    "a script of a module": Broken(
        "--module", risu_module(regex=[{"type": "editinput", "in": [{}]}]), "regex[0].in", RISUAI
    ),
    "a module that is no object": Broken("--module", {"type": "risuModule", "module": 5}, "module", RISUAI),
    "a RisuAI lorebook": Broken("--lore", {"type": "risu", "data": [{"key": "a"}, 5]}, "data[1]", RISUAI),
    "a decorator that cannot be read": Broken(
        "--module",
        risu_module(lorebook=[{"key": "", "alwaysActive": True, "comment": "Tides", "content": "@@depth far\nSalt."}]),
        "Tides",
        RISUAI,
    ),
    "a trigger in a card": Broken(
        "--card", risu_card(triggerscript=[5]), "data.extensions.risuai.triggerscript[0]", RISUAI
    ),
    "a script in a card": Broken(
        "--card", risu_card(customScripts="x"), "data.extensions.risuai.customScripts", RISUAI
    ),
    "a macro in a card, for RisuAI": Broken("--card", card_files.v3(scenario="{{nope}}"), "character.scenario", RISUAI),
    "a result of a tool": Broken(
        "--history", [{"role": "user", "content": "Hi"}, {"role": "tool", "content": "High."}], "message 2", RISUAI
    ),
}


def names(warning: dict[str, Any], place: str) -> bool:
    field: str | None = warning["where"].get("field")
    return place in warning["message"] if field is None else field == place


@pytest.mark.parametrize("broken", BROKEN.values(), ids=list(BROKEN))
def test_broken_input_is_refused_or_listed_with_its_place(broken: Broken, tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    file.write_text(broken.document if isinstance(broken.document, str) else json.dumps(broken.document))
    arguments = ("build", broken.option, file, "--message", "The sea?", *broken.others)
    lenient = run(*arguments, "--json")
    assert lenient.code == 0, lenient.stderr
    assert any(names(warning, broken.place) for warning in lenient.document["warnings"]), lenient.document["warnings"]
    strict = run(*arguments, "--strict")
    assert strict.code == 1
    assert strict.stdout == b""
    assert broken.place in strict.stderr


def test_there_are_enough_kinds() -> None:
    assert len(BROKEN) >= 40
