"""What is in the trash is not here for imports and exports of folders."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select

from tavernkit.playground.base.database.models import Conversation, ImportedFile, Lorebook, Preset
from tavernkit.playground.story.conversations.queries import list_conversations
from tavernkit.playground.story.conversations.service import delete_conversation
from tavernkit.playground.story.lorebooks.service import delete_lorebook
from tavernkit.playground.story.presets.service import delete_preset
from tavernkit.playground.story.trash.service import read_trash, restore
from tests.playground.migration.exported import export, imported
from tests.playground.migration.support import chat, world, write_folder
from tests.playground.stories import Story, open_story

pytestmark = pytest.mark.anyio

BOOK, PRESET = "worlds/Harbour.json", "OpenAI Settings/Calm.json"
CHAT, OTHER = "chats/Anna/One.jsonl", "chats/Anna/Two.jsonl"


def files(word: str) -> dict[str, Any]:
    return {
        "settings.json": {},
        BOOK: world("Harbour", word),
        PRESET: {"temperature": 0.5, "prompts": [], "note": word},
        CHAT: chat("One.", word),
        OTHER: chat("Two."),
    }


async def target(story: Story, path: str) -> UUID:
    async with story.runtime.database.read() as session:
        found = await session.scalar(select(ImportedFile.target_id).where(ImportedFile.path == path))
    assert found is not None
    return found


async def test_what_is_in_the_trash_is_not_exported_and_a_changed_file_comes_back_beside_it(
    database_url: str, tmp_path: Path
) -> None:
    folder = write_folder(tmp_path / "st", files("Before."))
    async with open_story(database_url, tmp_path / "own") as story:
        await imported(story, folder)
        before = {path: await target(story, path) for path in (BOOK, PRESET, CHAT)}
        await delete_lorebook(story.runtime, story.viewer, before[BOOK])
        await delete_preset(story.runtime, story.viewer, before[PRESET])
        await delete_conversation(story.runtime, story.viewer, before[CHAT])
        written = await export(story, tmp_path / "out")
        assert not {BOOK, PRESET, CHAT} & written.files
        assert OTHER in written.files
        await imported(story, folder)
        assert {path: await target(story, path) for path in before} == before
        write_folder(folder, files("After."))
        await imported(story, folder)
        after = {path: await target(story, path) for path in before}
        assert not set(after.values()) & set(before.values())
        space_id = (await story.conversation(after[CHAT])).space_id
        listed = await list_conversations(story.runtime, story.viewer, space_id, after=None, limit=10)
        assert sorted(one.conversation.id for one in listed) == sorted([after[CHAT], await target(story, OTHER)])
        for item in await read_trash(story.runtime, story.viewer, limit=10):
            await restore(story.runtime, story.viewer, item.kind, item.id)
        async with story.runtime.database.read() as session:
            assert (await session.get_one(Lorebook, before[BOOK])).status == "ready"
            assert (await session.get_one(Preset, before[PRESET])).name == "Calm (2)"
            assert (await session.get_one(Conversation, before[CHAT])).status == "ready"
