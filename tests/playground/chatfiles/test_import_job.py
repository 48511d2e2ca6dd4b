"""Long files are imported by a job: nobody sees anything of them before all is there, and nothing stays otherwise."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Job, Message, Space, SpaceMembership, TextContent
from tavernkit.playground.base.jobs.service import REMOVE_KIND, JobClaim, cancel_job, claim_job, fail_job, finish_job
from tavernkit.playground.base.jobs.work import JobStopped, JobWork
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.chatfiles.importing import CHAT_IMPORT_KIND, carry_out_chat_import, import_chats
from tavernkit.playground.story.retention import RetentionPeriods
from tavernkit.playground.story.spaces.service import delete_space, finish_removing_space
from tavernkit.playground.story.trash.purging import purge
from tests.playground.chatfiles.moving import lines, space_of
from tests.playground.stories import Story, open_story
from tests.playground.support.web import api_client

pytestmark = pytest.mark.anyio

COUNTED = (Space, SpaceMembership, Conversation, Message, TextContent)
STRANGERS = lines(*({"name": f"Stranger {number % 3}", "mes": f"Number {number}."} for number in range(1200)))


class StoppedAfter(JobWork):
    """A job that somebody stops behind its second step."""

    async def commit_step(self, session: AsyncSession, done: int) -> None:
        await super().commit_step(session, done)
        if done == 2:
            self.stop("asked")


@asynccontextmanager
async def half_imported(url: str, folder: Path) -> AsyncIterator[tuple[Story, JobClaim, list[int]]]:
    """An application with an import that has come half way, and what it held before."""
    async with open_story(url, folder, ScriptedModel()) as play:
        before = await counts(play)
        job = await import_chats(play.runtime, viewer(play), await space_of(play), STRANGERS.encode())
        assert isinstance(job, Job)
        claim = await claim_job(play.runtime, "w1", [CHAT_IMPORT_KIND])
        assert claim is not None
        with pytest.raises(JobStopped):
            await carry_out_chat_import(StoppedAfter(play.runtime, claim))
        yield play, claim, before


async def test_nothing_is_seen_of_an_import_before_it_is_complete(database_url: str, tmp_path: Path) -> None:
    async with (
        half_imported(database_url, tmp_path) as (play, claim, _),
        api_client(play.runtime, play.user_id) as api,
    ):
        place = f"/spaces/{await space_of(play)}"
        async with play.runtime.database.read() as session:
            query = select(Conversation.id).where(Conversation.space_id == claim.job_id)
            hidden = (await session.scalars(query)).one()
        paths = (f"{place}/conversations", f"{place}/members", "/spaces")
        seen = [(await api.get(path)).json()["items"] for path in paths]
        assert [len(items) for items in seen] == [1, 2, 1]
        assert (await api.get(f"/conversations/{hidden}")).status_code == 404
        assert (await api.post(f"/conversations/{hidden}/messages", json={"content": "Hi."})).status_code == 404
        assert (await api.get(f"/spaces/{claim.job_id}")).status_code == 404


async def test_a_canceled_import_leaves_nothing(database_url: str, tmp_path: Path) -> None:
    async with half_imported(database_url, tmp_path) as (play, claim, before):
        assert await counts(play) != before
        await cancel_job(play.runtime, claim)
        await carry_out_removal(play)
        assert await counts(play) == before


async def test_a_space_can_be_deleted_while_chats_are_imported_into_it(database_url: str, tmp_path: Path) -> None:
    async with half_imported(database_url, tmp_path) as (play, claim, _):
        await delete_space(play.runtime, viewer(play), await space_of(play))
        with pytest.raises(TavernKitError, match="deleted or archived"):
            await carry_out_chat_import(JobWork(play.runtime, claim))
        await fail_job(play.runtime, claim, "failed", "It is gone.")
        await carry_out_removal(play)
        play.skipped = timedelta(days=RetentionPeriods().trash_days)
        await purge(play.runtime, asyncio.Event())
        assert await counts(play) == [0, 0, 0, 0, 0]


async def test_another_worker_goes_on_behind_the_last_step(database_url: str, tmp_path: Path) -> None:
    async with half_imported(database_url, tmp_path) as (play, claim, before):
        spaces, members, conversations, messages, texts = before
        expected = [spaces, members + 3, conversations + 1, messages + 1200, texts + 1200]
        resumed = claim.with_(done=2)
        result = await carry_out_chat_import(JobWork(play.runtime, resumed))
        assert await counts(play) == expected
        # The worker may be gone before the job is known to be over: another one finds everything done.
        assert await carry_out_chat_import(JobWork(play.runtime, claim.with_(done=5))) == result
        assert await finish_job(play.runtime, claim, result)
        assert await counts(play) == expected


async def counts(play: Story) -> list[int]:
    async with play.runtime.database.read() as session:
        return [await session.scalar(select(func.count()).select_from(model)) or 0 for model in COUNTED]


async def carry_out_removal(play: Story) -> None:
    claim: Any = await claim_job(play.runtime, "w1", [REMOVE_KIND])
    assert claim is not None
    await finish_job(play.runtime, claim, await finish_removing_space(JobWork(play.runtime, claim)))


def viewer(play: Story) -> Viewer:
    return Viewer(user_id=play.user_id)
