"""Runs: who sees what and when, what is committed, how a run ends."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from tests.artifacts.builders import NOW, SESSION, artifact
from tests.artifacts.pipelines.builders import (
    Theatre,
    again,
    context,
    counter,
    fleeting,
    kept,
    pipeline,
    play,
    profile,
    reports,
    statuses,
    step,
)

from tavernkit.artifacts import ArtifactWrite, Writer
from tavernkit.artifacts.pipelines import (
    TERMINAL_EVENTS,
    MemoryJournal,
    ModelRequest,
    PipelineRunner,
    RunContext,
    StepRecord,
    idempotency_key,
    read_from,
    reserve_tags,
)
from tavernkit.errors import ArtifactPolicyError, RunInProgress, StepFailed
from tavernkit.values import Json


async def somebody_writes(theatre: Theatre, tag: str, content: Json, base: int | None, pipeline: str = "p") -> None:
    write = ArtifactWrite(
        artifact=artifact(tag, content_type="json"),
        content=content,
        based_on_version=base,
        writer=Writer(pipeline=pipeline),
        permissions=frozenset({"artifact_write"}),
        now=NOW,
    )
    await theatre.store.write(write)


class TestSeeing:
    def test_pitfall_15_a_step_sees_the_work_of_everything_it_depends_on_not_only_directly(self) -> None:
        used = profile(
            step("a", template="A", artifacts=[kept("a"), fleeting("x")]),
            step("b", template="B", dependsOn=["a"]),
            step("c", template="{{ art.a.value }}{{ run.x }}", dependsOn=["b"], artifacts=[fleeting("y")]),
        )
        assert play(context(used))[0].view.run_values()["y"] == "AA"

    def test_g18_others_see_it_only_after_the_barrier(self) -> None:
        used = profile(
            pipeline(step("a", template="A", artifacts=[kept("a"), fleeting("x")], order=-1), id="one"),
            pipeline(
                step("b", template="[{{ art.a.value }}{{ run.x }}]", artifacts=[fleeting("early")]),
                step("c", hook="after", template="[{{ art.a.value }}{{ run.x }}]", artifacts=[kept("late")]),
                id="two",
            ),
        )
        theatre = Theatre()
        barrier, _ = play(context(used), theatre)
        assert barrier.view.run_values()["early"] == "[]"
        assert barrier.view["a"].value == "A"
        assert asyncio.run(theatre.view())["late"].value == "[AA]"

    def test_r34_a_state_step_reads_messages_its_value_its_history_and_others_and_knows_its_base(self) -> None:
        template = (
            '{"said": "{{ reply }}", "was": {{ art.count.value.n | default: 0 }}, "n": {{ turn }}, '
            '"before": {{ art.count.history | map: "n" | json }}}'
        )
        used = profile(step("s", hook="after", template=template, artifacts=[kept("count", contentType="json")]))
        theatre = Theatre()
        for turn in (1, 2, 3):
            _, report = play(context(used, turn), theatre, f"Reply {turn}.")
        assert asyncio.run(theatre.view())["count"].value == {"said": "Reply 3.", "was": 2, "n": 3, "before": [1]}
        wrote = reports(report)["s"].wrote[0]
        assert (wrote["basedOnVersion"], wrote["version"]) == (2, 3)

    def test_r30_everybody_may_read(self) -> None:
        theatre = Theatre()
        play(context(profile(pipeline(counter(), id="one"))), theatre)
        reader = profile(pipeline(step("a", template="{{ art.count.value }}", artifacts=[fleeting("x")]), id="two"))
        barrier, report = play(context(reader, 2), theatre)
        assert barrier.view.run_values()["x"] == "1"
        assert reports(report)["a"].read == ({"tag": "count", "version": 1, "kind": "any"},)

    def test_g17_a_regeneration_reads_the_state_before_its_turn_and_does_not_tick_twice(self) -> None:
        theatre, used = Theatre(), profile(counter())
        for about in (context(used, 1), context(used, 2), again(used, 2, 1), again(used, 2, 2)):
            _, report = play(about, theatre)
        latest = asyncio.run(theatre.view())["count"]
        assert (latest.value, latest.current.version, latest.current.based_on_version) == (2, 4, 3)
        assert latest.current.variant_id == "variant-2-2"
        assert report.status == "done"

    def test_g17_after_the_barrier_a_regeneration_sees_what_it_has_made_itself(self) -> None:
        used = profile(
            step("a", template="{{ trigger }}", artifacts=[kept("a")]),
            step("b", hook="after", template="{{ art.a.value }}", artifacts=[kept("b")]),
        )
        theatre = Theatre()
        play(context(used), theatre)
        barrier, _ = play(again(used, 1), theatre)
        assert barrier.view["a"].value == "regenerate"
        assert asyncio.run(theatre.view())["b"].value == "regenerate"

    def test_pitfall_8_an_edited_profile_finds_its_state_again(self) -> None:
        theatre, used = Theatre(), profile(counter())
        play(context(used, 1), theatre)
        play(context(used.with_(version=2, name="Renamed"), 2), theatre)
        assert asyncio.run(theatre.view())["count"].value == 2


class TestCommitting:
    def test_only_what_is_done_is_committed_and_the_report_says_so(self) -> None:
        used = profile(
            step("a", "llm", hook="after", artifacts=[kept("a")]),
            step("b", hook="after", artifacts=[kept("b")]),
            step("c", hook="after", dependsOn=["a"], artifacts=[kept("c")]),
        )
        theatre = Theatre({"p/a": StepFailed("No answer came.", code="provider_error")})
        _, report = play(context(used), theatre)
        assert {one.step: one.commit for one in report.steps} == {"a": "nothing", "b": "committed", "c": "nothing"}
        assert list(asyncio.run(theatre.view()).art()) == ["b"]
        assert (reports(report)["a"].code, reports(report)["a"].message) == ("provider_error", "No answer came.")
        assert report.status == "done", "none of them was required"

    def test_g13_the_base_is_what_the_step_has_read_and_a_conflict_is_reported(self) -> None:
        theatre = Theatre()

        async def overtaken(_: ModelRequest) -> str:
            await somebody_writes(theatre, "count", 7, None)
            return "1"

        theatre = Theatre({"p/tick": overtaken})
        slow = {**counter(required=True), "kind": "llm", "prompt": "Count.", "output": "json"}
        follower = step("f", hook="after", dependsOn=["tick"], artifacts=[kept("f")])
        used = profile(slow, follower)
        _, report = play(context(used), theatre)
        tick = reports(report)["tick"]
        assert (tick.status, tick.commit, tick.code) == ("error", "rejected", "artifact_conflict")
        assert reports(report)["f"].reason == "dependency_failed", "it was worked out from what was refused"
        assert (report.status, report.failed_type) == ("error", "after_main_llm")
        assert asyncio.run(theatre.view()).art()["count"]["value"] == 7
        ends = {event.step: event.data for event in theatre.events if event.type == "pipeline.step.done"}
        assert ends["tick"]["committed"] is False, "pitfall 12: what was refused is not told as applied"

    def test_pitfall_15_the_writes_of_one_step_are_all_done_or_none(self) -> None:
        theatre = Theatre()
        asyncio.run(somebody_writes(theatre, "b", 1, None, pipeline="other"))
        both = [kept("a"), kept("b")]
        _, report = play(context(profile(step("s", hook="after", artifacts=both))), theatre)
        assert (reports(report)["s"].commit, reports(report)["s"].code) == ("rejected", "artifact_policy_error")
        assert list(asyncio.run(theatre.view()).art()) == ["b"]

    def test_a_required_step_whose_tag_is_anothers_fails_and_the_main_call_is_made(self) -> None:
        theatre = Theatre()
        asyncio.run(somebody_writes(theatre, "mood", 1, None, pipeline="other"))
        steps = [
            step("s", artifacts=[kept("mood")], required=True),
            step("t", artifacts=[kept("sky")], dependsOn=["s"], required=True),
        ]
        barrier, report = play(context(profile(*steps)), theatre)
        assert barrier.is_open
        assert report.status == "done"
        assert reports(report)["s"].code == "artifact_policy_error"
        assert reports(report)["s"].message == (
            "art.mood belongs to the pipeline 'other'; 'p' cannot write it. "
            "Give the artifact another tag in one of the two."
        )
        assert reports(report)["t"].reason == "dependency_failed"

    def test_r31_a_foreign_tag_is_refused_when_the_profile_is_switched_on(self) -> None:
        theatre = Theatre()
        one, two = (profile(pipeline(counter(), id=id)) for id in ("one", "two"))

        async def switch_on() -> None:
            await reserve_tags(one, SESSION, store=theatre.store, ids=lambda: "a")
            await reserve_tags(one.with_(version=2), SESSION, store=theatre.store, ids=lambda: "b")
            with pytest.raises(ArtifactPolicyError, match="belongs to the pipeline 'one'"):
                await reserve_tags(two, SESSION, store=theatre.store, ids=lambda: "c")

        asyncio.run(switch_on())

    def test_r47_a_step_says_what_it_read_and_wrote_without_repeating_it(self) -> None:
        secret = step("s", hook="after", template="{{ art.count.value }} secret", artifacts=[kept("note", kind="note")])
        theatre, used = Theatre(), profile(counter(), secret)
        play(context(used, 1), theatre)
        _, report = play(context(used, 2), theatre)
        wrote = reports(report)["s"].wrote[0]
        assert (wrote["tag"], wrote["kind"], wrote["session"]) == ("note", "note", SESSION.session_id)
        assert (wrote["basedOnVersion"], wrote["version"]) == (1, 2)
        assert reports(report)["s"].read == ({"tag": "count", "version": 1, "kind": "any"},)
        assert reports(report)["tick"].wrote[0]["change"] == "1 change"
        assert b"secret" not in msgspec.json.encode(report)

    def test_r47_whoever_takes_all_of_art_has_read_each_of_it(self) -> None:
        theatre = Theatre()
        play(context(profile(counter(), step("s", hook="after", artifacts=[kept("note")]))), theatre)
        whole = step("all", "transform", source="art", patch=[{"op": "remove", "path": "/note"}])
        loop = step("loop", template="{% for one in art %}{{ one[0] }}{% endfor %}")
        _, report = play(
            context(profile(whole, loop, step("none"), step("one", template="{{ art.note }}")), 2), theatre
        )
        read = {id: [note["tag"] for note in step.read] for id, step in reports(report).items()}
        assert read == {"all": ["count", "note"], "loop": ["count", "note"], "none": [], "one": ["note"]}

    def test_r38_pitfall_3_what_is_ephemeral_leaves_a_hash_and_nothing_else(self) -> None:
        thought = fleeting("t", visibility="prompt_only", promptInclusion={"mode": "append_after_last_user"})
        theatre, used = Theatre({"p/a": "a secret thought"}), profile(step("a", "llm", artifacts=[thought]))
        about = context(used)
        barrier, report = play(about, theatre)
        assert [one.versions[-1].content for one in barrier.candidates] == ["a secret thought"]
        assert asyncio.run(theatre.store.load(SESSION)) == ()
        assert reports(report)["a"].wrote[0]["hash"].startswith("sha256:")
        kept_by_journal = asyncio.run(theatre.journal.open(about))
        assert "secret" not in repr((kept_by_journal, theatre.events))

    def test_r22_reasoning_is_for_people_and_never_in_the_prompt(self) -> None:
        used = profile(step("a", artifacts=[kept("why", kind="reasoning")]))
        barrier, _ = play(context(used))
        assert barrier.view["why"].artifact.visibility == "ui_only"
        assert barrier.candidates == ()

    def test_r18_candidates_stand_in_the_order_of_the_profile(self) -> None:
        told = {"visibility": "prompt_only", "promptInclusion": {"mode": "prepend_system"}}
        used = profile(
            pipeline(step("z", artifacts=[fleeting("z", **told)], order=-1), step("a", artifacts=[kept("a", **told)])),
            pipeline(step("b", artifacts=[fleeting("b", **told)]), id="q"),
        )
        candidates = play(context(used))[0].candidates
        assert {one.artifact.tag: one.order for one in candidates} == {"z": (0, 0), "a": (0, 1), "b": (1, 0)}

    def test_what_another_profile_has_left_behind_is_read_and_not_told(self) -> None:
        told = {"visibility": "prompt_and_ui", "promptInclusion": {"mode": "prepend_system"}}
        theatre = Theatre()
        play(context(profile(step("old", artifacts=[kept("old", **told)]))), theatre)
        other = profile(pipeline(step("new", artifacts=[kept("new", **told)]), id="q"))
        barrier, _ = play(context(other, run_id="second", turn=2), theatre)
        assert [one.artifact.tag for one in barrier.candidates] == ["new"]
        assert "old" in barrier.view


class TestGating:
    def test_a_required_failure_keeps_the_main_call_from_being_made_and_g18_nothing_is_left_of_the_hook(self) -> None:
        used = profile(step("a", "llm", required=True), step("b", artifacts=[kept("b")]))
        theatre = Theatre({"p/a": StepFailed("No answer came.", code="provider_error")})
        barrier, report = play(context(used), theatre)
        assert not barrier.is_open
        assert (report.status, report.failed_type) == ("error", "before_barrier")
        assert report.message == "The required step p/a failed: No answer came."
        assert reports(report)["b"].commit == "withheld"
        assert asyncio.run(theatre.view()).art() == {}

    def test_an_optional_failure_does_not(self) -> None:
        barrier, report = play(context(profile(step("a", "llm"))), Theatre({"p/a": ValueError()}))
        assert (barrier.is_open, report.status) == (True, "done")

    def test_a_required_failure_after_the_call_fails_the_run_and_takes_nothing_back(self) -> None:
        used = profile(step("a", "llm", hook="after", required=True), counter())
        theatre = Theatre({"p/a": ValueError()})
        _, report = play(context(used), theatre)
        assert (report.status, report.failed_type) == ("error", "after_main_llm")
        assert asyncio.run(theatre.view())["count"].value == 1

    def test_pitfall_9_a_required_step_that_was_not_to_run_has_not_failed(self) -> None:
        used = profile(
            step("g", "guard", template="false"),
            step("a", required=True, dependsOn=["g"], runConditions=[{"guard": "g"}]),
            step("rare", everyNTurns=5),
            step("b", required=True, dependsOn=["rare"]),
            step("off", enabled=False),
            step("c", required=True, dependsOn=["off"]),
        )
        barrier, report = play(context(used))
        assert barrier.is_open
        assert statuses(report) == {
            "g": "done", "a": "guard_not_matched", "rare": "not_due", "b": "dependency_skipped", "off": "disabled",
            "c": "dependency_skipped",
        }  # fmt: skip

    def test_a_required_step_whose_dependency_has_failed_has_failed_too(self) -> None:
        used = profile(step("a", "llm"), step("b", required=True, dependsOn=["a"]))
        barrier, report = play(context(used), Theatre({"p/a": ValueError()}))
        assert (barrier.is_open, statuses(report)["b"]) == (False, "dependency_failed")

    def test_triggers_and_chosen_pipelines_decide_what_runs(self) -> None:
        used = profile(
            pipeline(step("a"), id="one", triggers=["user_message"]),
            pipeline(step("b"), id="two", triggers=["manual", "regenerate"]),
            pipeline(step("c"), id="three", triggers=["manual"]),
            pipeline(step("d"), id="four", enabled=False),
        )
        assert list(statuses(play(context(used))[1])) == ["a"]
        assert list(statuses(play(again(used, 1))[1])) == ["b"]
        assert list(statuses(play(context(used, trigger="manual"))[1])) == ["b", "c"]
        chosen = context(used, trigger="manual", pipelines=frozenset({"three"}))
        assert list(statuses(play(chosen)[1])) == ["c"]


class TestIntervals:
    RARE = profile(step("a", "llm", hook="after", everyNTurns=3))

    def ran(self, theatre: Theatre, about: RunContext) -> bool:
        return statuses(play(about, theatre)[1])["a"] == "done"

    def test_every_n_turns_counts_turns_of_the_user(self) -> None:
        theatre = Theatre()
        assert [turn for turn in range(1, 10) if self.ran(theatre, context(self.RARE, turn))] == [3, 6, 9]

    def test_pitfall_10_a_regeneration_decides_as_its_turn_did_and_uses_up_nothing(self) -> None:
        theatre, ran = Theatre(), []
        for turn in range(1, 7):
            ran += [
                self.ran(theatre, context(self.RARE, turn)),
                *(self.ran(theatre, again(self.RARE, turn, n)) for n in (1, 2)),
            ]
        assert ran == [False] * 6 + [True] * 3 + [False] * 6 + [True] * 3

    def test_pitfall_10_every_turn_is_every_turn_also_for_regenerations(self) -> None:
        theatre, used = Theatre(), profile(step("a", "llm", hook="after", everyNTurns=1))
        assert all(self.ran(theatre, about) for about in (context(used, 1), again(used, 1, 1), again(used, 1, 2)))

    def test_pitfall_10_a_failure_does_not_use_up_the_interval(self) -> None:
        theatre = Theatre({"p/a": [ValueError(), "fine", "fine"]})
        assert [self.ran(theatre, context(self.RARE, turn)) for turn in range(1, 8)] == [
            False, False, False, True, False, False, True,
        ]  # fmt: skip

    def test_what_somebody_asks_for_does_not_wait_for_its_turn(self) -> None:
        used = profile(pipeline(step("a", everyNTurns=9), triggers=["manual"]))
        assert self.ran(Theatre(), context(used, trigger="manual"))


class TestEnding:
    def test_r20_r21_events_are_numbered_and_an_artifact_is_told_once_and_whole_after_its_step(self) -> None:
        theatre = Theatre()
        play(context(profile(step("a", template="A"), counter())), theatre)
        assert theatre.types() == [
            "pipeline.run.started", "pipeline.step.started", "pipeline.step.done", "pipeline.step.started",
            "artifact.updated", "pipeline.step.done", "pipeline.run.done",
        ]  # fmt: skip
        assert [event.seq for event in theatre.events] == list(range(1, 8))

    def test_g22_pitfall_4_what_people_must_not_see_is_not_in_events_and_errors_are(self) -> None:
        hidden = kept("h", visibility="prompt_only", promptInclusion={"mode": "prepend_system"})
        used = profile(
            step("a", template="a secret", artifacts=[hidden, fleeting("x", visibility="internal")]),
            step("b", template="for all", artifacts=[kept("b", visibility="ui_only")]),
            step("c", "llm"),
        )
        theatre = Theatre({"p/c": StepFailed("The model is away.", code="provider_error")})
        play(context(used), theatre)
        told = [event.data for event in theatre.events if event.type == "artifact.updated"]
        assert [data.get("content") for data in told] == [None, None, "for all"]
        assert [set(data["redacted"]) for data in told[:2]] == [{"hash", "length"}] * 2
        assert "secret" not in repr(theatre.events)
        ends = {event.step: event.data for event in theatre.events if event.type == "pipeline.step.done"}
        assert (ends["c"]["code"], ends["c"]["message"]) == ("provider_error", "The model is away.")

    @pytest.mark.parametrize("hook", ["before", "after"])
    def test_pitfall_9_an_abort_is_an_abort_whatever_was_required_and_nothing_stays_at_work(self, hook: str) -> None:
        used = profile(
            step("a", "llm", hook, required=True),
            step("b", hook=hook, artifacts=[kept("b")]),
            step("c", hook=hook, dependsOn=["a"]),
        )
        cancelled: list[str] = []

        async def pressed(request: ModelRequest) -> str:
            theatre.abort.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.append(request.step)
            return ""

        theatre = Theatre({"p/a": pressed})
        _, report = play(context(used), theatre)
        assert (report.status, statuses(report)) == ("aborted", {"a": "aborted", "b": "done", "c": "run_aborted"})
        assert cancelled == ["p/a"]
        assert asyncio.run(theatre.view()).art() == {}
        assert [type for type in theatre.types() if type in TERMINAL_EVENTS] == ["pipeline.run.aborted"]

    def test_pitfall_12_there_is_exactly_one_end_whatever_is_called_afterwards(self) -> None:
        async def insist() -> list[str]:
            theatre = Theatre()
            run = theatre.run(context(profile(counter())))
            await run.before()
            first = await run.stop("The provider is away.")
            assert (first.status, first.failed_type) == ("error", "main_llm")
            assert [await run.after("late"), await run.stop()] == [first, first]
            return theatre.types()

        types = asyncio.run(insist())
        assert [type for type in types if type in TERMINAL_EVENTS] == [types[-1]] == ["pipeline.run.error"]

    def test_stopping_the_main_call_aborts_the_run(self) -> None:
        async def stop() -> str:
            run = Theatre().run(context(profile(counter())))
            await run.before()
            return (await run.stop()).status

        assert asyncio.run(stop()) == "aborted"

    def test_a_run_begins_with_before(self) -> None:
        with pytest.raises(ValueError, match="begins with before"):
            asyncio.run(Theatre().run(context(profile())).after())
        with pytest.raises(ValueError, match="begins with before"):
            asyncio.run(Theatre().run(context(profile())).stop("No."))

    def test_a_run_that_broke_before_the_main_call_can_still_be_ended_with_a_sentence(self) -> None:
        class Full(MemoryJournal):
            async def record(self, context: RunContext, record: StepRecord) -> None:
                if record.step == "b":
                    raise OSError("no room")
                await super().record(context, record)

        async def fails() -> None:
            theatre = Theatre()
            theatre.journal = Full(theatre.store)
            run = theatre.run(context(profile(step("a"), step("b", dependsOn=["a"]), step("c", dependsOn=["b"]))))
            with pytest.raises(OSError, match="no room"):
                await run.before()
            report = await run.stop("The disk is full.")
            assert (report.status, report.failed_type, report.message) == (
                "error",
                "before_barrier",
                "The disk is full.",
            )
            assert statuses(report) == {"a": "done", "b": "run_aborted", "c": "run_aborted"}
            assert [type for type in theatre.types() if type in TERMINAL_EVENTS] == ["pipeline.run.error"]

        asyncio.run(fails())

    def test_pitfall_14_whoever_came_second_cannot_end_the_run_of_the_first(self) -> None:
        async def meddle() -> str:
            theatre, used = Theatre(), profile(step("a"))
            first, second = theatre.run(context(used)), theatre.run(context(used, run_id="another"))
            await first.before()
            with pytest.raises(RunInProgress):
                await second.before()
            with pytest.raises(ValueError, match="begins with before"):
                await second.stop("Not mine.")
            return (await first.after("Yes.")).status

        assert asyncio.run(meddle()) == "done"

    def test_pitfall_14_a_request_that_is_repeated_is_answered_and_not_run_again(self) -> None:
        theatre, used = Theatre(), profile(step("a", "llm"), counter())
        _, first = play(context(used), theatre)
        told = len(theatre.events)
        barrier, second = play(context(used, run_id="another"), theatre)
        assert (barrier.is_open, second) == (False, first)
        assert (theatre.asked, len(theatre.events)) == (["p/a"], told)

    def test_pitfall_14_while_it_is_under_way_the_second_is_told_of_the_first(self) -> None:
        async def twice() -> None:
            theatre, used = Theatre(), profile(step("a"))
            await theatre.run(context(used)).before()
            with pytest.raises(RunInProgress) as refused:
                await theatre.run(context(used, run_id="another")).before()
            assert refused.value.run_id == "run-1"

        asyncio.run(twice())

    def test_keys_are_made_of_what_was_asked(self) -> None:
        assert idempotency_key("regenerate", "m7", "r1") == "regenerate:m7:r1"

    def test_a_step_that_cancels_itself_has_failed(self) -> None:
        async def gives_up(_: ModelRequest) -> str:
            raise asyncio.CancelledError

        _, report = play(context(profile(step("a", "llm"))), Theatre({"p/a": gives_up}))
        assert reports(report)["a"].code == "cancelled"

    def test_what_is_at_work_is_ended_when_nobody_waits_for_it_any_more(self) -> None:
        ended: list[str] = []

        async def lingers(request: ModelRequest) -> str:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(request.step)
            return ""

        async def leave() -> list[str]:
            theatre = Theatre({"p/a": lingers})
            waiting = asyncio.ensure_future(theatre.run(context(profile(step("a", "llm")))).before())
            while not theatre.calls:
                await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            return theatre.types()

        types = asyncio.run(leave())
        assert ended == ["p/a"]
        assert not set(types) & set(TERMINAL_EVENTS), "somebody else takes the run up and ends it"

    def test_steps_that_wait_for_each_other_cannot_hold_up_a_run_that_nobody_has_checked(self) -> None:
        used = profile(step("a"), step("b", dependsOn=["a"]))
        (one,) = used.pipelines
        circle = used.with_(pipelines=(one.with_(steps=(one.steps[0].with_(depends_on=("b",)), one.steps[1])),))
        assert statuses(play(context(circle))[1]) == {"a": "dependency_failed", "b": "dependency_failed"}

    def test_nobody_need_listen(self) -> None:
        async def alone() -> str:
            theatre = Theatre()
            run = PipelineRunner(
                context(profile(counter())),
                read=read_from(theatre.store),
                journal=theatre.journal,
                call=theatre.call,
                clock=lambda: NOW,
                ids=lambda: "id",
            )
            await run.before()
            return (await run.after()).status

        assert asyncio.run(alone()) == "done"

    def test_a_dry_run_shows_inputs_and_outputs_while_it_is_open(self) -> None:
        async def look() -> StepRecord:
            theatre = Theatre({"p/a": "Fine."})
            about = context(profile(step("a", "llm", prompt="{{ lastUserMessage }}")))
            await theatre.run(about).before()
            assert isinstance(theatre.journal, MemoryJournal)
            return theatre.journal.records(about)[0]

        record = asyncio.run(look())
        assert (record.input, record.value) == ([{"role": "user", "content": "I can wait."}], "Fine.")
        assert msgspec.json.decode(msgspec.json.encode(record), type=StepRecord) == record
