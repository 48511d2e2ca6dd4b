"""Pipelines that are run by themselves: once for each request, never beside a reply, and written down."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select

from tavernkit.playground.base.database.models import ArtifactVersion, Conversation, Job, Message
from tavernkit.playground.base.jobs.service import request_cancel
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.dry_runs.manual import AskedFor, run_pipelines
from tavernkit.playground.story.pipelines.reports import KnownRun, read_pipeline_run
from tavernkit.playground.story.runs.requests import regenerate
from tests.playground.artifacts.stories import chosen_swipes
from tests.playground.messages.people import somebody
from tests.playground.pipelines.profile_story import THOUGHT, ProfileStory, counting, profile, profile_story
from tests.playground.support.jobs import ended_job, running_job_worker
from tests.playground.support.refusals import refusal_of
from tests.playground.support.web import ORIGIN, api_client
from tests.support.hanging import eventually

pytestmark = pytest.mark.anyio

TRIGGERS = ["user_message", "regenerate", "manual", "api"]
ASKED = counting(kind="llm", prompt="How often?", output="json")


def alone(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A profile whose pipeline also runs by itself."""
    return profile(*steps, **{"triggers": TRIGGERS, **fields})


async def asked(
    play: ProfileStory, request_id: UUID | None = None, *, trigger: AskedFor = "api", pipelines: list[str] | None = None
) -> KnownRun:
    return await run_pipelines(
        play.runtime,
        play.viewer,
        play.conversation_id,
        trigger=trigger,
        request_id=request_id or uuid4(),
        pipelines=pipelines,
    )


async def test_they_run_once_and_what_they_write_belongs_to_what_is_seen_last(
    database_url: str, tmp_path: Path
) -> None:
    model = ScriptedModel("The lamp is lit.")
    async with profile_story(database_url, tmp_path, model, alone(counting())) as play, play.working():
        await play.turn()
        assert await play.values() == {"count": 1}
        async with running_job_worker(play.runtime):
            known = await asked(play, trigger="manual")
            job = await ended_job(play.runtime, known.run.id)
        assert job.status == "succeeded"
        assert await play.values() == {"count": 1}, "the turn counts once"
        assert len(await play.messages()) == 2, "there is no reply"
        async with play.runtime.database.read() as session:
            last = (await session.scalars(select(Message).order_by(Message.seq.desc()).limit(1))).one()
            versions = list(await session.scalars(select(ArtifactVersion).order_by(ArtifactVersion.version)))
            path = await chosen_swipes(session, play.conversation_id)
        assert {version.message_id for version in versions} == {last.id}
        assert [version.content for version in versions] == [1, 1]
        assert path == {str(last.id): str(last.active_swipe_id)}
        _, run = await play.pipeline_runs()
        assert (run.status, run.trigger, run.run_id, run.attempt) == ("done", "manual", None, 1)
        # Told anew, that message reads what was before it: neither of both.
        await play.again()
        assert await play.values() == {"count": 1}


async def test_a_turn_that_is_run_again_counts_once_and_sees_what_other_pipelines_made_of_it(
    database_url: str, tmp_path: Path
) -> None:
    told = "{{ art.count.value }}/{{ art.count.history | join: ',' }}"
    diary = {"id": "tell", "kind": "template", "hook": "after", "template": told, "artifacts": [{"tag": "diary"}]}
    both = alone(counting())
    both["pipelines"] += profile(diary, pipeline="diary", triggers=["manual"])["pipelines"]
    async with profile_story(database_url, tmp_path, ScriptedModel("Yes."), both) as play, play.working():
        await play.turn()
        await play.turn()
        async with running_job_worker(play.runtime):
            for _ in range(3):
                await ended_job(play.runtime, (await asked(play, trigger="manual", pipelines=["world"])).run.id)
            assert await play.values() == {"count": 2}
            await ended_job(play.runtime, (await asked(play, trigger="manual", pipelines=["diary"])).run.id)
        assert await play.values() == {"count": 2, "diary": "2/1"}
        await play.turn()
        assert (await play.values())["count"] == 3


async def test_pitfall_14_a_request_that_comes_again_is_answered_with_the_first_report(
    database_url: str, tmp_path: Path
) -> None:
    async with profile_story(database_url, tmp_path, ScriptedModel("3"), alone(ASKED)) as play:
        request_id = uuid4()
        first = await asked(play, request_id=request_id)
        again = await asked(play, request_id=request_id)
        assert (again.run.id, again.run.report) == (first.run.id, None)
        async with running_job_worker(play.runtime):
            await ended_job(play.runtime, first.run.id)
            third = await asked(play, request_id=request_id)
        assert third.run.id == first.run.id
        assert third.run.report is not None
        assert third.run.report["status"] == "done"
        async with play.runtime.database.read() as session:
            assert len(list(await session.scalars(select(Job.id)))) == 1


async def test_they_do_not_begin_beside_a_reply_nor_beside_each_other(database_url: str, tmp_path: Path) -> None:
    held = asyncio.Event()
    model = ScriptedModel((held, "The lamp is lit."))
    async with profile_story(database_url, tmp_path, model, alone(counting())) as play, play.working():
        await play.say()
        refused = await refusal_of(asked(play))
        assert refused.code == "generation_locked"
        held.set()
        await play.until(lambda run: run.status == "succeeded")
        await asked(play)
        second = await refusal_of(asked(play))
        assert second.code == "generation_locked"


async def test_they_give_way_to_a_reply_that_begins_meanwhile(database_url: str, tmp_path: Path) -> None:
    held, asking_again = asyncio.Event(), asyncio.Event()
    model = ScriptedModel("One.", "1", (held, "7"), (asking_again, "Two."), "2")
    async with profile_story(database_url, tmp_path, model, alone(ASKED)) as play, play.working():
        await play.turn()
        async with running_job_worker(play.runtime):
            known = await asked(play)
            await eventually(lambda: len(model.requests) >= 3)
            await regenerate(play.runtime, play.viewer, play.conversation_id)
            await play.until(lambda run: run.kind == "regenerate" and run.status == "running")
            held.set()
            job = await ended_job(play.runtime, known.run.id)
            asking_again.set()
            await play.until(lambda run: run.kind == "regenerate" and run.status == "succeeded")
        assert job.status == "failed"
        assert job.error is not None
        assert "A reply started" in job.error["message"]
        seen = await read_pipeline_run(play.runtime, play.viewer, known.run.id)
        assert seen.run.status == "aborted"
        assert await play.values() == {"count": 2}


async def test_a_worker_that_leaves_hands_them_on_behind_the_last_step_that_has_ended(
    database_url: str, tmp_path: Path
) -> None:
    first = counting(id="first", kind="llm", hook="before", prompt="How often?", output="json")
    second = {
        "id": "second",
        "kind": "llm",
        "hook": "after",
        "prompt": "And then {{ art.count.value }}?",
        "artifacts": [{"tag": "then", "visibility": "ui_only"}],
    }
    model = ScriptedModel("4", (asyncio.Event(), "never"), "Then it rained.")
    async with profile_story(database_url, tmp_path, model, alone(first, second)) as play:
        known = await asked(play)
        async with running_job_worker(play.runtime, "j1"):
            await eventually(lambda: len(model.requests) >= 2)
        async with running_job_worker(play.runtime, "j2"):
            assert (await ended_job(play.runtime, known.run.id)).status == "succeeded"
        assert len(model.requests) == 3, "the first step was not asked again"
        assert await play.values() == {"count": 4, "then": "Then it rained."}
        (run,) = await play.pipeline_runs()
        assert (run.status, run.attempt) == ("done", 2)
        async with play.runtime.database.read() as session:
            story = await session.get_one(Conversation, play.conversation_id)
        assert story.completion_tokens_total == 1 + 3, "each answer is counted once"
        assert run.report is not None
        assert [step["usage"]["calls"] for step in run.report["steps"]] == [1, 2], "who has left had asked, too"


async def test_they_can_be_stopped_before_and_while_they_run(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel((asyncio.Event(), "never"))
    async with profile_story(database_url, tmp_path, model, alone(ASKED)) as play:
        async with api_client(play.runtime, play.user_id) as client:
            waiting = await asked(play)
            await request_cancel(play.runtime, play.viewer, waiting.run.id)
            told = (await client.get(f"/pipeline_runs/{waiting.run.id}")).json()
            assert (told["status"], told["message"]) == ("aborted", "The run was stopped before it began.")
            async with running_job_worker(play.runtime):
                running = await asked(play)
                await eventually(lambda: bool(model.requests))
                await request_cancel(play.runtime, play.viewer, running.run.id)
                assert (await ended_job(play.runtime, running.run.id)).status == "canceled"
            told = (await client.get(f"/pipeline_runs/{running.run.id}")).json()
            assert (told["status"], told["steps"][0]["status"]) == ("aborted", "aborted")
        assert await play.values() == {}


async def test_r38_what_is_not_taken_up_any_more_is_forgotten(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel("A secret thought.", (asyncio.Event(), "never"))
    async with profile_story(database_url, tmp_path, model, alone(THOUGHT, ASKED)) as play:
        known = await asked(play)
        async with running_job_worker(play.runtime, "who leaves"):
            await eventually(lambda: len(model.requests) >= 2)
        assert "secret" in str([step.output for step in await play.step_runs()]), "somebody may still go on with it"
        await request_cancel(play.runtime, play.viewer, known.run.id)
        assert [step.output for step in await play.step_runs()] == [None, None]


async def test_only_pipelines_with_the_trigger_run_and_of_those_the_ones_that_were_named(
    database_url: str, tmp_path: Path
) -> None:
    tick = {"kind": "template", "hook": "after", "template": "tick"}
    made = {
        name: {**tick, "id": "tick", "artifacts": [{"tag": name, "visibility": "ui_only"}]}
        for name in ("day", "night", "never")
    }
    both = {
        "pipelines": [
            {"id": name, "permissions": ["artifact_write"], "triggers": triggers, "steps": [made[name]]}
            for name, triggers in (("day", ["api"]), ("night", ["api"]), ("never", ["user_message"]))
        ]
    }
    async with (
        profile_story(database_url, tmp_path, ScriptedModel("Yes."), both) as play,
        running_job_worker(play.runtime),
    ):
        await ended_job(play.runtime, (await asked(play, pipelines=["night"])).run.id)
        assert await play.values() == {"night": "tick"}
        await ended_job(play.runtime, (await asked(play)).run.id)
        assert await play.values() == {"day": "tick", "night": "tick"}
        assert (await refusal_of(asked(play, pipelines=["never"]))).code == "invalid"
        assert (await refusal_of(asked(play, trigger="manual"))).code == "conflict"


async def test_reports_are_listed_the_newest_first_and_quote_nothing(database_url: str, tmp_path: Path) -> None:
    secret = counting(template="a secret", artifacts=[{"tag": "plan", "visibility": "prompt_only"}])
    async with profile_story(database_url, tmp_path, ScriptedModel("Yes."), alone(secret)) as play, play.working():
        run = await play.turn()
        async with running_job_worker(play.runtime), api_client(play.runtime, play.user_id) as client:
            path = f"/conversations/{play.conversation_id}/pipeline_runs"
            started = await client.post(path, json={"request_id": str(uuid4())})
            assert (started.status_code, started.json()["status"]) == (202, "running")
            await ended_job(play.runtime, UUID(started.json()["job_id"]))
            first = (await client.get(path, params={"limit": 1})).json()
            assert [(one["trigger"], one["run_id"]) for one in first["items"]] == [("api", None)]
            rest = (await client.get(path, params={"after": first["next"]})).json()
            assert [(one["trigger"], one["run_id"]) for one in rest["items"]] == [("user_message", str(run.id))]
            (step,) = rest["items"][0]["steps"]
            assert (step["status"], step["commit"], step["wrote"][0]["version"]) == ("done", "committed", 1)
            assert "secret" not in str(first) + str(rest)


async def test_strangers_are_told_of_nothing_and_watchers_start_nothing(database_url: str, tmp_path: Path) -> None:
    async with profile_story(database_url, tmp_path, ScriptedModel("Yes."), alone(counting())) as play:
        known = await asked(play)
        stranger = await somebody(play, role=None)
        unseen = await refusal_of(read_pipeline_run(play.runtime, stranger, known.run.id))
        assert unseen.code == "not_found"
        watcher = await somebody(play, participation="observer")
        refused = await refusal_of(
            run_pipelines(play.runtime, watcher, play.conversation_id, trigger="api", request_id=uuid4())
        )
        assert refused.code == "forbidden"


async def test_where_nothing_is_followed_that_is_said(database_url: str, tmp_path: Path) -> None:
    async with profile_story(database_url, tmp_path, ScriptedModel("Yes."), alone(counting())) as play:
        async with api_client(play.runtime, play.user_id) as client:
            await client.put(
                "/pipeline_choices", json={"conversation_id": str(play.conversation_id), "profile_id": None}
            )
            told = await client.post(
                f"/conversations/{play.conversation_id}/pipeline_runs", json={"request_id": str(uuid4())}
            )
        assert told.status_code == 409
        assert told.json()["error"]["sentence"] == "No profile is chosen here. Choose a profile first."


async def test_the_button_beside_the_chat_runs_them_or_says_why_not(database_url: str, tmp_path: Path) -> None:
    async with profile_story(database_url, tmp_path, ScriptedModel("Yes."), alone(counting())) as play:
        async with api_client(play.runtime, play.user_id) as client, running_job_worker(play.runtime):
            chat = f"{ORIGIN}/conversations/{play.conversation_id}"
            assert "Run now" in (await client.get(f"{chat}/panel/pipelines")).text
            request_id = str(uuid4())
            pressed = await client.post(f"{chat}/pipelines/run", data={"request_id": request_id})
            assert pressed.status_code == 303
            (run,) = await play.pipeline_runs()
            await ended_job(play.runtime, run.id)
            assert await play.values() == {"count": 1}
            again = await client.post(
                f"{chat}/pipelines/run",
                data={"request_id": request_id},
                headers={"Accept": "text/vnd.turbo-stream.html"},
            )
            assert "The pipelines are running." in again.text
            assert len(await play.pipeline_runs()) == 1
        await play.follow(profile(counting()), "Another")
        async with api_client(play.runtime, play.user_id) as client:
            refused = await client.post(f"{chat}/pipelines/run")
            assert refused.status_code == 409
            assert "No pipeline of Another has the trigger manual." in refused.text


async def test_the_page_of_a_run_shows_the_pipelines_around_its_reply(database_url: str, tmp_path: Path) -> None:
    rules = [{"pattern": "a", "replacement": "b"}]
    failing = {"id": "look", "kind": "transform", "hook": "after", "source": "art.nothing.value", "rules": rules}
    content = profile(counting(), failing)
    async with profile_story(database_url, tmp_path, ScriptedModel("Yes."), content) as play, play.working():
        await play.turn()
        run = await play.turn()
        async with api_client(play.runtime, play.user_id) as client:
            shown = (await client.get(f"{ORIGIN}/runs/{run.id}?tab=reply")).text
        assert "world/count" in shown
        assert "Wrote count v1 → v2" in shown
        assert "There is no art.nothing.value" in shown
