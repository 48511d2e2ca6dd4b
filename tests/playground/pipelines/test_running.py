"""Pipelines inside the runs of a conversation: before the reply, behind it, once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from tavernkit.playground.base.database.models import (
    Conversation,
    Message,
    OutboxEvent,
    PipelineProfileVersion,
)
from tavernkit.playground.base.llm.base import Finished, ModelError
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.base.realtime.bus import conversation_topic
from tavernkit.playground.edge.presenting.artifacts import state_view
from tavernkit.playground.story.messages.service import select_swipe
from tavernkit.playground.story.previews.service import preview_prompt
from tavernkit.playground.story.replies.actions import keep_text, request_stop
from tavernkit.playground.story.runs.requests import regenerate
from tavernkit.prompt.tokens import default_estimator
from tests.playground.pipelines.profile_story import DICE, THOUGHT, ProfileStory, counting, profile, profile_story
from tests.playground.support.prompts import kept_pieces
from tests.playground.support.web import ORIGIN, api_client
from tests.support.hanging import HANG_SECONDS

pytestmark = pytest.mark.anyio


def told(model: ScriptedModel, place: int = -1) -> list[str]:
    return [str(message["content"]) for message in model.requests[place].messages]


async def test_a_state_is_brought_up_to_date_behind_each_reply_and_told_with_the_next(
    database_url: str, tmp_path: Path
) -> None:
    model = ScriptedModel("The lamp is lit.")
    async with profile_story(database_url, tmp_path, model, profile(counting())) as play, play.working():
        run = await play.turn("Is anybody there?")
        assert run.status == "succeeded"
        assert await play.values() == {"count": 1}
        assert "1" not in told(model)
        await play.turn("And now?")
        assert await play.values() == {"count": 2}
        assert told(model)[-2:] == ["And now?", "1"]
        assert [each.status for each in await play.pipeline_runs()] == ["done", "done"]
        assert await play.messages() == [
            ("user", "Is anybody there?"),
            ("assistant", "The lamp is lit."),
            ("user", "And now?"),
            ("assistant", "The lamp is lit."),
        ]


async def test_telling_a_reply_anew_does_not_tick_twice_and_swiping_back_is_going_back(
    database_url: str, tmp_path: Path
) -> None:
    model = ScriptedModel("One.", "Two.", "Three.")
    step = counting(template="{{ art.count.value | default: 0 | plus: 1 }}")
    async with profile_story(database_url, tmp_path, model, profile(step)) as play, play.working():
        await play.turn()
        await play.turn("And now?")
        assert await play.values() == {"count": 2}
        await play.again()
        assert await play.values() == {"count": 2}
        assert told(model)[-2:] == ["And now?", "1"]
        async with play.runtime.database.read() as session:
            last = (await session.scalars(select(Message).order_by(Message.seq.desc()).limit(1))).one()
        assert last.swipes_count == 2
        await select_swipe(play.runtime, play.viewer, last.id, "left")
        assert await play.values() == {"count": 2}


async def test_a_thought_is_in_the_prompt_and_nowhere_else(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel("She wants company.", "Sit down.")
    async with profile_story(database_url, tmp_path, model, profile(THOUGHT)) as play, play.working():
        run = await play.turn()
        assert told(model)[-2:] == ["Hello?", "She wants company."]
        assert not [piece for piece in await kept_pieces(play.runtime) if "company" in piece]
        (done,) = await play.step_runs()
        assert done.output is None
        assert "company" not in json.dumps([done.log, run.debug])


async def test_the_reply_is_there_before_the_steps_behind_it_have_ended(database_url: str, tmp_path: Path) -> None:
    held = asyncio.Event()
    model = ScriptedModel("The lamp is lit.", (held, "5"))
    step = counting(kind="llm", prompt="How often?", output="json")
    async with profile_story(database_url, tmp_path, model, profile(step)) as play, play.working():
        await play.say()
        run = await play.until(lambda run: run.replied_at is not None)
        assert run.status == "running"
        assert await play.messages() == [("user", "Hello?"), ("assistant", "The lamp is lit.")]
        assert await play.values() == {}
        held.set()
        await play.until(lambda run: run.status == "succeeded")
        assert await play.values() == {"count": 5}


async def test_nobody_has_to_wait_for_what_comes_behind_a_reply(database_url: str, tmp_path: Path) -> None:
    held = asyncio.Event()
    model = ScriptedModel("The lamp is lit.", (held, "5"), "Still lit.", "6")
    step = counting(kind="llm", prompt="How often?", output="json")
    async with profile_story(database_url, tmp_path, model, profile(step)) as play, play.working():
        await play.say()
        await play.until(lambda run: run.replied_at is not None and len(model.requests) == 2)
        await play.say("And now?")
        held.set()
        await play.until(lambda run: run.status == "succeeded" and len(model.requests) == 4)
        assert [text for _, text in await play.messages()] == ["Hello?", "The lamp is lit.", "And now?", "Still lit."]
        assert "5" in told(model, 2)
        assert await play.values() == {"count": 6}


async def test_stopping_behind_the_reply_keeps_the_reply(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel("The lamp is lit.", (asyncio.Event(), "5"))
    step = counting(kind="llm", prompt="How often?", output="json")
    async with profile_story(database_url, tmp_path, model, profile(step)) as play, play.working():
        await play.say()
        run = await play.until(lambda run: run.replied_at is not None)
        await request_stop(play.runtime, play.viewer, run.id)
        await play.until(lambda run: run.status == "succeeded")
        assert await play.messages() == [("user", "Hello?"), ("assistant", "The lamp is lit.")]
        assert [each.status for each in await play.pipeline_runs()] == ["aborted"]


async def test_a_required_step_that_fails_keeps_the_model_from_being_asked(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel(ModelError("Nobody is there.", code="unavailable"), "Sit down.")
    async with (
        profile_story(database_url, tmp_path, model, profile({**THOUGHT, "required": True})) as play,
        play.working(),
    ):
        run = await play.turn()
        assert run.status == "failed"
        assert run.error == {
            "code": "pipeline_error",
            "message": "The required step world/think failed: Nobody is there.",
        }
        assert len(model.requests) == 1
        (ended,) = await play.pipeline_runs()
        assert ended.report is not None
        assert (ended.status, ended.report["failed_type"]) == ("error", "before_barrier")


async def test_a_profile_that_cannot_be_used_any_more_is_named_where_the_reply_would_be(
    sqlite_url: str, tmp_path: Path
) -> None:
    model = ScriptedModel("Sit down.")
    async with profile_story(sqlite_url, tmp_path, model, profile(counting())) as play, play.working():
        async with play.runtime.database.write() as session:
            broken = profile(counting(kind="seance"))
            await session.execute(update(PipelineProfileVersion).values(content=broken))
        run = await play.turn()
        assert (run.status, run.error["code"], len(model.requests)) == ("failed", "pipeline_error", 0)
        assert run.error["message"].startswith("“World” cannot be used as saved. Open it and correct it.")


async def test_a_renamed_pipeline_goes_on_with_what_it_has_made(database_url: str, tmp_path: Path) -> None:
    content = profile(counting())
    async with profile_story(database_url, tmp_path, ScriptedModel("Yes."), content) as play, play.working():
        await play.turn()
        async with api_client(play.runtime, play.user_id) as client:
            (row,) = (await client.get("/pipeline_profiles")).json()["items"]
            patch = {"settings_version": 1, "content": profile(counting(), pipeline="globe")}
            assert (await client.patch(f"/pipeline_profiles/{row['id']}", json=patch)).status_code == 200
        run = await play.turn()
        assert run.status == "succeeded"
        assert await play.values() == {"count": 2}


async def test_a_tag_of_another_profile_fails_its_step_and_the_reply_goes_on(database_url: str, tmp_path: Path) -> None:
    content = profile(counting())
    async with profile_story(database_url, tmp_path, ScriptedModel("Yes."), content) as play, play.working():
        await play.turn()
        rivals = profile(counting(required=True), {**counting(id="sun"), "artifacts": [{"tag": "sun"}]}, pipeline="new")
        async with api_client(play.runtime, play.user_id) as client:
            made = await client.post("/pipeline_profiles", json={"name": "Rivals", "content": rivals})
            assert (await client.put("/pipeline_choices", json={"profile_id": made.json()["id"]})).status_code == 200
            here = {"conversation_id": str(play.conversation_id)}
            assert (await client.delete("/pipeline_choices", params=here)).status_code == 204
        run = await play.turn()
        assert (run.status, await play.messages()) == ("succeeded", [("user", "Hello?"), ("assistant", "Yes.")] * 2)
        assert await play.values() == {"count": 1, "sun": "2"}
        report = (await play.pipeline_runs())[-1].report
        assert report is not None
        count, sun = report["steps"]
        assert (count["status"], sun["status"]) == ("error", "done")
        assert count["message"].startswith("art.count belongs to the pipeline 'world'; 'new' cannot write it.")


async def test_a_bar_in_the_panel_goes_as_far_as_the_schema_of_its_step(database_url: str, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"hp": {"type": "integer", "minimum": 0, "maximum": 20}}}
    step = counting(kind="llm", prompt="How is she?", schema=schema)
    model = ScriptedModel("Yes.", '{"hp": 12}')
    async with profile_story(database_url, tmp_path, model, profile(step)) as play, play.working():
        await play.turn()
        view = await state_view(play.runtime, play.viewer, play.conversation_id)
        value = view.cards[0].content.value
        assert value is not None
        assert [(name, field.share) for name, field in value.fields] == [("Hp", 60)]


@pytest.mark.parametrize("hook", ["before", "after"])
async def test_templates_know_the_activated_lore_and_the_system_prompt(
    database_url: str, tmp_path: Path, hook: str
) -> None:
    entries = "{{ worldInfo.activatedEntries | map: 'content' | first }}"
    template = "{{ worldInfo.activatedCount }} " + entries + "|{{ promptSystem }}"
    step = {"id": "look", "kind": "template", "hook": hook, "template": template, "artifacts": [{"tag": "seen"}]}
    model = ScriptedModel("Yes.")
    async with profile_story(database_url, tmp_path, model, profile(step)) as play, play.working():
        await play.turn("Open the ledger.")
        lore, system = str((await play.values())["seen"]).split("|", 1)
        assert lore.startswith("1 The ledger: every letter")
        assert "in Ottoline's hand" in lore
        assert system.startswith("Write the next reply of Ottoline")
        assert lore.removeprefix("1 ") in system
        sent = told(model)[0]
        assert all(part in sent for part in system.split("\n\n"))


async def test_a_failed_reply_leaves_nothing_of_what_was_made_for_it(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel(ModelError("Nobody is there.", code="unavailable"))
    async with profile_story(database_url, tmp_path, model, profile(counting(hook="before"))) as play, play.working():
        assert (await play.turn()).status == "failed"
        assert await play.values() == {}
        (ended,) = await play.pipeline_runs()
        assert ended.report is not None
        assert (ended.status, ended.report["failed_type"]) == ("error", "main_llm")


async def half_kept(play: ProfileStory, half: str) -> Message:
    """Stop the reply when so much of it is there, and keep that."""
    run = await play.until(lambda run: play.runtime.live_text.get(run.id) == half)
    await request_stop(play.runtime, play.viewer, run.id)
    await play.until(lambda run: run.status == "canceled")
    return await keep_text(play.runtime, play.viewer, run.id)


async def test_what_is_kept_of_a_stopped_reply_has_what_was_made_for_it(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel(("The lamp is", asyncio.Event()), ("It is", asyncio.Event()))
    async with profile_story(database_url, tmp_path, model, profile(counting(hook="before"))) as play, play.working():
        await play.say()
        assert (await half_kept(play, "The lamp is")).swipes_count == 1
        assert await play.values() == {"count": 1}
        await regenerate(play.runtime, play.viewer, play.conversation_id)
        assert (await half_kept(play, "It is")).swipes_count == 2
        assert await play.values() == {"count": 1}
        assert told(model)[-2:] == ["Hello?", "1"]


async def test_what_was_typed_is_kept_beside_what_is_told(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel("So be it.")
    async with profile_story(database_url, tmp_path, model, profile(DICE)) as play, play.working():
        await play.turn("I jump.")
        assert told(model)[-1] == "I jump. (rolled 6)"
        assert (await play.messages())[0] == ("user", "I jump.")
        await play.turn("I land.")
        assert [text for text in told(model) if "rolled" in text] == ["I jump. (rolled 6)", "I land. (rolled 6)"]
        await play.again()
        assert told(model)[-1] == "I land. (rolled 6)"


async def test_pages_are_told_what_goes_on_without_what_they_must_not_see(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel("She wants company.", "Sit down.")
    async with profile_story(database_url, tmp_path, model, profile(THOUGHT, counting())) as play:
        async with play.runtime.bus.subscribe(conversation_topic(play.conversation_id)) as news, play.working():
            run = await play.turn()
            items: list[dict[str, Any]] = []
            while not items or items[-1]["pipeline"]["type"] != "pipeline.run.done":
                item = await news.next(unless=asyncio.Event(), within=HANG_SECONDS)
                assert item is not None
                if "pipeline" in item:
                    items.append(item)
        assert {item["for"] for item in items} == {str(run.id)}
        assert [item["pipeline"]["type"] for item in items] == [
            "pipeline.run.started",
            "pipeline.step.started",
            "artifact.updated",
            "pipeline.step.done",
            "pipeline.step.started",
            "artifact.updated",
            "pipeline.step.done",
            "pipeline.run.done",
        ]
        assert "company" not in json.dumps(items)
        async with play.runtime.database.read() as session:
            kinds = list(await session.scalars(select(OutboxEvent.kind).order_by(OutboxEvent.seq)))
        assert kinds.count("artifact.updated") == 1


async def test_a_preview_tells_what_would_be_told(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel("The lamp is lit.")
    async with profile_story(database_url, tmp_path, model, profile(counting())) as play, play.working():
        await play.turn()
        kept = await preview_prompt(play.runtime, play.viewer, play.conversation_id)
        assert [block.content for block in kept.blocks if block.source.get("id") == "art:count@1"] == ["1"]


async def test_what_was_made_by_a_profile_that_is_not_followed_any_more_is_kept_and_not_told(
    database_url: str, tmp_path: Path
) -> None:
    model = ScriptedModel("The lamp is lit.")
    async with profile_story(database_url, tmp_path, model, profile(counting())) as play, play.working():
        await play.turn()
        await play.follow(profile(DICE, pipeline="dice"), name="Dice")
        kept = await preview_prompt(play.runtime, play.viewer, play.conversation_id)
        assert not [block for block in kept.blocks if block.source.get("id") == "art:count@1"]
        await play.turn("And now?")
        assert told(model)[-1] == "And now? (rolled 6)"
        assert await play.values() == {"count": 1}


async def test_steps_count_into_what_the_story_has_used(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel("She wants company.", "Sit down.")
    async with profile_story(database_url, tmp_path, model, profile(THOUGHT)) as play, play.working():
        run = await play.turn()
        (ended,) = await play.pipeline_runs()
        assert ended.report is not None
        (step,) = ended.report["steps"]
        assert step["usage"]["calls"] == 1
        async with play.runtime.database.read() as session:
            conversation = await session.get_one(Conversation, play.conversation_id)
        assert conversation.completion_tokens_total == (run.completion_tokens or 0) + step["usage"]["completion_tokens"]


async def test_an_answer_that_nobody_waited_for_counts_as_far_as_it_had_come(database_url: str, tmp_path: Path) -> None:
    model = ScriptedModel(("She wants", asyncio.Event()), "Sit down.")
    content = profile({**THOUGHT, "timeoutSeconds": 3})
    async with profile_story(database_url, tmp_path, model, content) as play, play.working():
        run = await play.turn()
        (step,) = (await play.pipeline_runs())[0].report["steps"]
        assert step["code"] == "timeout"
        asked, written = (default_estimator().estimate(text) for text in (told(model, 0)[0], "She wants"))
        assert step["usage"] == {"calls": 1, "prompt_tokens": asked, "completion_tokens": written, "cost": None}
        assert await used(play) == ((run.prompt_tokens or 0) + asked, (run.completion_tokens or 0) + written)


async def test_what_a_stopped_step_has_used_counts_and_a_refusal_costs_nothing(
    database_url: str, tmp_path: Path
) -> None:
    refusal = ModelError("The key is not known here.", code="http_error", status=401)
    model = ScriptedModel((asyncio.Event(), "never"), refusal, "Sit down.")
    async with profile_story(database_url, tmp_path, model, profile(THOUGHT)) as play, play.working():
        await play.say()
        run = await play.until(lambda _: bool(model.requests))
        await request_stop(play.runtime, play.viewer, run.id)
        await play.until(lambda run: run.status == "canceled")
        asked = default_estimator().estimate(told(model, 0)[0])
        assert await used(play) == (asked, 0)
        run = await play.turn()
        stopped, refused = ((each.report or {})["steps"][0] for each in await play.pipeline_runs())
        assert (stopped["status"], stopped["usage"]["calls"]) == ("aborted", 1)
        assert (refused["status"], refused["usage"]["calls"]) == ("error", 0)
        assert await used(play) == (asked + (run.prompt_tokens or 0), run.completion_tokens)


async def test_what_a_provider_says_that_a_step_cost_is_shown_with_it(sqlite_url: str, tmp_path: Path) -> None:
    figures = Finished(reason="stop", prompt_tokens=70, completion_tokens=4, cost=0.25)
    model = ScriptedModel(("She wants company.", figures), "Sit down.")
    async with profile_story(sqlite_url, tmp_path, model, profile(THOUGHT)) as play, play.working():
        run = await play.turn()
        (step,) = (await play.pipeline_runs())[0].report["steps"]
        assert step["usage"] == {"calls": 1, "prompt_tokens": 70, "completion_tokens": 4, "cost": 0.25}
        async with api_client(play.runtime, play.user_id) as client:
            assert "74 tokens · $0.2500 · " in (await client.get(f"{ORIGIN}/runs/{run.id}?tab=reply")).text


async def used(play: ProfileStory) -> tuple[int, int]:
    """What the whole story has used."""
    async with play.runtime.database.read() as session:
        story = await session.get_one(Conversation, play.conversation_id)
    return story.prompt_tokens_total, story.completion_tokens_total
