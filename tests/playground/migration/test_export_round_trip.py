"""A folder of SillyTavern that is imported and exported again: what was exact has its bytes, and nothing is lost."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import NamedTuple
from uuid import uuid4

import pytest
from sqlalchemy import select

from tavernkit.playground.base.database.models import Conversation, Message, Persona
from tavernkit.playground.story.characters.service import change_own_tags, create_character, set_avatar
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.lorebooks.documents import NewLink, NewLorebook
from tavernkit.playground.story.lorebooks.links import attach_lorebook
from tavernkit.playground.story.lorebooks.service import add_entry, create_lorebook
from tavernkit.playground.story.messages.service import add_swipe, send_message
from tavernkit.playground.story.migration.report import ReportLine
from tavernkit.playground.story.paths.pictures import PictureIn, upload_picture
from tavernkit.playground.story.paths.variables import set_global
from tavernkit.playground.story.personas.connections import connect_character
from tavernkit.playground.story.personas.documents import NewPersona, PatchPersona
from tavernkit.playground.story.personas.service import create_persona, set_picture, update_persona
from tavernkit.playground.story.presets.documents import NewPreset
from tavernkit.playground.story.presets.service import create_preset
from tavernkit.playground.story.quick_replies.documents import ButtonFields, NewQuickReplySet
from tavernkit.playground.story.quick_replies.service import create_set
from tavernkit.playground.story.scripts.service import add_scripts, new_script
from tavernkit.playground.story.spaces.service import create_space
from tests.migration.folders_generator import FULL, SMALL, FolderSize, write_user_folder
from tests.migration.generator.manifest import Manifest
from tests.playground.characters.builders import picture, somebody_else
from tests.playground.migration.exported import Exported, export, imported, narrate
from tests.playground.migration.owned import owned
from tests.playground.migration.support import lines
from tests.playground.stories import Story, open_story
from tests.playground.support.databases import KINDS, shared_story_url
from tests.support.hanging import HANG_SECONDS

pytestmark = pytest.mark.anyio

LONG_CHAT_BYTES = int(os.environ.get("TAVERNKIT_LONG_CHAT_BYTES", "0"))
"""In `make soak`, one chat of the full folder has 100 MB."""


class Moved(NamedTuple):
    """A folder that was imported and exported again, with the report about each file, and with what each branch became:
    its chat, its parent, and how many messages they have in common."""

    folder: Manifest
    report: Mapping[str, ReportLine]
    branches: frozenset[tuple[str, str, int, str]]
    written: Exported
    place: Path


@pytest.fixture(scope="module", params=KINDS)
def moved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Moved:
    """The full folder on SQLite, and a small one on PostgreSQL; who changes something does so in a copy."""
    place = tmp_path_factory.mktemp("moved")
    size = FULL.with_(long_chat_bytes=LONG_CHAT_BYTES) if request.param == "sqlite" else SMALL
    return asyncio.run(move(shared_story_url(request, request.param, place), place, size))


async def move(url: str, place: Path, size: FolderSize) -> Moved:
    folder = write_user_folder(place / "SillyTavern" / "data", Random(2), size)
    async with open_story(url, place / "own") as story:
        # A long chat is one step.
        hang_seconds = 3600 if size.long_chat_bytes else HANG_SECONDS
        report = await lines(story, await imported(story, folder.place, hang_seconds=hang_seconds))
        branches = await branches_of(story, report)
        return Moved(folder, report, branches, await export(story, place / "out"), place)


async def branches_of(story: Story, report: Mapping[str, ReportLine]) -> frozenset[tuple[str, str, int, str]]:
    paths = {line.target_id: path for path, line in report.items() if line.target_kind == "conversation"}
    query = select(Conversation, Message.seq).join(Message, Message.id == Conversation.forked_from_message_id)
    async with story.runtime.database.read() as session:
        rows = (await session.execute(query)).all()
    return frozenset((paths[row.id], paths[row.parent_conversation_id], seq, row.kind) for row, seq in rows)


def digests(written: Exported) -> dict[str, str]:
    return {path: sha256(written.read(path)).hexdigest() for path in written.files}


def test_v21_every_file_has_a_line_in_the_report_with_what_it_had_to_become(moved: Moved) -> None:
    expected = {file.path: file.expected.verdicts for file in moved.folder.files}
    assert moved.report.keys() == expected.keys()
    wrong = {
        path: (line.verdict, line.notes) for path, line in moved.report.items() if line.verdict not in expected[path]
    }
    assert wrong == {}
    assert [path for path, line in moved.report.items() if line.verdict == "refused" and not line.notes] == []


def test_v02_an_unedited_export_has_the_bytes_that_were_imported(moved: Moved) -> None:
    folder, written, found = moved.folder, moved.written, digests(moved.written)
    wrong = {
        file.path: (file.kind, written.notes(file.path))
        for file in folder.files
        if file.expected.is_exact and found.get(file.path) != file.sha256
    }
    assert wrong == {}
    # The story that was here before is exported as well.
    known = {file.path for file in folder.files}
    new = {path for path in written.files if path not in known}
    assert {path.partition("/")[0] for path in new} <= {"characters", "chats"}
    assert len(new) == 2
    accounted = {line.path for line in written.report.lines}
    assert known <= accounted


def test_v10_branches_begin_where_the_generator_copied_them(moved: Moved) -> None:
    expected = {(branch.path, branch.parent, branch.fork, branch.kind) for branch in moved.folder.branches}
    assert moved.branches == expected


def test_v12_planted_keys_are_nowhere_after_a_round_trip(moved: Moved) -> None:
    keys = [secret.encode() for secret in moved.folder.secrets]
    places = [path for folder in ("own", "out") for path in (moved.place / folder).rglob("*") if path.is_file()]
    for path in [*places, *moved.place.glob("t.db*")]:
        data = path.read_bytes()
        assert not [key for key in keys if key in data], path
    notes = " ".join(note for line in moved.report.values() for note in line.notes)
    assert not [secret for secret in moved.folder.secrets if secret in notes]


@pytest.mark.parametrize("moved", ["sqlite"], indirect=True)
async def test_v02_one_change_of_the_settings_changes_that_value_alone(moved: Moved, tmp_path: Path) -> None:
    shutil.copy(moved.place / "t.db", tmp_path)
    async with open_story(f"sqlite+aiosqlite:///{tmp_path / 't.db'}", moved.place / "own") as story:
        async with story.runtime.database.read() as session:
            persona = await session.scalar(select(Persona).where(Persona.name == "Persona 0"))
        assert persona is not None
        patch = PatchPersona.model_validate({"settings_version": persona.settings_version, "title": "Another title"})
        await update_persona(story.runtime, story.viewer, persona.id, patch)
        after = await export(story, tmp_path / "after")
    old, new = digests(moved.written), digests(after)
    assert {path for path in {*old, *new} if old.get(path) != new.get(path)} == {"settings.json"}
    texts = [written.read("settings.json").split(b"\n") for written in (moved.written, after)]
    differing = [(one, two) for one, two in zip(*texts, strict=True) if one != two]
    assert differing == [(b'                "title": "Title 0",', b'                "title": "Another title",')]


async def made_here(story: Story) -> None:
    """Some of everything that SillyTavern has a place for."""
    runtime, viewer = story.runtime, story.viewer
    anna = await create_character(
        runtime,
        viewer,
        {"name": "Anna", "first_mes": "Hi.", "alternate_greetings": ["Yo."], "extensions": {"odd": [1]}},
    )
    await set_avatar(runtime, viewer, anna.id, picture("red"))
    namesake = await create_character(runtime, viewer, {"name": "Anna", "first_mes": "Other."})
    await change_own_tags(runtime, viewer, anna.id, ["Sea"])
    book = await create_lorebook(runtime, viewer, NewLorebook(name="Harbour"))
    await add_entry(runtime, viewer, book.id, {"key": ["gull"], "content": "Gulls.", "order": 7})
    await attach_lorebook(runtime, viewer, NewLink(lorebook_id=book.id, character_id=anna.id))
    await attach_lorebook(runtime, viewer, NewLink(lorebook_id=book.id, user_id=viewer.user_id))
    await create_preset(runtime, viewer, NewPreset(name="Mine", kind="chat"))
    await create_preset(runtime, viewer, NewPreset(name="Words", kind="instruct"))
    await create_set(
        runtime, viewer, NewQuickReplySet(name="Moods", buttons=[ButtonFields(label="Smile", message="x")])
    )
    robin = await create_persona(
        runtime, viewer, NewPersona(name="Robin", description="Short.", position="at_depth", depth=3, is_default=True)
    )
    await set_picture(runtime, viewer, robin.id, picture("blue"), settings_version=0)
    await connect_character(runtime, viewer, robin.id, anna.id)
    script = {**new_script("sillytavern"), "scriptName": "Louder", "findRegex": "/a/g", "replaceString": "A"}
    await add_scripts(runtime, viewer, "global", viewer.user_id, "sillytavern", [script])
    await set_global(runtime, viewer, "gold", 12)
    solo = (await create_space(runtime, viewer, character_ids=[anna.id], persona_id=robin.id)).conversation.id
    await narrate(story, solo, "One.", "Two.")
    rows = await story.rows(solo)
    await add_swipe(runtime, viewer, rows[1].id, swipe_id=uuid4(), content="Uno.")
    uploaded = await upload_picture(runtime, viewer, solo, picture("teal"), title="A door")
    await send_message(
        runtime, viewer, solo, message_id=uuid4(), content="Look.", role="system", pictures=[PictureIn(id=uploaded.id)]
    )
    await fork(runtime, viewer, solo, rows[1].id, title="Otherwise")
    await create_space(runtime, viewer, character_ids=[namesake.id])
    group = await create_space(runtime, viewer, name="Both", character_ids=[anna.id, namesake.id], persona_id=robin.id)
    await narrate(story, group.conversation.id, "Wind.")


async def test_what_was_made_here_is_the_same_after_export_and_import(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path / "own") as story:
        await made_here(story)
        written = await export(story, tmp_path / "out")
        other = await somebody_else(story)
        await imported(story, written.place, other)
        mine, theirs = await owned(story, story.viewer), await owned(story, other)
        again = await export(story, tmp_path / "again", other)
    for kind in mine:
        assert theirs[kind] == mine[kind], kind
    assert digests(again) == digests(written)
    assert {line.verdict for line in again.report.lines} == {"exact"}
