"""Trying a profile on a story: models are asked, everything is told, and nothing is written."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import func, select

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    ArtifactHead,
    ArtifactVersion,
    Conversation,
    Job,
    OutboxEvent,
    PipelineRun,
    PipelineStepRun,
)
from tavernkit.playground.base.jobs.service import request_cancel
from tavernkit.playground.base.llm.base import ModelError
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.dry_runs.dry_run import ask_dry_run
from tavernkit.playground.story.dry_runs.report import LONGEST
from tavernkit.playground.story.pipelines.documents import NewProfile
from tavernkit.playground.story.pipelines.reports import DryRun
from tavernkit.playground.story.pipelines.service import create_profile
from tests.playground.messages.people import somebody
from tests.playground.pipelines.profile_story import THOUGHT, ProfileStory, counting, profile, profile_story
from tests.playground.support.jobs import ended_job, running_job_worker
from tests.playground.support.refusals import refusal_of
from tests.playground.support.web import ORIGIN, api_client
from tests.support.hanging import eventually

pytestmark = pytest.mark.anyio

NAMED = {**THOUGHT, "name": "A thought"}


async def tried(play: ProfileStory, profile_id: UUID, **asked: Any) -> dict[str, Any]:
    """What came of trying a profile on the story."""
    job = await ask_dry_run(
        play.runtime, play.viewer, profile_id, DryRun(conversation_id=play.conversation_id, **asked)
    )
    over = await ended_job(play.runtime, job.id)
    assert over.status == "succeeded", over.error
    return over.result


async def rows(play: ProfileStory) -> dict[str, int]:
    """How much there is of everything that a dry run must not touch."""
    kinds = (ArtifactHead, ArtifactVersion, PipelineRun, PipelineStepRun, OutboxEvent)
    async with play.runtime.database.read() as session:
        return {kind.__tablename__: await session.scalar(select(func.count()).select_from(kind)) or 0 for kind in kinds}


async def test_it_tells_each_step_and_what_becomes_of_the_prompt_and_writes_nothing(
    database_url: str, tmp_path: Path
) -> None:
    model = ScriptedModel("The lamp is lit.", "She wants company.")
    async with profile_story(database_url, tmp_path, model, profile(counting())) as play:
        async with play.working():
            await play.turn("Is anybody there?")
        profile_id = (await play.pipeline_runs())[0].profile_id
        assert profile_id is not None
        before, said = await rows(play), await play.messages()
        async with running_job_worker(play.runtime):
            result = await tried(play, profile_id, content=profile(NAMED, counting()))
        assert (await rows(play), await play.messages()) == (before, said)
        assert await play.values() == {"count": 1}
        assert (result["status"], result["turn"], result["reply"]) == ("done", 1, "The lamp is lit.")
        think, count = result["steps"]
        assert (think["name"], think["status"], think["calls"]) == ("A thought", "done", 1)
        assert "Is anybody there?" in think["input"][0]["content"]
        assert think["output"] == "She wants company."
        assert think["writes"][0]["content"] == "She wants company."
        # The turn is told again: the state is read as it was before its reply.
        (write,) = count["writes"]
        assert (write["tag"], write["from_version"], write["version"], write["content"]) == ("art.count", None, 2, "1")
        (added,) = result["prompt"]["changes"]
        assert (added["change"], added["role"], added["after"]) == ("added", "developer", "She wants company.")
        assert result["prompt"]["tokens_after"] > result["prompt"]["tokens_before"]
        assert len(model.requests) == 2, "the reply was there already"


async def test_what_is_used_is_counted_into_the_story(database_url: str, tmp_path: Path) -> None:
    async with profile_story(database_url, tmp_path, ScriptedModel("Yes."), profile(NAMED)) as play:
        async with play.working():
            await play.turn()
        profile_id = (await play.pipeline_runs())[0].profile_id
        assert profile_id is not None

        async def used() -> int:
            async with play.runtime.database.read() as session:
                story = await session.get_one(Conversation, play.conversation_id)
                return story.prompt_tokens_total + story.completion_tokens_total

        before = await used()
        async with running_job_worker(play.runtime):
            result = await tried(play, profile_id)
        assert result["prompt_tokens"] > 0
        assert await used() == before + result["prompt_tokens"] + result["completion_tokens"]


async def test_a_reply_is_asked_for_if_somebody_wants_one(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel("The lamp is lit.", "It is dark.")
    echo = counting(template="{{ reply }}", artifacts=[{"tag": "echo", "visibility": "ui_only"}])
    async with profile_story(database_url, tmp_path, model, profile(echo)) as play:
        async with play.working():
            await play.turn()
        profile_id = (await play.pipeline_runs())[0].profile_id
        assert profile_id is not None
        async with running_job_worker(play.runtime):
            result = await tried(play, profile_id, with_reply=True)
        assert result["reply"] == "It is dark."
        assert result["steps"][0]["output"] == "It is dark."
        assert (await play.messages())[-1] == ("assistant", "The lamp is lit.")


async def test_before_anybody_has_answered_the_reply_before_stands_in_and_that_is_said(
    database_url: str, tmp_path: Path
) -> None:
    echo = counting(template="{{ reply }}", artifacts=[{"tag": "echo", "visibility": "ui_only"}])
    async with profile_story(database_url, tmp_path, ScriptedModel("No."), profile(echo)) as play:
        await play.say("Is anybody there?")
        profile_id = await play.follow(profile(echo), "Again")
        async with running_job_worker(play.runtime):
            result = await tried(play, profile_id)
        assert result["steps"][0]["status"] == "done"
        assert result["steps"][0]["output"] == result["reply"] != ""
        assert any("The last message has no reply yet" in warning for warning in result["warnings"])


async def test_what_was_typed_in_other_words_is_a_changed_block(database_url: str, tmp_path: Path) -> None:
    rewrite = {
        "id": "dice",
        "kind": "message_transform",
        "hook": "before",
        "template": "{{ rawUserMessage }} (rolled 6)",
        "select": True,
    }
    async with profile_story(database_url, tmp_path, ScriptedModel("So be it."), profile(rewrite)) as play:
        await play.say("I jump.")
        profile_id = await play.follow(profile(rewrite), "Again")
        async with running_job_worker(play.runtime):
            result = await tried(play, profile_id)
        (changed,) = result["prompt"]["changes"]
        assert (changed["change"], changed["before"], changed["after"]) == ("changed", "I jump.", "I jump. (rolled 6)")


async def test_a_required_step_that_fails_is_told_with_its_reason(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel(ModelError("Nobody is there.", code="unavailable"))
    content = profile({**NAMED, "required": True}, counting())
    async with profile_story(database_url, tmp_path, model, content) as play, running_job_worker(play.runtime):
        profile_id = await play.follow(content, "Again")
        result = await tried(play, profile_id)
        assert (result["status"], result["failed_type"]) == ("error", "before_barrier")
        assert result["message"] == "The required step world/think failed: Nobody is there."
        assert result["prompt"] is None
        assert [(step["step"], step["status"]) for step in result["steps"]] == [("think", "error")]


async def test_a_tag_of_another_pipeline_is_told_as_a_sentence(database_url: str, tmp_path: Path) -> None:
    async with profile_story(database_url, tmp_path, ScriptedModel("Yes."), profile(counting())) as play:
        async with play.working():
            await play.turn()
        other = await create_profile(
            play.runtime, play.viewer, NewProfile(name="Other", content=profile(counting(), pipeline="other"))
        )
        job = await ask_dry_run(play.runtime, play.viewer, other[0].id, DryRun(conversation_id=play.conversation_id))
        async with running_job_worker(play.runtime):
            over = await ended_job(play.runtime, job.id)
        assert over.status == "failed"
        assert over.error is not None
        assert "count" in over.error["message"]


async def test_it_can_be_stopped_and_tells_how_far_it_is(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel((asyncio.Event(), "Never."))
    content = profile(NAMED, counting())
    async with profile_story(database_url, tmp_path, model, content) as play, running_job_worker(play.runtime):
        profile_id = await play.follow(content, "Again")
        job = await ask_dry_run(play.runtime, play.viewer, profile_id, DryRun(conversation_id=play.conversation_id))
        await eventually(lambda: bool(model.requests))
        async with play.runtime.database.read() as session:
            so_far = await session.get_one(Job, job.id)
        assert (so_far.done, so_far.total) == (0, 2)
        assert so_far.result["steps"] == [
            {"pipeline": "world", "step": "think", "status": "running"},
            {"pipeline": "world", "step": "count", "status": "waiting"},
        ]
        await request_cancel(play.runtime, play.viewer, job.id)
        assert (await ended_job(play.runtime, job.id)).status == "canceled"
        async with play.runtime.database.read() as session:
            story = await session.get_one(Conversation, play.conversation_id)
        assert story.prompt_tokens_total > 0, "what was asked counts"


async def test_long_texts_are_cut_and_that_is_said(database_url: str, tmp_path: Path) -> None:
    long = counting(
        template="{% for i in (1..9000) %}lamp {% endfor %}", artifacts=[{"tag": "x", "visibility": "ui_only"}]
    )
    async with profile_story(database_url, tmp_path, ScriptedModel("Yes."), profile(long)) as play:
        profile_id = await play.follow(profile(long), "Again")
        async with running_job_worker(play.runtime):
            result = await tried(play, profile_id)
        assert result["steps"][0]["output"].endswith("more characters)")
        assert len(result["steps"][0]["output"]) < LONGEST + 50


async def test_who_only_takes_part_is_not_told_what_people_must_not_see(database_url: str, tmp_path: Path) -> None:
    secret = counting(template="a secret", artifacts=[{"tag": "plan", "visibility": "prompt_only"}])
    async with profile_story(database_url, tmp_path, ScriptedModel("Yes."), profile(secret)) as play:
        async with play.working():
            await play.turn()
            await play.turn()
        look = {"id": "look", "kind": "template", "hook": "after", "template": "[{{ art.plan.value }}]"}
        async with running_job_worker(play.runtime):
            for viewer, seen in ((play.viewer, "[a secret]"), (await somebody(play), "[]")):
                new = NewProfile(name="Curious", content=profile(look, pipeline="curious"))
                made = await create_profile(play.runtime, viewer, new)
                asked = DryRun(conversation_id=play.conversation_id)
                job = await ask_dry_run(play.runtime, viewer, made[0].id, asked)
                assert (await ended_job(play.runtime, job.id)).result["steps"][0]["output"] == seen


async def test_only_who_has_the_profile_and_takes_part_can_try_it(database_url: str, tmp_path: Path) -> None:
    async with profile_story(database_url, tmp_path, ScriptedModel("Yes."), profile(counting())) as play:
        profile_id = await play.follow(profile(counting()), "Again")
        asked = DryRun(conversation_id=play.conversation_id)
        stranger = Viewer(user_id=play.runtime.ids())
        refused = await refusal_of(ask_dry_run(play.runtime, stranger, profile_id, asked))
        assert refused.code == "not_found"
        elsewhere = await refusal_of(
            ask_dry_run(play.runtime, play.viewer, profile_id, DryRun(conversation_id=play.runtime.ids()))
        )
        assert elsewhere.code == "not_found"


async def test_over_http_what_cannot_be_tried_is_refused_at_once(database_url: str, tmp_path: Path) -> None:
    async with profile_story(database_url, tmp_path, ScriptedModel("Yes."), profile(counting())) as play:
        profile_id = await play.follow(profile(counting()), "Again")
        here = {"conversation_id": str(play.conversation_id)}
        async with api_client(play.runtime, play.user_id) as client:
            path = f"/pipeline_profiles/{profile_id}/dry_run"
            wrong = await client.post(path, json={**here, "content": {"pipelines": [{"id": ""}]}})
            assert (wrong.status_code, wrong.json()["error"]["code"]) == (422, "invalid")
            nothing = await client.post(path, json={**here, "trigger": "api"})
            assert (nothing.status_code, nothing.json()["error"]["code"]) == (409, "conflict")
            job = await client.post(path, json=here)
            assert (job.status_code, job.json()["kind"], job.json()["total"]) == (202, "pipeline_dry_run", 1)
            async with running_job_worker(play.runtime):
                await ended_job(play.runtime, UUID(job.json()["id"]))
            result = (await client.get(f"/jobs/{job.json()['id']}")).json()["result"]
            assert result["status"] == "done"


async def test_the_page_tries_what_is_saved_or_typed_and_shows_what_came_of_it(
    database_url: str, tmp_path: Path
) -> None:
    model = ScriptedModel("The lamp is lit.", "She wants <b>company</b>.")
    content = profile(NAMED, counting())
    async with profile_story(database_url, tmp_path, model, profile(counting())) as play:
        async with play.working():
            await play.turn()
        profile_id = (await play.pipeline_runs())[0].profile_id
        place = f"{ORIGIN}/pipelines/{profile_id}/dry_run"
        async with api_client(play.runtime, play.user_id) as client, running_job_worker(play.runtime):
            form = await client.get(place, params={"conversation": str(play.conversation_id)})
            assert f'<option value="{play.conversation_id}" selected' in form.text
            chosen = {"conversation_id": str(play.conversation_id)}
            bad = await client.post(place, data={**chosen, "content": '{"pipelines": ['})
            assert bad.status_code == 422
            assert "The profile in the editor has an error." in bad.text
            begun = await client.post(place, data={**chosen, "content": json.dumps(content)})
            assert begun.status_code == 303
            address = f"{ORIGIN}{begun.headers['location']}"
            job_id = address.rpartition("/")[2]
            await ended_job(play.runtime, UUID(job_id))
            shown = await client.get(address)
            assert "She wants &lt;b&gt;company&lt;/b&gt;." in shown.text
            assert 'data-dry-run-progress-over-value="true"' in shown.text
            streamed = await client.get(f"{address}/progress")
            assert 'target="dry_run_state"' in streamed.text
            stopped = await client.post(f"{address}/stop")
            assert stopped.status_code == 303, "what is over stays as it is"
            elsewhere = await client.get(
                f"{ORIGIN}/pipelines/{play.runtime.ids()}/dry_run/{address.rpartition('/')[2]}"
            )
            assert elsewhere.status_code == 404
