"""What was imported, changed here, and exported: only what was changed is written anew, with everything that has no
place here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select

from tavernkit import characters
from tavernkit.characters import Character as Card
from tavernkit.characters import CharacterCard
from tavernkit.playground.base.database.models import (
    CharacterAsset,
    Conversation,
    ImportedFile,
    Lorebook,
    LorebookLink,
    Message,
    Persona,
    SpaceMembership,
)
from tavernkit.playground.story.characters.assets import delete_asset
from tavernkit.playground.story.characters.service import (
    change_own_tags,
    create_character,
    delete_character,
    edit_character,
)
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.lorebooks.documents import NewLink, NewLorebook
from tavernkit.playground.story.lorebooks.links import attach_lorebook, detach_lorebook
from tavernkit.playground.story.lorebooks.service import add_entry, create_lorebook
from tavernkit.playground.story.messages.service import edit_message, hide_message, send_message
from tavernkit.playground.story.paths.pictures import PictureIn, upload_picture
from tavernkit.playground.story.paths.variables import delete_global, set_global
from tavernkit.playground.story.personas.documents import NewPersona, PatchPersona
from tavernkit.playground.story.personas.service import create_persona, delete_persona, update_persona
from tavernkit.playground.story.presets.documents import PatchPreset
from tavernkit.playground.story.presets.service import set_default_preset, update_preset
from tavernkit.playground.story.settings.service import change_member_settings, change_space_settings
from tavernkit.playground.story.spaces.backgrounds import upload_background
from tavernkit.playground.story.spaces.marks import tag_space, tags_of
from tests.characters import card_files
from tests.playground.characters.builders import picture
from tests.playground.migration.exported import Exported, export, imported, narrate
from tests.playground.stories import Story, open_story

pytestmark = pytest.mark.anyio


def card(name: str, **extensions: object) -> bytes:
    odd = {"odd": {"kept": [1, None]}, **extensions}
    made = Card(name=name, description=f"About {name}.", first_mes="Hello.", extensions=odd, unknown={"strange": True})
    return characters.to_png(CharacterCard(character=made), picture("teal"))


def jsonl(*records: object) -> bytes:
    return "\n".join(json.dumps(record, ensure_ascii=False, separators=(",", ":")) for record in records).encode()


def said(name: str, text: str, **fields: object) -> dict[str, Any]:
    message = {"name": name, "is_user": name == "Sam", "is_system": False, "send_date": "2024-05-01T10:00:00.000Z"}
    return {**message, "mes": text, "extra": {"vendor": {"x": 1}}, "odd": "kept", **fields}


HEADER = {"chat_metadata": {"integrity": "i", "vendor": [1]}, "user_name": "unused", "character_name": "unused"}
WORLD = {
    "entries": {"4": {"uid": 4, "key": ["a"], "content": "A.", "comment": "", "vendor": {"deep": 1}}},
    "vendor_file": 2,
}
SETTINGS: dict[str, Any] = {
    "username": "Sam",
    "user_avatar": "sam.png",
    "main_api": "openai",
    "power_user": {
        "personas": {"sam.png": "Sam", "kim.png": "Kim"},
        "default_persona": "sam.png",
        "persona_descriptions": {
            "sam.png": {
                "description": "Tall.",
                "position": 0,
                "lorebook": "Persona book",
                "connections": [{"type": "character", "id": "Anna.png"}],
                "vendor": 1.0,
            },
            "kim.png": {"description": "Short.", "position": 1},
        },
        "theme": "Dark",
    },
    "world_info_settings": {
        "world_info": {
            "globalSelect": ["Everywhere", "Gone"],
            "charLore": [{"name": "Anna", "extraBooks": ["Extra", "Gone"], "vendor": 1}],
        }
    },
    "extension_settings": {
        "regex": [
            {
                "id": "r1",
                "scriptName": "One",
                "findRegex": "/a/",
                "replaceString": "b",
                "placement": [2],
                "disabled": False,
            },
        ],
        "variables": {"global": {"season": "winter", "gold": 3}},
        "quickReplyV2": {
            "config": {"setList": [{"set": "Moods", "isVisible": True}, {"set": "Gone", "isVisible": True}]}
        },
    },
    "tags": [{"id": "t1", "name": "Sea", "color": "red"}, {"id": "t2", "name": "Old", "color": ""}],
    "tag_map": {"Anna.png": ["t1"], "Nobody.png": ["t2"]},
    "x_unknown": [1.50, 1e3, "\u00e9"],
}
LONG = "Anna - 2024-05-01@10h00m00s000ms"


def write(folder: Path) -> dict[str, bytes]:
    """A small folder; its files."""
    quick = {"version": 2, "name": "Moods", "qrList": [{"id": 1, "label": "Smile", "message": "smiles"}], "vendor": 3}
    group = {
        "id": "123",
        "name": "Both",
        "members": ["Anna.png", "Bert.png"],
        "chat_id": "g one",
        "chats": ["g one"],
        "vendor": {"kept": 1},
    }
    root = [
        HEADER,
        said("Sam", "One."),
        said("Anna", "Two.", swipes=["Two.", "Zwei."], swipe_id=0, swipe_info=[{"send_date": 1}, {"vendor": 1}]),
        said("Sam", "Three."),
    ]
    files: dict[str, bytes] = {
        "characters/Anna.png": card("Anna", world="Harbour"),
        "characters/Bert.png": card("Bert"),
        "User Avatars/sam.png": picture("red"),
        "User Avatars/kim.png": picture("blue"),
        "QuickReplies/Moods.json": json.dumps(quick).encode(),
        "OpenAI Settings/Main.json": json.dumps({"temperature": 0.5, "prompts": [], "vendor": [None]}).encode(),
        "settings.json": json.dumps(SETTINGS, indent=4).encode(),
        f"chats/Anna/{LONG}.jsonl": jsonl(*root),
        "chats/Anna/Other.jsonl": jsonl(HEADER, said("Anna", "Else."), said("Sam", "So.")),
        "groups/123.json": json.dumps(group).encode(),
        "group chats/g one.jsonl": jsonl(HEADER, said("Anna", "Hi.", original_avatar="Anna.png")),
        "themes/Dark.json": b'{"name": "Dark"}',
        "stats.json": b"{}",
    }
    for stem in ("Harbour", "Extra", "Everywhere", "Persona book"):
        files[f"worlds/{stem}.json"] = json.dumps(WORLD).encode()
    for path, data in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return files


async def target(story: Story, path: str) -> UUID:
    """What a file became."""
    async with story.runtime.database.read() as session:
        found = await session.scalar(select(ImportedFile.target_id).where(ImportedFile.path == path))
        assert found is not None
        return found


async def rows(story: Story, path: str) -> list[Message]:
    return await story.rows(await target(story, path))


def differing(written: Exported, files: dict[str, bytes]) -> set[str]:
    """The files that are not as they were; new ones are those of the story that was here before, and are left out."""
    return {path for path, data in files.items() if path not in written.files or written.read(path) != data}


def changes(before: Any, after: Any, path: str = "") -> dict[str, tuple[Any, Any]]:
    """What differs between two JSON values, by dotted paths."""
    if isinstance(before, dict) and isinstance(after, dict):
        found: dict[str, tuple[Any, Any]] = {}
        for key in {*before, *after}:
            found |= changes(before.get(key), after.get(key), f"{path}.{key}".lstrip("."))
        return found
    return {} if before == after else {path: (before, after)}


async def test_v03_unknown_keys_survive_edits_and_export(database_url: str, tmp_path: Path) -> None:
    files = write(tmp_path / "st")
    async with open_story(database_url, tmp_path / "own") as story:
        await imported(story, tmp_path / "st")
        runtime, viewer = story.runtime, story.viewer
        anna = await target(story, "characters/Anna.png")
        await edit_character(runtime, viewer, anna, version=1, fields={"description": "New."})
        await add_entry(runtime, viewer, await target(story, "worlds/Extra.json"), {"key": ["b"], "content": "B."})
        preset = await target(story, "OpenAI Settings/Main.json")
        patch = PatchPreset.model_validate({"settings_version": 0, "data": {"temperature": 1.0}})
        await update_preset(runtime, viewer, preset, patch)
        said_here = (await rows(story, f"chats/Anna/{LONG}.jsonl"))[1]
        await edit_message(runtime, viewer, said_here.id, content="Changed.", revision=1)
        written = await export(story, tmp_path / "out")
    assert differing(written, files) == {
        "characters/Anna.png",
        "worlds/Extra.json",
        "OpenAI Settings/Main.json",
        f"chats/Anna/{LONG}.jsonl",
    }
    changed = characters.load(written.read("characters/Anna.png")).card.character
    assert (changed.description, changed.extensions["odd"]) == ("New.", {"kept": [1, None]})
    assert changed.unknown == {"strange": True}
    book = written.json("worlds/Extra.json")
    assert (book["vendor_file"], book["entries"]["4"]["vendor"]) == (2, {"deep": 1})
    assert len(book["entries"]) == 2
    found = changes(json.loads(files["OpenAI Settings/Main.json"]), written.json("OpenAI Settings/Main.json"))
    assert found == {"temperature": (0.5, 1.0)}
    before = files[f"chats/Anna/{LONG}.jsonl"].split(b"\n")
    after = written.read(f"chats/Anna/{LONG}.jsonl").split(b"\n")
    assert [number for number in range(4) if before[number] != after[number]] == [2]
    found = changes(json.loads(before[2]), json.loads(after[2]))
    assert set(found) <= {"mes", "swipes"}
    assert found["mes"] == ("Two.", "Changed.")


async def test_v11_settings_are_merged_value_by_value(sqlite_url: str, tmp_path: Path) -> None:
    files = write(tmp_path / "st")
    async with open_story(sqlite_url, tmp_path / "own") as story:
        await imported(story, tmp_path / "st")
        runtime, viewer = story.runtime, story.viewer
        async with runtime.database.read() as session:
            people = {row.name: row for row in await session.scalars(select(Persona))}
        version = people["Sam"].settings_version
        patch = PatchPersona.model_validate({"settings_version": version, "description": "Taller."})
        await update_persona(runtime, viewer, people["Sam"].id, patch)
        await delete_persona(runtime, viewer, people["Kim"].id)
        lee = await create_persona(runtime, viewer, NewPersona(name="Lee", description="New."))
        await set_global(runtime, viewer, "season", "spring")
        await set_global(runtime, viewer, "silver", 1)
        await delete_global(runtime, viewer, "gold")
        await change_own_tags(runtime, viewer, await target(story, "characters/Anna.png"), ["Sea", "Brand new"])
        book = await create_lorebook(runtime, viewer, NewLorebook(name="Later"))
        await attach_lorebook(runtime, viewer, NewLink(lorebook_id=book.id, user_id=viewer.user_id))
        anna = await target(story, "characters/Anna.png")
        await attach_lorebook(runtime, viewer, NewLink(lorebook_id=book.id, character_id=anna))
        written = await export(story, tmp_path / "out")
    assert differing(written, files) == {"settings.json", "User Avatars/kim.png"}
    after = written.json("settings.json")
    found = changes(SETTINGS, after)
    avatar = next(name for name in after["power_user"]["personas"] if name not in ("sam.png", "kim.png"))
    tag = after["tags"][2]
    described = f"power_user.persona_descriptions.{avatar}"
    assert found.pop(described)[1]["description"] == "New."
    assert found == {
        "power_user.personas.kim.png": ("Kim", None),
        "power_user.persona_descriptions.kim.png": (SETTINGS["power_user"]["persona_descriptions"]["kim.png"], None),
        f"power_user.personas.{avatar}": (None, "Lee"),
        "power_user.persona_descriptions.sam.png.description": ("Tall.", "Taller."),
        "world_info_settings.world_info.globalSelect": (["Everywhere", "Gone"], ["Everywhere", "Gone", "Later"]),
        "world_info_settings.world_info.charLore": (
            [{"name": "Anna", "extraBooks": ["Extra", "Gone"], "vendor": 1}],
            [{"name": "Anna", "extraBooks": ["Extra", "Gone", "Later"], "vendor": 1}],
        ),
        "extension_settings.variables.global.season": ("winter", "spring"),
        "extension_settings.variables.global.silver": (None, 1),
        "extension_settings.variables.global.gold": (3, None),
        "tags": (SETTINGS["tags"], [*SETTINGS["tags"], tag]),
        "tag_map.Anna.png": (["t1"], ["t1", tag["id"]]),
    }
    assert (tag["name"], lee.name) == ("Brand new", "Lee")
    # Numbers and letters that were not changed are spelt as they were.
    assert written.read("settings.json").count(b"1000.0") == files["settings.json"].count(b"1000.0") == 1
    assert b'"vendor": 1.0' in written.read("settings.json")
    assert b"\\u00e9" in written.read("settings.json")


async def test_v10_a_branch_made_here_is_linked_with_the_imported_chat(sqlite_url: str, tmp_path: Path) -> None:
    files = write(tmp_path / "st")
    path = f"chats/Anna/{LONG}.jsonl"
    async with open_story(sqlite_url, tmp_path / "own") as story:
        await imported(story, tmp_path / "st")
        parent = await target(story, path)
        branch = await fork(story.runtime, story.viewer, parent, (await rows(story, path))[1].id, title="Otherwise")
        await narrate(story, branch.id, "Instead.")
        written = await export(story, tmp_path / "out")
    assert differing(written, files) == {path}
    before, after = files[path].split(b"\n"), written.read(path).split(b"\n")
    assert [number for number in range(4) if before[number] != after[number]] == [2]
    assert changes(json.loads(before[2]), json.loads(after[2])) == {"extra.branches": (None, ["Otherwise"])}
    child = written.read("chats/Anna/Otherwise.jsonl").split(b"\n")
    assert json.loads(child[0])["chat_metadata"]["main_chat"] == LONG
    assert child[1:3] == before[1:3]


async def test_links_with_books_that_were_changed_here_are_in_the_card_and_the_chat(
    sqlite_url: str, tmp_path: Path
) -> None:
    files = write(tmp_path / "st")
    async with open_story(sqlite_url, tmp_path / "own") as story:
        await imported(story, tmp_path / "st")
        runtime, viewer = story.runtime, story.viewer
        anna = await target(story, "characters/Anna.png")
        async with runtime.database.read() as session:
            query = select(LorebookLink.id).join(Lorebook, Lorebook.id == LorebookLink.lorebook_id)
            link = await session.scalar(query.where(LorebookLink.character_id == anna, Lorebook.name == "Harbour"))
        assert link is not None
        await detach_lorebook(runtime, viewer, link)
        chat, book = await target(story, "chats/Anna/Other.jsonl"), await target(story, "worlds/Everywhere.json")
        await attach_lorebook(runtime, viewer, NewLink(lorebook_id=book, conversation_id=chat))
        written = await export(story, tmp_path / "out")
    assert differing(written, files) == {"characters/Anna.png", "chats/Anna/Other.jsonl", "settings.json"}
    changed = characters.load(written.read("characters/Anna.png")).card.character
    assert changed.extensions == {"odd": {"kept": [1, None]}, "world": "Extra"}
    before, after = files["chats/Anna/Other.jsonl"].split(b"\n"), written.read("chats/Anna/Other.jsonl").split(b"\n")
    assert after[1:] == before[1:]
    assert changes(json.loads(before[0]), json.loads(after[0])) == {"chat_metadata.world_info": (None, "Everywhere")}
    lore = written.json("settings.json")["world_info_settings"]["world_info"]["charLore"]
    assert lore == [{"name": "Anna", "extraBooks": ["Gone"], "vendor": 1}]


async def test_what_was_deleted_here_is_left_out_and_reported(sqlite_url: str, tmp_path: Path) -> None:
    files = write(tmp_path / "st")
    async with open_story(sqlite_url, tmp_path / "own") as story:
        await imported(story, tmp_path / "st")
        await delete_character(story.runtime, story.viewer, await target(story, "characters/Bert.png"))
        await hide_message(story.runtime, story.viewer, (await rows(story, "chats/Anna/Other.jsonl"))[1].id)
        await create_character(story.runtime, story.viewer, {"name": "Bert"})
        written = await export(story, tmp_path / "out")
    assert "characters/Bert1.png" in written.files
    assert (written.verdict("characters/Bert.png"), written.notes("characters/Bert.png")) == (
        "left_out",
        "Deleted here.",
    )
    assert [message.text for message in written.chat("chats/Anna/Other.jsonl").messages] == ["Else."]
    assert {"characters/Bert.png", "chats/Anna/Other.jsonl", "groups/123.json"} == differing(written, files)
    assert written.json("groups/123.json")["vendor"] == {"kept": 1}


async def test_a_selection_takes_along_the_files_that_its_chats_name(sqlite_url: str, tmp_path: Path) -> None:
    files = write(tmp_path / "st")
    shown = {"media": [{"url": "/user/images/Anna/door.png", "type": "image"}]}
    named = jsonl(
        HEADER, said("Anna", "Look.", extra=shown), said("Sam", "x", extra={"files": [{"url": "/user/files/a.txt"}]})
    )
    for path, data in {
        "chats/Anna/Pictures.jsonl": named,
        "user/images/Anna/door.png": picture("red"),
        "user/images/Anna/other.png": picture("blue"),
        "user/files/a.txt": b"text",
    }.items():
        (tmp_path / "st" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "st" / path).write_bytes(data)
        files[path] = data
    async with open_story(sqlite_url, tmp_path / "own") as story:
        await imported(story, tmp_path / "st")
        anna = await target(story, "characters/Anna.png")
        written = await export(story, tmp_path / "out", character_ids=(anna,))
    assert written.files == {
        "characters/Anna.png",
        "worlds/Harbour.json",
        "worlds/Extra.json",
        f"chats/Anna/{LONG}.jsonl",
        "chats/Anna/Other.jsonl",
        "chats/Anna/Pictures.jsonl",
        "user/images/Anna/door.png",
        "user/files/a.txt",
    }
    assert all(written.read(path) == files[path] for path in written.files)


async def test_v09_a_damaged_line_is_written_back_when_the_chat_was_changed(sqlite_url: str, tmp_path: Path) -> None:
    write(tmp_path / "st")
    damaged = b'{"mes": "cut \xff data:image/png;base64,AAAA'
    lines = [*jsonl(HEADER, said("Anna", "Else.")).split(b"\n"), damaged, jsonl(said("Sam", "So."))]
    (tmp_path / "st/chats/Anna/Other.jsonl").write_bytes(b"\n".join(lines))
    async with open_story(sqlite_url, tmp_path / "own") as story:
        await imported(story, tmp_path / "st")
        chat = await target(story, "chats/Anna/Other.jsonl")
        uploaded = await upload_picture(story.runtime, story.viewer, chat, picture("teal"))
        await send_message(
            story.runtime,
            story.viewer,
            chat,
            message_id=uuid4(),
            content="Look.",
            role="system",
            pictures=[PictureIn(id=uploaded.id)],
        )
        written = await export(story, tmp_path / "out")
    after = written.read("chats/Anna/Other.jsonl").split(b"\n")
    assert after[: len(lines)] == lines
    assert len([path for path in written.files if path.startswith("user/images/Anna/")]) == 1


async def test_sprites_stay_when_their_character_is_changed_and_go_when_they_are_deleted(
    sqlite_url: str, tmp_path: Path
) -> None:
    files = write(tmp_path / "st")
    for name, colour in (("joy", "yellow"), ("anger", "red")):
        path = f"characters/Anna/{name}.png"
        files[path] = picture(colour)
        (tmp_path / "st" / path).parent.mkdir(exist_ok=True)
        (tmp_path / "st" / path).write_bytes(files[path])
    async with open_story(sqlite_url, tmp_path / "own") as story:
        await imported(story, tmp_path / "st")
        runtime, viewer = story.runtime, story.viewer
        anna = await target(story, "characters/Anna.png")
        async with runtime.database.read() as session:
            query = select(CharacterAsset).where(CharacterAsset.character_id == anna, CharacterAsset.name == "anger")
            anger = (await session.scalars(query)).one()
        before = await edit_character(runtime, viewer, anna, version=1, fields={"description": "New."})
        await delete_asset(runtime, viewer, anna, anger.id, version=before.version)
        written = await export(story, tmp_path / "out")
    assert differing(written, files) == {"characters/Anna.png", "characters/Anna/anger.png"}
    assert written.notes("characters/Anna/anger.png") == "Deleted here."


async def space_of(story: Story, path: str) -> UUID:
    """The space of the conversation that a chat became."""
    async with story.runtime.database.read() as session:
        return (await session.get_one(Conversation, await target(story, path))).space_id


async def test_v11_the_default_preset_and_notes_of_characters_are_written_into_the_settings(
    sqlite_url: str, tmp_path: Path
) -> None:
    write(tmp_path / "st")
    notes = [
        {"name": "Anna", "prompt": "Hums.", "useChara": True, "position": 1, "vendor": 1},
        {"name": "Gone", "prompt": "x", "useChara": True, "position": 0},
    ]
    settings = {
        **SETTINGS,
        "oai_settings": {"preset_settings_openai": "Main", "temp_openai": 0.5, "vendor": 1.0},
        "extension_settings": {**SETTINGS["extension_settings"], "note": {"chara": notes}},
    }
    before = json.dumps(settings, indent=4).encode()
    (tmp_path / "st/settings.json").write_bytes(before)
    (tmp_path / "st/OpenAI Settings/Other.json").write_bytes(b'{"temperature": 0.9, "prompts": []}')
    async with open_story(sqlite_url, tmp_path / "own") as story:
        await imported(story, tmp_path / "st")
        runtime, viewer = story.runtime, story.viewer
        assert (await export(story, tmp_path / "same", only=("settings",))).read("settings.json") == before
        await set_default_preset(runtime, viewer, await target(story, "OpenAI Settings/Other.json"))
        solo = await space_of(story, f"chats/Anna/{LONG}.jsonl")
        patch: dict[str, Any] = {"authors_note": {"character_text": "Sings."}}
        await change_space_settings(runtime, viewer, solo, settings_version=None, patch=patch)
        bert = await target(story, "characters/Bert.png")
        async with runtime.database.read() as session:
            in_group = (SpaceMembership.kind == "character", SpaceMembership.space_id != solo)
            rows = await session.execute(select(SpaceMembership.character_id, SpaceMembership.id).where(*in_group))
            members = dict(iter(rows))
        patch = {"authors_note": {"character_text": "Growls.", "character_placement": "after"}}
        await change_member_settings(runtime, viewer, members[bert], settings_version=0, patch=patch)
        written = await export(story, tmp_path / "out")
        assert changes(settings, written.json("settings.json")) == {
            "oai_settings.preset_settings_openai": ("Main", "Other"),
            "oai_settings.temp_openai": (0.5, 0.9),
            "extension_settings.note.chara": (
                notes,
                [
                    {**notes[0], "prompt": "Sings."},
                    notes[1],
                    {"name": "Bert", "useChara": True, "prompt": "Growls.", "position": 2},
                ],
            ),
        }
        assert b'"vendor": 1.0' in written.read("settings.json")
        patch = {"authors_note": {"character_text": None}}
        await change_space_settings(runtime, viewer, solo, settings_version=None, patch=patch)
        anna = await target(story, "characters/Anna.png")
        await change_member_settings(runtime, viewer, members[anna], settings_version=0, patch=patch)
        removed = (await export(story, tmp_path / "removed", only=("settings",))).json("settings.json")
        assert removed["extension_settings"]["note"]["chara"][0] == {**notes[0], "useChara": False}


async def test_tags_of_groups_are_those_of_their_spaces_in_and_out(sqlite_url: str, tmp_path: Path) -> None:
    write(tmp_path / "st")
    settings = {**SETTINGS, "tag_map": {**SETTINGS["tag_map"], "123": ["t2", "unknown", "t1"]}}
    before = json.dumps(settings, indent=4).encode()
    place = tmp_path / "st/settings.json"
    place.write_bytes(before)
    async with open_story(sqlite_url, tmp_path / "own") as story:
        runtime, viewer = story.runtime, story.viewer

        async def tags() -> list[str]:
            group = await target(story, "groups/123.json")
            async with runtime.database.read() as session:
                return list((await tags_of(session, viewer, [group])).get(group, ()))

        await imported(story, tmp_path / "st")
        assert await tags() == ["Old", "Sea"]
        assert (await export(story, tmp_path / "same", only=("settings",))).read("settings.json") == before
        # One goes and one comes here; another comes in the folder.
        await tag_space(runtime, viewer, await target(story, "groups/123.json"), ["sea", "Mist"])
        written = (await export(story, tmp_path / "out", only=("settings",))).json("settings.json")
        assert written["tags"][:2] == settings["tags"]
        mist = written["tags"][2]["id"]
        assert written["tags"][2]["name"] == "Mist"
        assert changes(settings["tag_map"], written["tag_map"]) == {
            "123": (["t2", "unknown", "t1"], ["unknown", "t1", mist])
        }
        settings["tags"] = [*SETTINGS["tags"], {"id": "t3", "name": "Night"}]
        settings["tag_map"] = {**settings["tag_map"], "123": ["t2", "t3"]}
        place.write_text(json.dumps(settings))
        await imported(story, tmp_path / "st")
        assert await tags() == ["Mist", "Night"]


async def test_a_background_chosen_here_is_a_file_that_the_chats_of_its_space_name(
    sqlite_url: str, tmp_path: Path
) -> None:
    files = write(tmp_path / "st")
    async with open_story(sqlite_url, tmp_path / "own") as story:
        await imported(story, tmp_path / "st")
        solo = await space_of(story, f"chats/Anna/{LONG}.jsonl")
        sea = picture("navy")
        await upload_background(story.runtime, story.viewer, solo, sea)
        written = await export(story, tmp_path / "out")
        elsewhere = await export(story, tmp_path / "risuai", application="risuai", only=("background",))
    assert elsewhere.verdict("tavernkit/backgrounds/Anna") == "left_out"
    chats = {path for path in files if path.startswith("chats/Anna/")}
    assert differing(written, files) == chats
    assert written.read("backgrounds/Anna.png") == sea
    assert written.verdict("backgrounds/Anna.png") == "converted"
    for path in chats:
        (first, *rest), (head, *others) = files[path].split(b"\n"), written.read(path).split(b"\n")
        assert rest == others
        found = changes(json.loads(first), json.loads(head))
        assert found == {"chat_metadata.custom_background": (None, 'url("backgrounds/Anna.png")')}


async def test_a_webp_card_that_was_changed_becomes_a_png(sqlite_url: str, tmp_path: Path) -> None:
    files = write(tmp_path / "st")
    for stem in ("Ysolde", "Ysolda"):
        data = card_files.webp(card_files.exif(json.dumps(card_files.v2(name=stem)).encode()))
        files[f"characters/{stem}.webp"] = data
        (tmp_path / f"st/characters/{stem}.webp").write_bytes(data)
    async with open_story(sqlite_url, tmp_path / "own") as story:
        await imported(story, tmp_path / "st")
        changed = await target(story, "characters/Ysolde.webp")
        await edit_character(story.runtime, story.viewer, changed, version=1, fields={"description": "New."})
        await change_own_tags(story.runtime, story.viewer, changed, ["Sea"])
        written = await export(story, tmp_path / "out")
    assert differing(written, files) == {"characters/Ysolde.webp", "settings.json"}
    assert characters.load(written.read("characters/Ysolde.png")).card.character.description == "New."
    assert "It was characters/Ysolde.webp." in written.notes("characters/Ysolde.png")
    assert written.json("settings.json")["tag_map"]["Ysolde.png"] == ["t1"]
