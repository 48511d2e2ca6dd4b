"""Exports for RisuAI: files of each kind, and a backup where one was imported."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select

from tavernkit import characters
from tavernkit.characters.png_chunks import PNG_SIGNATURE, walk_chunks
from tavernkit.chats import read_chat
from tavernkit.migration.files import SourceFile
from tavernkit.migration.risuai import open_risuai
from tavernkit.playground.base.database.models import ImportedFile
from tavernkit.playground.story.characters.assets import NewPicture, add_pictures
from tavernkit.playground.story.characters.service import create_character, edit_character, set_avatar
from tavernkit.playground.story.lorebooks.documents import NewLorebook
from tavernkit.playground.story.lorebooks.service import add_entry, create_lorebook
from tavernkit.playground.story.messages.service import send_message
from tavernkit.playground.story.migration.risuai_spaces import lore_id
from tavernkit.playground.story.paths.pictures import PictureIn, upload_picture
from tavernkit.playground.story.personas.connections import lock_conversation_to
from tavernkit.playground.story.personas.documents import NewPersona
from tavernkit.playground.story.personas.service import create_persona, set_picture
from tavernkit.playground.story.presets.documents import NewPreset
from tavernkit.playground.story.presets.service import create_preset
from tavernkit.playground.story.spaces.service import create_space
from tavernkit.risuai.files import read_module_file, read_preset_file, write_settings
from tests.migration.risuai.backups import character, chat, database, message, write_backup_file
from tests.playground.characters.builders import picture
from tests.playground.migration.exported import export, imported, narrate
from tests.playground.stories import Story, open_story

pytestmark = pytest.mark.anyio

ANNA, BERT = "a0000000-0000-4000-8000-000000000001", "a0000000-0000-4000-8000-000000000002"
GROUP = "a0000000-0000-4000-8000-000000000009"
FIRST, SECOND = "c0000000-0000-4000-8000-000000000001", "c0000000-0000-4000-8000-000000000002"
BACKUP = "risuai-backup.bin"


def parts_of(file: Path) -> dict[str, bytes]:
    """Every part and file of a backup."""
    source = open_risuai(file)
    assert source is not None
    found = {}
    for one in source.files():
        assert isinstance(one, SourceFile), one
        with source.open(one.path) as opened:
            found[one.path] = opened.read()
    source.close()
    return found


def records(data: bytes) -> list[tuple[str, bytes]]:
    found, at = [], 0
    while at < len(data):
        length = int.from_bytes(data[at : at + 4], "little")
        name = data[at + 4 : at + 4 + length].decode()
        at += 4 + length
        size = int.from_bytes(data[at : at + 4], "little")
        found.append((name, data[at + 4 : at + 4 + size]))
        at += 4 + size
    return found


async def target(story: Story, path: str) -> UUID:
    async with story.runtime.database.read() as session:
        found = await session.scalar(select(ImportedFile.target_id).where(ImportedFile.path == path))
        assert found is not None
        return found


def backup() -> dict[str, Any]:
    anna = character(
        ANNA,
        "Anna",
        chat(FIRST, message("Hi.", role="user"), message("Hello.")),
        image="assets/one.png",
        odd={"kept": 1},
    )
    return database(
        anna,
        character(BERT, "Bert"),
        modules=[{"name": "Weather", "description": "", "id": "m1", "lorebook": [], "vendor": [1]}],
        botPresets=[{"name": "Main", "temperature": 80, "openAIKey": ""}],
        personas=[{"name": "Mia", "personaPrompt": "Kind.", "icon": "", "id": "p1", "note": "n"}],
        theme="dark",
        account={"token": "planted-token", "id": "x"},
    )


async def test_v20_an_unedited_backup_has_the_same_parts_and_no_account(database_url: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    file = write_backup_file(tmp_path / "in", backup(), {"one.png": picture("teal")})
    async with open_story(database_url, tmp_path / "own") as story:
        await imported(story, file)
        written = await export(story, tmp_path / "out", application="risuai", is_backup=True)
    source = open_risuai(file)
    assert source is not None
    before = {}
    for one in source.files():
        if isinstance(one, SourceFile) and one.kind != "secret":
            with source.open(one.path) as opened:
                before[one.path] = opened.read()
    after = parts_of(written.place / BACKUP)
    assert {path: after.get(path) for path in before if path != "database.json"} == {
        path: data for path, data in before.items() if path != "database.json"
    }
    root = json.loads(after["database.json"])
    assert (root["theme"], root["username"], "account" in root) == ("dark", "Mia", False)
    assert b"planted-token" not in (written.place / BACKUP).read_bytes()
    *_files, (name, data) = records((written.place / BACKUP).read_bytes())
    assert (name, data[:11]) == ("database.risudat", b"\0RISUSAVE\0\x08")
    assert written.verdict(f"{BACKUP}/characters/{BERT}.json") == "exact"


async def test_v20_card_text_is_current_and_what_was_made_here_is_added(sqlite_url: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    file = write_backup_file(tmp_path / "in", backup(), {"one.png": picture("teal")})
    async with open_story(sqlite_url, tmp_path / "own") as story:
        await imported(story, file)
        runtime, viewer = story.runtime, story.viewer
        anna = await target(story, f"characters/{ANNA}.json")
        await edit_character(runtime, viewer, anna, version=1, fields={"description": "Changed."})
        cora = await create_character(runtime, viewer, {"name": "Cora", "first_mes": "Oh.", "description": "New."})
        await set_avatar(runtime, viewer, cora.id, picture("red"))
        await add_pictures(
            runtime, viewer, cora.id, [NewPicture(filename="joy.png", data=picture("yellow"))], kind="emotion"
        )
        opened = await create_space(runtime, viewer, character_ids=[cora.id])
        await narrate(story, opened.conversation.id, "It rains.")
        both = await create_space(runtime, viewer, name="Both", character_ids=[anna, cora.id])
        persona = await create_persona(runtime, viewer, NewPersona(name="Robin", description="Short."))
        book = await create_lorebook(runtime, viewer, NewLorebook(name="Harbour"))
        await add_entry(runtime, viewer, book.id, {"key": ["gull"], "content": "Gulls."})
        written = await export(story, tmp_path / "out", application="risuai", is_backup=True)
    parts = parts_of(written.place / BACKUP)
    changed = json.loads(parts[f"characters/{ANNA}.json"])
    assert (changed["desc"], changed["odd"], changed["image"]) == ("Changed.", {"kept": 1}, "assets/one.png")
    new = json.loads(parts[f"characters/{cora.id}.json"])
    assert (new["name"], new["desc"]) == ("Cora", "New.")
    assert parts[new["image"]].startswith(PNG_SIGNATURE)
    ((name, path),) = new["emotionImages"]
    assert (name, parts[path]) == ("joy", picture("yellow"))
    (chat_name,) = new["chats"]
    talk = json.loads(parts[f"chats/{cora.id}/{chat_name}.json"])
    assert "It rains." in json.dumps(talk["message"])
    group = json.loads(parts[f"characters/{both.space.id}.json"])
    assert (group["type"], group["name"], group["characters"]) == ("group", "Both", [ANNA, str(cora.id)])
    assert json.loads(parts[f"personas/{persona.id}.json"])["personaPrompt"] == "Short."
    module = json.loads(parts[f"modules/{book.id}.json"])
    assert [(entry["key"], entry["content"]) for entry in module["lorebook"]] == [("gull", "Gulls.")]
    root = json.loads(parts["database.json"])
    assert root["characters"][:2] == [ANNA, BERT]
    assert {str(cora.id), str(both.space.id)} <= set(root["characters"])


async def test_v20_changed_pictures_bound_personas_and_lore_are_written_back(database_url: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lore = {"key": "dragon", "comment": "Dragon", "content": "Green.", "mode": "normal", "insertorder": 10}
    talk = chat(FIRST, message("Hi.", role="user"), localLore=[lore], bindedPersona="p1")
    personas = [
        {"name": "Mia", "personaPrompt": "Kind.", "icon": "assets/mia.png", "id": "p1"},
        {"name": "Robin", "personaPrompt": "Short.", "icon": "", "id": "p2"},
    ]
    bert = character(BERT, "Bert", chat(SECOND, message("Yes."), bindedPersona="gone"))
    group = character(GROUP, "Both", type="group", characters=[ANNA, BERT], globalLore=[lore])
    start = database(character(ANNA, "Anna", talk, image="assets/one.png"), bert, group, personas=personas)
    file = write_backup_file(tmp_path / "in", start, {"one.png": picture("teal"), "mia.png": picture("red")})
    async with open_story(database_url, tmp_path / "own") as story:
        await imported(story, file)
        runtime, viewer = story.runtime, story.viewer
        await set_avatar(runtime, viewer, await target(story, f"characters/{ANNA}.json"), picture("black"))
        await add_pictures(
            runtime,
            viewer,
            await target(story, f"characters/{ANNA}.json"),
            [NewPicture(filename="joy.png", data=picture("yellow"))],
            kind="emotion",
        )
        mia, robin = await target(story, "personas/p1.json"), await target(story, "personas/p2.json")
        await set_picture(runtime, viewer, mia, None, settings_version=0)
        await set_picture(runtime, viewer, robin, picture("blue"), settings_version=0)
        first = await target(story, f"chats/{ANNA}/{FIRST}.json")
        second = await target(story, f"chats/{BERT}/{SECOND}.json")
        await lock_conversation_to(runtime, viewer, first, robin)
        await narrate(story, second, "It rains.")
        for place in (first, await target(story, f"characters/{GROUP}.json")):
            await add_entry(runtime, viewer, lore_id(place), {"key": ["gull"], "content": "Gulls."})
        written = await export(story, tmp_path / "out", application="risuai", is_backup=True)
    parts = {path: json.loads(data) for path, data in parts_of(written.place / BACKUP).items() if path[-4:] == "json"}
    files = parts_of(written.place / BACKUP)
    anna = parts[f"characters/{ANNA}.json"]
    assert files[anna["image"]] == picture("black")
    assert [(name, files[path]) for name, path in anna["emotionImages"]] == [("joy", picture("yellow"))]
    assert parts["personas/p1.json"]["icon"] == ""
    assert files[parts["personas/p2.json"]["icon"]].startswith(PNG_SIGNATURE)
    talk = parts[f"chats/{ANNA}/{FIRST}.json"]
    assert talk["bindedPersona"] == "p2"
    assert [entry["content"] for entry in talk["localLore"]] == ["Green.", "Gulls."]
    assert talk["localLore"][0] == lore, "what was not changed is as it was"
    assert [entry["content"] for entry in parts[f"characters/{GROUP}.json"]["globalLore"]] == ["Green.", "Gulls."]
    longer = parts[f"chats/{BERT}/{SECOND}.json"]
    assert (longer["message"][-1]["data"], longer["bindedPersona"]) == ("It rains.", "gone")


async def test_v17_lore_of_a_chat_that_was_edited_here_is_exported_and_survives_the_next_import(
    sqlite_url: str, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    lore = {"key": "dragon", "comment": "Dragon", "content": "Green.", "mode": "normal", "insertorder": 10}
    talk = chat(FIRST, message("Hi.", role="user"), localLore=[lore])
    file = write_backup_file(tmp_path / "in", database(character(ANNA, "Anna", talk)))
    async with open_story(sqlite_url, tmp_path / "own") as story:
        await imported(story, file)
        first = await target(story, f"chats/{ANNA}/{FIRST}.json")
        await add_entry(story.runtime, story.viewer, lore_id(first), {"key": ["gull"], "content": "Gulls."})
        longer = {**talk, "localLore": [{**lore, "content": "Red."}], "message": [*talk["message"], message("Oh.")]}
        write_backup_file(tmp_path / "in", database(character(ANNA, "Anna", longer)))
        await imported(story, file)
        written = await export(story, tmp_path / "out", application="risuai", is_backup=True)
    after = json.loads(parts_of(written.place / BACKUP)[f"chats/{ANNA}/{FIRST}.json"])
    assert [entry["content"] for entry in after["localLore"]] == ["Green.", "Gulls."]
    assert [one["data"] for one in after["message"]] == ["Hi.", "Oh."]


async def test_the_trash_of_risuai_is_written_back_and_imported_once_it_is_restored(
    sqlite_url: str, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    bert = character(BERT, "Bert", chat(SECOND, message("Yes.")), trashTime=1)
    file = write_backup_file(tmp_path / "in", database(character(ANNA, "Anna"), bert))
    async with open_story(sqlite_url, tmp_path / "own") as story:
        await imported(story, file)
        written = await export(story, tmp_path / "out", application="risuai", is_backup=True)
        assert {f"characters/{BERT}.json", f"chats/{BERT}/{SECOND}.json"} <= parts_of(written.place / BACKUP).keys()
        del bert["trashTime"]
        write_backup_file(tmp_path / "in", database(character(ANNA, "Anna"), bert))
        await imported(story, file)
        assert await target(story, f"characters/{BERT}.json")
        assert await target(story, f"chats/{BERT}/{SECOND}.json")


async def test_pictures_in_messages_are_named_as_left_out(sqlite_url: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    file = write_backup_file(tmp_path / "in", backup(), {"one.png": picture("teal")})
    async with open_story(sqlite_url, tmp_path / "own") as story:
        await imported(story, file)
        path = f"chats/{ANNA}/{FIRST}.json"
        first = await target(story, path)
        shown = await upload_picture(story.runtime, story.viewer, first, picture("red"))
        await send_message(
            story.runtime,
            story.viewer,
            first,
            message_id=uuid4(),
            content="Look.",
            role="system",
            pictures=[PictureIn(id=shown.id)],
        )
        written = await export(story, tmp_path / "out", application="risuai", is_backup=True)
    assert "1 picture in its messages is left out." in written.notes(f"{BACKUP}/{path}")


async def test_without_a_backup_each_thing_is_a_file_that_risuai_imports(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path / "own") as story:
        runtime, viewer = story.runtime, story.viewer
        cora = await create_character(runtime, viewer, {"name": "Cora", "first_mes": "Oh.", "description": "New."})
        opened = await create_space(runtime, viewer, character_ids=[cora.id])
        await narrate(story, opened.conversation.id, "It rains.")
        await create_preset(runtime, viewer, NewPreset(name="Mine", kind="risuai"))
        await create_preset(runtime, viewer, NewPreset(name="Weather", kind="module"))
        await create_preset(runtime, viewer, NewPreset(name="Theirs", kind="chat"))
        await create_persona(runtime, viewer, NewPersona(name="Robin", description="Short."))
        book = await create_lorebook(runtime, viewer, NewLorebook(name="Harbour"))
        await add_entry(runtime, viewer, book.id, {"key": ["gull"], "content": "Gulls."})
        written = await export(story, tmp_path / "out", application="risuai")
        selected = await export(story, tmp_path / "one", application="risuai", character_ids=(cora.id,))
    assert characters.load(written.read("characters/Cora.charx")).card.character.description == "New."
    assert read_module_file(written.read("modules/Weather.risum")).module.name == "Weather"
    lore = read_module_file(written.read("modules/Harbour.risum")).module.lore
    assert [entry.content for entry in lore] == ["Gulls."]
    assert write_settings(read_preset_file(written.read("presets/Mine.risup"))[0])["name"] == "Mine"
    (talk,), _report = read_chat(written.read("chats/Cora/Main.json"))
    assert talk.messages[-1].text == "It rains."
    png = memoryview(written.read("personas/Robin.png"))
    (text,) = [bytes(png[one.start + 8 : one.end - 4]) for one in walk_chunks(png, limit=100) if one.type == b"tEXt"]
    assert json.loads(b64decode(text.removeprefix(b"persona\0")))["personaPrompt"] == "Short."
    assert written.verdict("tavernkit/chat/Theirs") == "left_out"
    assert selected.files == {"characters/Cora.charx", "chats/Cora/Main.json"}
