"""settings.json as typed values, and changes written back into it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.errors import ParseError
from tavernkit.migration import REMOVED, UserSettingsFile, merged_settings, read_user_settings_file
from tavernkit.migration.settings_file import DataBankFile, QuickReplyChoice, SettingsPersonaConnection
from tavernkit.sillytavern import AuthorsNote, CharacterNote, NotePlacement, PersonaPlace, PersonaPosition
from tests.strategies import json_values

FILE = {"url": "/user/files/1.txt", "name": "bank.txt", "size": 9, "created": 1}
SETTINGS: dict[str, Any] = {
    "currentVersion": "1.18.0",
    "username": "Sam",
    "user_avatar": "sam.png",
    "main_api": "openai",
    "power_user": {
        "personas": {"sam.png": "Sam", "kim.png": "Kim"},
        "persona_descriptions": {
            "sam.png": {
                "description": "Tall.",
                "position": 4,
                "depth": 3,
                "role": 1,
                "lorebook": "Home",
                "title": "At home",
                "connections": [{"type": "character", "id": "Anna.png"}, {"type": "group", "id": "17"}],
            },
            "kim.png": {"description": "Old.", "position": 1},
            "nameless.png": {"description": "No name.", "position": 9},
        },
        "default_persona": "kim.png",
        "experimental_macro_engine": True,
        "instruct": {"preset": "ChatML", "input_sequence": "<"},
        "context": {"preset": "Story"},
        "sysprompt": {"name": "Main"},
        "reasoning": {"name": "Think"},
    },
    "tags": [{"id": "t1", "name": "Sea", "folder_type": "OPEN", "color": "red", "x": 1}, {"id": "t2", "name": "Land"}],
    "tag_map": {"Anna.png": ["t1", "t2"], "17": ["t1"]},
    "world_info_settings": {
        "world_info": {"globalSelect": ["Everywhere"], "charLore": [{"name": "Anna", "extraBooks": ["Extra"]}]},
        "world_info_depth": 7,
    },
    "extension_settings": {
        "regex": [{"id": "r1", "scriptName": "One", "findRegex": "a"}],
        "character_allowed_regex": ["Anna.png"],
        "preset_allowed_regex": {"openai": ["Mine"]},
        "note": {
            "default": "Be brief.",
            "defaultDepth": 6,
            "chara": [
                {"name": "Anna", "prompt": "Shy.", "useChara": True, "position": 2},
                {"name": "Bob", "prompt": "Off.", "useChara": False, "position": 0},
            ],
        },
        "quickReplyV2": {
            "config": {"setList": [{"set": "Default", "isVisible": False}]},
            "characterConfigs": {"Anna.png": {"setList": [{"set": "Hers"}]}},
        },
        "variables": {"global": {"season": "winter"}},
        "attachments": [FILE],
        "character_attachments": {"Anna.png": [FILE]},
        "disabled_attachments": ["/user/files/1.txt"],
        "gallery": {"folders": {"Anna.png": "Shared"}},
        "expressionOverrides": [{"name": "Anna", "path": "Anna/summer"}],
        "sd": {"character_prompts": {"Bob": "a fox"}},
        "connectionManager": {"profiles": [{"id": "1", "name": "Main"}]},
    },
    "oai_settings": {"preset_settings_openai": "Mine"},
    "textgenerationwebui_settings": {"preset": "Text"},
    "nai_settings": {"preset_settings_novel": "Novel"},
    "kai_settings": {"preset_settings": "Kobold"},
    "background": {"name": "forest.png", "url": 'url("backgrounds/forest.png")'},
}


def read(document: Any) -> UserSettingsFile:
    return read_user_settings_file(json.dumps(document).encode())


def test_v11_everything_with_a_counterpart_is_read() -> None:
    found = read(SETTINGS)
    assert (found.version, found.user_name, found.user_avatar, found.main_api) == ("1.18.0", "Sam", "sam.png", "openai")
    assert found.macros == "1.19"
    sam, kim, nameless = found.personas
    assert (sam.file, sam.name, sam.description, sam.lorebook, sam.title) == (
        "sam.png",
        "Sam",
        "Tall.",
        "Home",
        "At home",
    )
    assert sam.place == PersonaPlace(position=PersonaPosition.AT_DEPTH, depth=3, role="user")
    assert sam.connections == (
        SettingsPersonaConnection(kind="character", id="Anna.png"),
        SettingsPersonaConnection(kind="group", id="17"),
    )
    assert (kim.name, kim.place) == ("Kim", PersonaPlace())
    assert (nameless.name, nameless.place.position) == ("", PersonaPosition.NONE)
    assert found.default_persona == "kim.png"
    assert [(tag.id, tag.name, tag.is_folder, tag.color) for tag in found.tags] == [
        ("t1", "Sea", True, "red"),
        ("t2", "Land", False, ""),
    ]
    assert found.tags[0].fields["x"] == 1
    assert found.tag_map == {"Anna.png": ("t1", "t2"), "17": ("t1",)}
    assert found.world_info is not None
    assert found.world_info.depth == 7
    assert (found.global_books, found.extra_books) == (("Everywhere",), {"Anna": ("Extra",)})
    assert [script.scriptName for script in found.regex_scripts] == ["One"]
    assert (found.allowed_characters, found.allowed_presets) == (("Anna.png",), {"openai": ("Mine",)})
    assert found.note == AuthorsNote(text="Be brief.", depth=6)
    assert found.character_notes == {"Anna": CharacterNote(text="Shy.", placement=NotePlacement.AFTER)}
    assert found.quick_replies == (QuickReplyChoice(name="Default", is_visible=False),)
    assert found.character_quick_replies == {"Anna.png": (QuickReplyChoice(name="Hers"),)}
    assert found.variables == {"season": "winter"}
    assert found.background == "forest.png"
    assert found.presets == {
        "openai": "Mine",
        "textgenerationwebui": "Text",
        "kobold": "Kobold",
        "novel": "Novel",
        "instruct": "ChatML",
        "context": "Story",
        "sysprompt": "Main",
        "reasoning": "Think",
    }
    assert found.live.instruct.input_sequence == "<"
    attachment = DataBankFile(url="/user/files/1.txt", name="bank.txt")
    assert (found.attachments, found.character_attachments) == ((attachment,), {"Anna.png": (attachment,)})
    assert found.disabled_attachments == ("/user/files/1.txt",)
    assert found.connection_profiles == ("Main",)
    assert found.report.broken == ()


def test_v11_every_reference_of_the_settings_is_listed() -> None:
    found = {(reference.kind, reference.name, reference.detail) for reference in read(SETTINGS).references}
    assert found == {
        ("persona_picture", "sam.png", ""),
        ("persona_picture", "kim.png", ""),
        ("persona_picture", "nameless.png", ""),
        ("world", "Home", ""),
        ("world", "Everywhere", ""),
        ("world", "Extra", ""),
        ("character", "Anna.png", ""),
        ("character_stem", "Anna", ""),
        ("character_stem", "Bob", ""),
        ("group", "17", ""),
        ("quick_replies", "Default", ""),
        ("quick_replies", "Hers", ""),
        ("background", "forest.png", ""),
        ("file", "/user/files/1.txt", ""),
        *(("preset", name, kind) for kind, name in read(SETTINGS).presets.items()),
    }


def test_settings_of_which_everything_is_missing() -> None:
    found = read({"username": "Sam"})
    assert found == UserSettingsFile(user_name="Sam", live=found.live, report=found.report)


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"name": "a theme"}', b'{"username": '])
def test_what_is_no_settings_file_is_refused(data: bytes) -> None:
    with pytest.raises(ParseError):
        read_user_settings_file(data)


@given(value=json_values, choose=st.data())
def test_damaged_settings_are_read_as_far_as_possible(value: Any, choose: st.DataObject) -> None:
    document = json.loads(json.dumps(SETTINGS))
    holder = document
    while True:
        key = choose.draw(st.sampled_from(sorted(holder) if isinstance(holder, dict) else range(len(holder))))
        if not isinstance(holder[key], dict | list) or not holder[key] or choose.draw(st.booleans()):
            holder[key] = value
            break
        holder = holder[key]
    assert isinstance(read(document), UserSettingsFile)


def test_v11_changes_are_merged_into_the_file_and_the_rest_stays() -> None:
    original = json.dumps(SETTINGS, indent=4).encode()
    assert merged_settings(original, {}) == original
    assert merged_settings(original, {("power_user", "personas"): SETTINGS["power_user"]["personas"]}) == original
    merged = merged_settings(
        original,
        {
            ("username",): "Max",
            ("power_user", "personas", "new.png"): "New",
            ("power_user", "personas", "kim.png"): REMOVED,
            ("tags", 2): {"id": "t3"},
        },
    )
    lines, before = merged.decode().splitlines(), original.decode().splitlines()
    assert [line for line in before if line not in lines] == [
        '    "username": "Sam",',
        '            "kim.png": "Kim"',
    ]
    found = json.loads(merged)
    assert list(found) == list(SETTINGS)
    assert (found["username"], found["tags"][2]) == ("Max", {"id": "t3"})
    assert found["power_user"]["personas"] == {"sam.png": "Sam", "new.png": "New"}
