"""What nothing refers to any more is removed, and everything that something refers to stays."""

import asyncio
import sqlite3
import sys
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from sqlalchemy import func, select, text

from tavernkit.playground.base.database.base import Base
from tavernkit.playground.base.database.models import (
    Conversation,
    JobFile,
    Message,
    OutboxEvent,
    PromptPiece,
    SiteSetting,
    TextContent,
)
from tavernkit.playground.base.jobs.service import enqueue_job, request_cancel
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.base.pieces import packed
from tavernkit.playground.base.realtime.outbox import append_event
from tavernkit.playground.story.background import job_worker
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.conversations.service import create_conversation, delete_conversation
from tavernkit.playground.story.messages.service import add_swipe, delete_swipe, edit_message
from tavernkit.playground.story.previews.service import KeptPrompt, read_prompt
from tavernkit.playground.story.prompting.records import PromptRecord, keep_prompt
from tavernkit.playground.story.search.documents import SearchFilters
from tavernkit.playground.story.search.queries import search
from tavernkit.playground.story.sweeping.service import KEPT_EVENTS, KEPT_FOR, sweep
from tests.playground.realtime.listening import Page
from tests.playground.stories import Story, open_story
from tests.playground.support.prompts import kept_pieces
from tests.support.hanging import HANG_SECONDS, eventually

pytestmark = pytest.mark.anyio

SHORT = "The key lies below the third stone."
LONG = "And nobody may know of it." * 1_000


async def swept(play: Story) -> None:
    await sweep(play.runtime, asyncio.Event())


async def texts(play: Story) -> set[str]:
    async with play.runtime.database.read() as session:
        return set(await session.scalars(select(TextContent.content)))


async def is_waiting_for_prompts(play: Story) -> bool:
    """Whether somebody waits for a transaction that keeps a prompt; on SQLite, everybody who writes waits for it."""
    if not play.runtime.database.is_postgresql:
        return True
    waiting = (
        "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database "
        "WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted"
    )
    async with play.runtime.database.read() as session:
        return bool(await session.scalar(text(waiting)))


async def count(play: Story, model: type[Base]) -> int:
    async with play.runtime.database.read() as session:
        return await session.scalar(select(func.count()).select_from(model)) or 0


def test_every_reference_to_a_text_is_looked_at() -> None:
    target = Base.metadata.tables["text_contents"]
    references = {
        (table.name, key.parent.name)
        for table in Base.metadata.tables.values()
        for key in table.foreign_keys
        if key.column.table is target
    }
    # What the search index has of a text goes with it.
    assert references == {("messages", "text_id"), ("message_swipes", "text_id"), ("search_documents", "text_id")}


async def test_a_text_that_was_edited_away_is_gone_and_others_stay(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        short, long, shared, last = await story.narrate(SHORT, LONG, "Shared.", "Last.")
        branch = await fork(story.runtime, story.viewer, story.conversation_id, last.id)
        assert isinstance(branch, Conversation)
        await edit_message(story.runtime, story.viewer, shared.id, content="Changed.", revision=None)
        for message in (short, long):
            await edit_message(story.runtime, story.viewer, message.id, content="Nothing.", revision=None)
            (copy,) = [row for row in await story.rows(branch.id) if row.origin_message_id == message.id]
            await edit_message(story.runtime, story.viewer, copy.id, content="Nothing.", revision=None)
        await add_swipe(story.runtime, story.viewer, last.id, swipe_id=uuid4(), content="Kept swipe.", activate=False)
        removed = await add_swipe(story.runtime, story.viewer, last.id, swipe_id=uuid4(), content="Removed swipe.")
        await delete_swipe(story.runtime, story.viewer, last.id, removed.id)
        before = await story.shown(), await story.shown(branch.id)
        over = asyncio.Event()
        over.set()
        await sweep(story.runtime, over)
        assert {SHORT, LONG, "Removed swipe."} <= await texts(story)
        await swept(story)
        assert not {SHORT, LONG, "Removed swipe."} & await texts(story)
        assert {"Shared.", "Changed.", "Kept swipe."} <= await texts(story)
        assert (await story.shown(), await story.shown(branch.id)) == before
        if not story.runtime.database.is_postgresql:
            written = b"".join(file.read_bytes() for file in tmp_path.glob("t.db*"))
            assert b"Shared." in written
            assert SHORT.encode() not in written
            assert b"nobody may know" not in written


async def test_the_words_of_a_deleted_message_leave_the_search_index(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as story:
        # Many small writes, so that the index is in pieces when the words go.
        (secret,) = await story.narrate("Zyxomma quagswagging")
        await story.narrate(*(f"Nothing of importance {number}" for number in range(20)))
        await edit_message(story.runtime, story.viewer, secret.id, content="Nothing at all.", revision=None)

        def pieces() -> int:
            with sqlite3.connect(tmp_path / "t.db") as connection:
                blocks = connection.execute("SELECT block FROM search_index_data").fetchall()
            return sum(b"quagswagging" in block or b"zyxomma" in block for (block,) in blocks)

        assert pieces() > 0
        await swept(story)
        assert pieces() == 0
        assert (
            len((await search(story.runtime, story.viewer, "nothing", SearchFilters(), after=None, limit=50)).results)
            > 20
        )


async def test_a_sweep_that_is_killed_leaves_everything_whole(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        await story.narrate("One.", "Two.")
        async with story.runtime.database.write() as session:
            session.add_all(TextContent(id=uuid4(), content=f"{SHORT} {number}") for number in range(5_000))
        used = await texts(story) - {f"{SHORT} {number}" for number in range(5_000)}
        sweeper = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.playground.sweeping_process", database_url, str(tmp_path)
        )
        try:

            async def has_begun() -> bool:
                return await count(story, TextContent) < len(used) + 5_000

            await eventually(has_begun)
        finally:
            sweeper.kill()
            await sweeper.wait()
        assert used <= await texts(story)
        await swept(story)
        assert await texts(story) == used
        assert await story.shown() == ["One.", "Two."]


async def test_a_text_that_is_about_to_be_used_stays(migrated_postgres_url: str, tmp_path: Path) -> None:
    async with open_story(migrated_postgres_url, tmp_path) as story:
        (message,) = await story.narrate("Before.")
        text_id = message.text_id
        await edit_message(story.runtime, story.viewer, message.id, content="After.", revision=None)
        async with story.runtime.database.write() as session:
            row = await session.get_one(Message, message.id)
            row.text_id = text_id
            await session.flush()
            async with asyncio.timeout(HANG_SECONDS):
                await swept(story)
        assert await story.shown() == ["Before."]


async def test_old_events_are_removed_and_a_page_that_missed_them_is_refreshed(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path) as play:
        async with play.runtime.database.write() as session:
            for _ in range(KEPT_EVENTS + 20):
                last = await append_event(session, play.conversation_id, "conversation", play.runtime.clock())
        await swept(play)
        assert await count(play, OutboxEvent) == last
        play.skipped = 2 * KEPT_FOR
        await swept(play)
        assert await count(play, OutboxEvent) == KEPT_EVENTS
        _, whole = await Page(play, after=3).take(2)
        assert 'action="refresh"' in whole["data"]
        assert whole["id"] == str(last)
        _, piece = await Page(play, after=last - 2).take(2)
        assert 'action="refresh"' not in piece["data"]


async def test_blocks_are_removed_with_the_last_prompt_that_they_stand_in(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel("Yes.")) as play:
        async with play.working():
            await play.say("Said in the first conversation.")
            kept = await play.until(lambda run: run.status == "succeeded")
            async with play.runtime.database.read() as session:
                space_id = (await session.get_one(Conversation, play.conversation_id)).space_id
            other = await create_conversation(play.runtime, play.viewer, space_id)
            assert isinstance(other, Conversation)
            second = Story(play.runtime, play.user_id, other.id)
            await second.say("Said in the second conversation.")
            await play.until(lambda run: run.status == "succeeded" and run.conversation_id == other.id)
        await swept(play)
        before = await count(play, PromptPiece)
        assert await delete_conversation(play.runtime, play.viewer, other.id) is None
        assert await count(play, PromptPiece) == before
        await play.outlast_trash()
        assert isinstance(await read_prompt(play.runtime, play.viewer, kept.id), KeptPrompt)
        kept = "".join(await kept_pieces(play.runtime))
        assert "Said in the first conversation." in kept
        assert "Said in the second conversation." not in kept


async def test_a_block_that_a_prompt_is_about_to_use_stays(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel("Yes.")) as play:
        async with play.working():
            await play.say()
            run = await play.until(lambda run: run.status == "succeeded")
        document = packed(["A text of a prompt that is gone by now. " * 9])
        async with play.runtime.database.write() as session:
            session.add_all(
                PromptPiece(key=key, links=piece.links, data=piece.data) for key, piece in document.pieces.items()
            )
        record = PromptRecord(packed=document, report={}, fingerprint="f")
        async with play.runtime.database.write() as session:
            await keep_prompt(session, run.id, record, play.runtime.clock())
            sweeping = asyncio.create_task(swept(play))
            await eventually(lambda: is_waiting_for_prompts(play))
        async with asyncio.timeout(HANG_SECONDS):
            await sweeping
        async with play.runtime.database.read() as session:
            keys = set(await session.scalars(select(PromptPiece.key)))
        assert len(document.pieces) > 1
        assert document.pieces.keys() <= keys


async def test_prompts_are_read_again_only_after_some_were_removed(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play:

        async def last() -> str:
            async with play.runtime.database.read() as session:
                setting = await session.get_one(SiteSetting, "prompt_blocks_swept")
                assert setting.value["is_over"]
                return str(setting.value["sweep"])

        await swept(play)
        first = await last()
        await swept(play)
        assert await last() == first


async def test_the_bytes_of_files_of_an_ended_job_are_removed(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play:
        ids: list[UUID] = []
        for _ in range(2):
            async with play.runtime.database.write() as session:
                job = await enqueue_job(session, play.runtime, kind="test", owner_id=play.user_id, payload={})
                ids.append(job.id)
        await request_cancel(play.runtime, play.viewer, ids[0])
        async with play.runtime.database.write() as session:
            session.add_all(JobFile(job_id=id, position=0, name="file", data=b"bytes") for id in ids)
        await swept(play)
        async with play.runtime.database.read() as session:
            assert [(await session.get_one(JobFile, (id, 0))).data for id in ids] == [None, b"bytes"]


async def test_the_worker_sweeps_in_a_loop_that_is_watched(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        worker = job_worker(play.runtime, "w")
        task = asyncio.create_task(worker.run())
        await eventually(lambda: any(loop.name == "sweep" and loop.is_well for loop in play.runtime.loops.states()))
        worker.stop()
        await task
