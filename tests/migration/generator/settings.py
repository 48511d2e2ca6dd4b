"""Personas and settings.json, with a value in every row that is imported, and keys that must not be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.migration.generator.characters import Avatar
from tests.migration.generator.manifest import BLANKED, KEPT_BLANKED, READ, READ_OR_KEPT, REFUSED, FolderWriter
from tests.migration.generator.scripts import regex_script
from tests.migration.generator.texts import hex_id, picture, sentence

# The last one has a picture, but no name in the settings.
PERSONAS = ("sam.png", "user-default.png", "1700000000000-Kim.png", "bare.png")
_POSITIONS = (0, 4, 9)


def write_personas(folder: FolderWriter) -> None:
    for file in PERSONAS:
        folder.add(f"User Avatars/{file}", picture(folder.random), "persona_picture", READ)


def write_settings(folder: FolderWriter, avatars: Sequence[Avatar], groups: Sequence[str]) -> None:
    settings = {
        "firstRun": False,
        "accountStorage": {"pinnedChats": "[]"},
        "currentVersion": "1.18.0",
        "username": "Sam",
        "active_character": avatars[0].file,
        "active_group": None,
        "user_avatar": "sam.png",
        "amount_gen": 300,
        "max_context": 8192,
        "main_api": "openai",
        "swipes": True,
        "world_info_settings": _world_info(folder, avatars),
        "power_user": _power_user(folder, avatars, groups),
        "extension_settings": _extensions(folder, avatars),
        **_tags(avatars, groups),
        "textgenerationwebui_settings": {"preset": "Preset 0", "temp": 0.7},
        "nai_settings": {"preset_settings_novel": "Preset 0"},
        "kai_settings": {"preset_settings": "Preset 0"},
        "horde_settings": {"models": []},
        "oai_settings": _oai_settings(folder),
        "background": {"name": "forest.png", "url": 'url("backgrounds/forest.png")'},
        "proxies": [{"name": "None", "url": "", "password": ""}, {"name": "p", "url": "", "password": folder.secret()}],
        "selected_proxy": {"name": "p", "url": "", "password": folder.secret()},
        "x_unknown": {"deep": [None, 1.5]},
    }
    folder.add_json("settings.json", settings, "settings", BLANKED)
    folder.add_json("backups/settings_default-user_20240501-100000.json", settings, "derived", KEPT_BLANKED)


def _world_info(folder: FolderWriter, avatars: Sequence[Avatar]) -> dict[str, Any]:
    anna = next(avatar for avatar in avatars if avatar.name == "Anna")
    for stem, target in (("Everywhere", "worlds/Everywhere.json"), ("Not there", None)):
        folder.link("global_book", "settings.json", stem, target)
    folder.link("extra_book", anna.path, "Extra", "worlds/Extra.json")
    books = {"globalSelect": ["Everywhere", "Not there"], "charLore": [{"name": anna.stem, "extraBooks": ["Extra"]}]}
    numbers = {"depth": 3, "budget": 30, "budget_cap": 900, "min_activations": 1, "min_activations_depth_max": 9}
    flags = {"recursive": True, "include_names": False, "case_sensitive": True, "match_whole_words": False}
    others = {"max_recursion_steps": 2, "overflow_alert": True, "character_strategy": 2, "use_group_scoring": True}
    return {
        "world_info": books,
        **{f"world_info_{key}": value for key, value in (numbers | flags | others).items()},
    }


def _power_user(folder: FolderWriter, avatars: Sequence[Avatar], groups: Sequence[str]) -> dict[str, Any]:
    random = folder.random
    named = PERSONAS[:-1]
    connections = [{"type": "character", "id": avatars[0].file}, {"type": "group", "id": groups[0]}]
    descriptions: dict[str, Any] = {
        file: {
            "description": sentence(random),
            "position": position,
            "depth": 2,
            "role": 0,
            "lorebook": "",
            "title": f"Title {position}",
            "connections": [],
        }
        for file, position in zip(named, _POSITIONS, strict=True)
    }
    descriptions["sam.png"] |= {"lorebook": "Persona book", "connections": connections}
    descriptions["sam.png"]["connections"].append({"type": "character", "id": "Nobody.png"})
    picture = "User Avatars/sam.png"
    folder.link("persona_book", picture, "Persona book", "worlds/Persona book.json")
    folder.link("persona_character", picture, avatars[0].file, avatars[0].path)
    folder.link("persona_character", picture, "Nobody.png", None)
    folder.link("persona_group", picture, groups[0], f"groups/{groups[0]}.json")
    return {
        "personas": {file: f"Persona {number}" for number, file in enumerate(named)} | {"no-picture.png": "Faceless"},
        "persona_descriptions": descriptions,
        "default_persona": "sam.png",
        "persona_description": descriptions["sam.png"]["description"],
        "persona_description_position": 0,
        "instruct": {"enabled": True, "preset": "Preset 0", "input_sequence": "<|changed|>"},
        "context": {"preset": "Preset 0", "story_string": sentence(random)},
        "sysprompt": {"enabled": True, "name": "Preset 0", "content": sentence(random)},
        "reasoning": {"name": "Preset 0", "prefix": "<think>", "suffix": "</think>", "auto_parse": True},
        "experimental_macro_engine": True,
        "theme": "Dark",
    }


def _extensions(folder: FolderWriter, avatars: Sequence[Avatar]) -> dict[str, Any]:
    random = folder.random
    first = avatars[0]
    scripts = [regex_script(random, "Everywhere"), regex_script(random, "Everywhere, off", disabled=True)]
    sets = {"id": hex_id(random), "name": "Set", "global": [{"id": scripts[0]["id"], "isEnabled": True}], "scoped": []}
    note = {"name": first.stem, "prompt": sentence(random), "useChara": True, "position": 1}
    attachment: dict[str, Any] = {
        "url": "/user/files/1718000000001_def.txt",
        "size": 9,
        "name": "bank.txt",
        "created": 1718000000001,
    }
    path = folder.add(attachment["url"][1:], sentence(random).encode(), "chat_media", READ_OR_KEPT)
    folder.link("attachment", "settings.json", attachment["url"], path)
    return {
        "apiKey": folder.secret(),
        "regex": scripts,
        "regex_presets": [sets],
        "character_allowed_regex": ["Script.png"],
        "preset_allowed_regex": {"openai": ["With scripts"]},
        "note": {"default": "Default note.", "defaultDepth": 4, "chara": [note]},
        "attachments": [attachment],
        "character_attachments": {first.file: [attachment]},
        "disabled_attachments": [attachment["url"]],
        "quickReplyV2": {"isEnabled": True, "config": {"setList": [{"set": "Default", "isVisible": True}]}},
        "variables": {"global": {"season": "winter", "count": 3}},
        "memory": {"memoryFrozen": False, "source": "main", "promptWords": 200},
        "vectors": {"enabled_chats": False, "source": "transformers"},
        "gallery": {"folders": {first.file: "Shared"}},
        "expressionOverrides": [{"name": first.stem, "path": "Olivia/summer"}],
        "sd": {
            "character_prompts": {first.stem: "a fox"},
            "openai_auth": folder.secret(),
            "auto_auth": folder.secret(),
        },
        "connectionManager": {"profiles": [{"id": hex_id(random), "name": "Main", "api": "openai"}]},
        "third_party": {"api_key": folder.secret(), "nested": {"access_token": folder.secret()}, "color": "red"},
    }


def _tags(avatars: Sequence[Avatar], groups: Sequence[str]) -> dict[str, Any]:
    fields = {
        "folder_type": "NONE",
        "filter_state": "UNDEFINED",
        "color": "",
        "color2": "",
        "create_date": 1700000000000,
    }
    tags = [
        {"id": f"tag-{number}", "name": name, "sort_order": number, **fields}
        for number, name in enumerate(("Sea", "Folder", "unused"))
    ]
    tags[1]["folder_type"] = "OPEN"
    used = {avatars[0].file: ["tag-0", "tag-1"], avatars[1].file: ["tag-1", "no such tag"], groups[0]: ["tag-0"]}
    return {"tags": tags, "tag_map": used | {"Nobody.png": ["tag-0"]}}


def _oai_settings(folder: FolderWriter) -> dict[str, Any]:
    """The names of fields that hold addresses and keys."""
    names = ("reverse_proxy", "proxy_password", "custom_url", "custom_include_headers", "custom_include_body")
    more = ("custom_exclude_body", "azure_base_url", "azure_deployment_name", "vertexai_express_project_id")
    secrets = {name: folder.secret() for name in (*names, *more, "workers_ai_account_id")}
    return {"preset_settings_openai": "Preset 0", "chat_completion_source": "openai", "temp_openai": 0.9, **secrets}


def write_secrets(folder: FolderWriter) -> None:
    """The keys of today, each with its past ones, and those of before in a backup."""
    now = {"api_key_openai": [{"id": hex_id(folder.random), "value": folder.secret(), "label": "", "active": True}]}
    folder.add_json("secrets.json", now, "secret", REFUSED)
    before = {"api_key_openai": folder.secret(), "api_key_claude": folder.secret()}
    folder.add_json("backups/secrets_migration_20240501-100000.json", before, "secret", REFUSED)
