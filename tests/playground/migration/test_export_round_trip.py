"""A folder of SillyTavern that is imported and exported again: what was exact has its bytes."""

from __future__ import annotations

from collections import defaultdict
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    Lorebook,
    LorebookEntry,
    LorebookLink,
    Message,
    MessagePicture,
    MessageSwipe,
    Persona,
    Preset,
    QuickReplySet,
    Space,
    SpaceMembership,
)
from tavernkit.playground.story.characters.service import change_own_tags, create_character, set_avatar
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.lorebooks.documents import NewLink, NewLorebook
from tavernkit.playground.story.lorebooks.links import attach_lorebook
from tavernkit.playground.story.lorebooks.service import add_entry, create_lorebook
from tavernkit.playground.story.messages.service import add_swipe, send_message
from tavernkit.playground.story.paths.pictures import PictureIn, upload_picture
from tavernkit.playground.story.paths.variables import read_globals, set_global
from tavernkit.playground.story.personas.connections import connect_character
from tavernkit.playground.story.personas.documents import NewPersona, PatchPersona
from tavernkit.playground.story.personas.service import create_persona, set_picture, update_persona
from tavernkit.playground.story.presets.documents import NewPreset
from tavernkit.playground.story.presets.service import create_preset
from tavernkit.playground.story.quick_replies.documents import ButtonFields, NewQuickReplySet
from tavernkit.playground.story.quick_replies.service import create_set
from tavernkit.playground.story.scripts.service import add_scripts, new_script
from tavernkit.playground.story.spaces.service import create_space
from tests.migration.folders_generator import write_user_folder
from tests.playground.characters.builders import picture, somebody_else
from tests.playground.migration.exported import Exported, export, imported, narrate
from tests.playground.stories import Story, open_story

pytestmark = pytest.mark.anyio


def digests(written: Exported) -> dict[str, str]:
    return {path: sha256(written.read(path)).hexdigest() for path in written.files}


async def test_v02_an_unedited_export_has_the_bytes_that_were_imported(database_url: str, tmp_path: Path) -> None:
    folder = write_user_folder(tmp_path / "SillyTavern" / "data", Random(2))
    async with open_story(database_url, tmp_path / "own") as story:
        await imported(story, folder.place)
        written = await export(story, tmp_path / "out")
        found = digests(written)
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


async def test_v02_one_change_of_the_settings_changes_that_value_alone(sqlite_url: str, tmp_path: Path) -> None:
    folder = write_user_folder(tmp_path / "SillyTavern" / "data", Random(3))
    async with open_story(sqlite_url, tmp_path / "own") as story:
        await imported(story, folder.place)
        before = await export(story, tmp_path / "before")
        async with story.runtime.database.read() as session:
            persona = await session.scalar(select(Persona).where(Persona.name == "Persona 0"))
        assert persona is not None
        patch = PatchPersona.model_validate({"settings_version": persona.settings_version, "title": "Another title"})
        await update_persona(story.runtime, story.viewer, persona.id, patch)
        after = await export(story, tmp_path / "after")
    old, new = digests(before), digests(after)
    assert {path for path in {*old, *new} if old.get(path) != new.get(path)} == {"settings.json"}
    lines = [written.read("settings.json").split(b"\n") for written in (before, after)]
    differing = [(one, two) for one, two in zip(*lines, strict=True) if one != two]
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


def unlinked(card: dict[str, Any]) -> dict[str, Any]:
    """A card without the name of the lorebook that is linked with it."""
    extensions = {key: value for key, value in card["data"]["extensions"].items() if key != "world"}
    return {**card, "data": {**card["data"], "extensions": extensions}}


async def model(story: Story, viewer: Viewer) -> dict[str, Any]:
    """What a person has, without what only tells it apart from everything else."""
    found: dict[str, Any] = defaultdict(list)
    async with story.runtime.database.read() as session:
        for character in await session.scalars(select(Character).where(Character.owner_id == viewer.user_id)):
            books = await session.scalars(
                select(Lorebook.name)
                .join(LorebookLink, LorebookLink.lorebook_id == Lorebook.id)
                .where(LorebookLink.character_id == character.id)
            )
            found["characters"].append((unlinked(character.data), character.own_tags, list(books)))
        for book in await session.scalars(select(Lorebook).where(Lorebook.owner_id == viewer.user_id)):
            entries = await session.scalars(select(LorebookEntry.data).where(LorebookEntry.lorebook_id == book.id))
            found["books"].append((book.name, list(entries)))
        for preset in await session.scalars(select(Preset).where(Preset.owner_id == viewer.user_id)):
            found["presets"].append((preset.kind, preset.name, preset.data))
        for one in await session.scalars(select(QuickReplySet).where(QuickReplySet.owner_id == viewer.user_id)):
            found["quick replies"].append(one.data)
        for persona in await session.scalars(select(Persona).where(Persona.owner_id == viewer.user_id)):
            said = (persona.name, persona.description, persona.position, persona.depth, persona.is_default)
            found["personas"].append((*said, persona.avatar_sha256 is not None))
        for link in await session.scalars(select(LorebookLink)):
            if link.user_id == viewer.user_id:
                found["books for all"].append(True)
        found["variables"] = await read_globals(session, viewer.user_id)
        spaces = await session.scalars(select(Space).where(Space.owner_id == viewer.user_id))
        for space in spaces:
            members = select(SpaceMembership.cached_display_name, SpaceMembership.participation).where(
                SpaceMembership.space_id == space.id,
                SpaceMembership.kind == "character",
                SpaceMembership.status == "active",
            )
            cast = [tuple(row) for row in await session.execute(members.order_by(SpaceMembership.position))]
            chats = await session.scalars(select(Conversation).where(Conversation.space_id == space.id))
            found["spaces"].append((cast, space.reply_order, sorted([await told(session, chat) for chat in chats])))
    return {kind: sorted(values, key=repr) if isinstance(values, list) else values for kind, values in found.items()}


async def told(session: AsyncSession, conversation: Conversation) -> tuple[str, list[Any]]:
    """What is said in a conversation: every version of every message, and its pictures."""
    messages = await session.scalars(
        select(Message).where(Message.conversation_id == conversation.id).order_by(Message.seq)
    )
    said = []
    for message in messages:
        swipes = await session.scalars(
            select(MessageSwipe).where(MessageSwipe.message_id == message.id).order_by(MessageSwipe.position)
        )
        texts = [(swipe.content, swipe.id == message.active_swipe_id) for swipe in swipes]
        pictures = await session.execute(
            select(MessagePicture.sha256, MessagePicture.title).where(
                MessagePicture.swipe_id == message.active_swipe_id, MessagePicture.kind == "attached"
            )
        )
        said.append((message.role, message.visibility, texts, [tuple(row) for row in pictures]))
    return conversation.kind, said


async def test_what_was_made_here_is_the_same_after_export_and_import(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path / "own") as story:
        await made_here(story)
        written = await export(story, tmp_path / "out")
        other = await somebody_else(story)
        await imported(story, written.place, other)
        mine, theirs = await model(story, story.viewer), await model(story, other)
        again = await export(story, tmp_path / "again", other)
    for kind in mine:
        assert theirs[kind] == mine[kind], kind
    assert digests(again) == digests(written)
    assert {line.verdict for line in again.report.lines} == {"exact"}
