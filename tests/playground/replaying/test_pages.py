"""The page on which a change is tried on the last turns of a conversation."""

from pathlib import Path
from uuid import UUID

import pytest

from tests.playground.prompting.prompt_story import prompt_story
from tests.playground.replaying.told import CARD, tell
from tests.playground.support.jobs import ended_job, running_job_worker
from tests.playground.support.web import browser

pytestmark = pytest.mark.anyio


async def test_a_change_is_tried_and_its_prompts_are_shown(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path, "Hm.", cards={"Ada": CARD}) as story:
        await tell(story)
        address = f"/conversations/{story.conversation_id}/what-if"
        async with browser(story.runtime, story.user_id) as client, running_job_worker(story.runtime):
            panel = await client.get(f"/conversations/{story.conversation_id}/panel/runs")
            assert address in panel.text
            form = await client.get(address)
            assert form.status_code == 200
            wrong = await client.post(address, data={"settings": "deeper"})
            assert (wrong.status_code, "on a line of its own" in wrong.text) == (422, True)
            begun = await client.post(address, data={"settings": "world_info.depth=3\n", "last": "5"})
            assert begun.status_code == 303
            at = begun.headers["location"]
            await ended_job(story.runtime, UUID(at.rpartition("/")[2]))
            done = await client.get(at)
            assert done.text.count("<rect") == 10
            assert "Harbour" in done.text
            assert "world_info.depth=3" in done.text
            run_id = (await story.run()).id
            assert f"{at}/runs/{run_id}" in done.text
            assert "The harbour freezes" not in (await client.get(f"/runs/{run_id}")).text
            shown = await client.get(f"{at}/runs/{run_id}")
            assert (shown.status_code, "Ada keeps a ledger." in shown.text) == (200, True)
            assert (await client.get(f"{at}/progress")).status_code == 200
            other = await client.get(f"/conversations/{story.runtime.ids()}/what-if/{at.rpartition('/')[2]}")
            assert other.status_code == 404
