"""Renaming, archiving, deleting and listing spaces."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from tavernkit.playground.base.database.base import Base
from tavernkit.playground.base.database.models import Job, Message, OutboxEvent, Space
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.access.access import Access, space_for
from tavernkit.playground.story.background import job_worker
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.conversations.service import create_conversation
from tavernkit.playground.story.members.service import add_member
from tavernkit.playground.story.messages.service import send_message
from tavernkit.playground.story.spaces.queries import list_spaces
from tavernkit.playground.story.spaces.service import change_space, delete_space
from tavernkit.playground.story.trash.service import delete_for_good
from tests.playground.spaces.cast import opened, person
from tests.playground.stories import Story, open_story
from tests.playground.support.counting import counted_statements
from tests.playground.support.refusals import refusal_of
from tests.support.hanging import eventually

pytestmark = pytest.mark.anyio


async def test_a_change_from_an_older_version_is_refused_with_how_it_is_now(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        space = (await opened(play, "Ada")).space
        both = await asyncio.gather(
            change_space(play.runtime, play.viewer, space.id, settings_version=0, name="One"),
            change_space(play.runtime, play.viewer, space.id, settings_version=0, name="Two"),
            return_exceptions=True,
        )
        [changed] = [row for row in both if isinstance(row, Space)]
        [refused] = [row for row in both if isinstance(row, Refused)]
        assert (refused.code, refused.current["name"], refused.current["settings_version"]) == (
            "stale",
            changed.name,
            1,
        )
        blank = await refusal_of(change_space(play.runtime, play.viewer, space.id, settings_version=1, name=" \x00"))
        assert blank.code == "blank"
        async with play.runtime.database.read() as session:
            events = await session.scalars(
                select(OutboxEvent.kind).where(OutboxEvent.conversation_id != play.conversation_id)
            )
            assert list(events) == ["space"]


async def test_an_archived_space_can_only_be_read_and_brought_back(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        made = await opened(play, "Ada")
        archived = await change_space(play.runtime, play.viewer, made.space.id, settings_version=0, archived=True)
        assert isinstance(archived, Space)
        assert archived.status == "archived"
        begun = await refusal_of(create_conversation(play.runtime, play.viewer, made.space.id))
        assert begun.code == "forbidden"
        async with play.runtime.database.read() as session:
            await space_for(session, made.space.id, play.viewer, Access.READ)
        assert [row.space.id for row in await _list(play, status="archived")] == [made.space.id]
        back = await change_space(play.runtime, play.viewer, made.space.id, settings_version=1, archived=False)
        assert isinstance(back, Space)
        assert back.status == "active"


async def test_deleting_a_space_leaves_no_row_behind(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        before = await _counts(play)
        made = await opened(play, "Ada", "Bo")
        await _say(play, made.conversation.id, "Hello")
        async with play.runtime.database.read() as session:
            first = await session.scalar(
                select(Message.id).where(Message.conversation_id == made.conversation.id, Message.seq == 1)
            )
        assert first is not None
        await fork(play.runtime, play.viewer, made.conversation.id, first)
        await delete_space(play.runtime, play.viewer, made.space.id)
        await play.outlast_trash()
        after = await _counts(play)
        assert after == _with_cast(before, site_settings=before["site_settings"] + 2)
        gone = await refusal_of(delete_space(play.runtime, play.viewer, made.space.id))
        assert gone.code == "not_found"


async def test_a_space_that_is_deleted_for_good_vanishes_at_once_and_is_removed_by_a_job(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        before = await _counts(play)
        made = await opened(play, "Ada", "Bo")
        await create_conversation(play.runtime, play.viewer, made.space.id)
        await delete_space(play.runtime, play.viewer, made.space.id)
        await delete_for_good(play.runtime, play.viewer, "space", made.space.id)
        async with play.runtime.database.read() as session:
            job = (await session.scalars(select(Job))).one()
        assert made.space.id not in [row.space.id for row in await _list(play)]
        worker = job_worker(play.runtime, "w1")
        working = asyncio.create_task(worker.run())

        async def has_succeeded() -> bool:
            return await _status(play, job) == "succeeded"

        await eventually(has_succeeded)
        worker.stop()
        await working
        async with play.runtime.database.read() as session:
            assert await session.get(Space, made.space.id) is None
        after = await _counts(play)
        assert after == _with_cast(before, jobs=1)


async def test_lists_are_by_last_use_in_pages_and_cost_four_statements(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        made = []
        for number in range(5):
            play.skipped += timedelta(minutes=1)
            made.append(await opened(play, f"Ada {number}", f"Bo {number}"))
        play.skipped += timedelta(minutes=1)
        await _say(play, made[1].conversation.id, "So  long\nago, " + "x" * 300)
        with counted_statements(play.runtime.database) as few:
            page = await _list(play, limit=2)
        assert [row.space.name for row in page] == ["Ada 1 and Bo 1", "Ada 4 and Bo 4"]
        assert page[0].last_message is not None
        assert page[0].last_message.text.startswith("So long ago, xxx")
        assert len(page[0].last_message.text) <= 200
        assert [member.cached_display_name for member in page[1].members[1:]] == ["Ada 4", "Bo 4"]
        rest = await _list(play, limit=10, after=(page[-1].last_active_at, page[-1].space.id))
        assert [row.space.name[:5] for row in rest] == ["Ada 3", "Ada 2", "Ada 0", "Ottol"]
        with counted_statements(play.runtime.database) as many:
            await _list(play, limit=100)
        assert len(few) == len(many) == 4


async def test_members_of_a_discussion_see_it_but_not_what_is_private(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        made = await opened(play, "Ada", kind="discussion")
        guest, stranger = await person(play, "Guest"), await person(play, "Stranger")
        await add_member(play.runtime, play.viewer, made.space.id, user_id=guest.user_id)
        play.skipped += timedelta(minutes=1)
        secret = await create_conversation(play.runtime, play.viewer, made.space.id, visibility="private")
        await _say(play, secret.id, "Nobody knows.")
        [row] = await list_spaces(play.runtime, guest, status="active", after=None, limit=10)
        assert row.last_message is not None
        assert row.last_message.text == "I am Ada."
        assert await list_spaces(play.runtime, stranger, status="active", after=None, limit=10) == []
        refused = await refusal_of(change_space(play.runtime, guest, made.space.id, settings_version=0, name="Mine"))
        assert refused.code == "forbidden"
        hidden = await refusal_of(change_space(play.runtime, stranger, made.space.id, settings_version=0, name="Mine"))
        assert hidden.code == "not_found"


async def _say(play: Story, conversation_id: Any, content: str) -> None:
    await send_message(
        play.runtime, play.viewer, conversation_id, message_id=play.runtime.ids(), content=content, role="system"
    )


async def _list(play: Story, *, status: Any = "active", after: Any = None, limit: int = 50) -> Any:
    return await list_spaces(play.runtime, play.viewer, status=status, after=after, limit=limit)


async def _status(play: Story, job: Job) -> str:
    async with play.runtime.database.read() as session:
        return (await session.get_one(Job, job.id)).status


def _with_cast(counts: dict[str, int], **others: int) -> dict[str, int]:
    """So many rows as before, the two characters who were in the space, and how search finds them."""
    return {**counts, **{table: counts[table] + 2 for table in ("characters", "search_documents")}, **others}


async def _counts(play: Story) -> dict[str, int]:
    async with play.runtime.database.read() as session:
        return {
            table.name: await session.scalar(select(func.count()).select_from(table)) or 0
            for table in Base.metadata.sorted_tables
        }
