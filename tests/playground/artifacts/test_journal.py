"""The journal of a run: a step's output and its writes are there together, or not at all, and only by who may."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from tavernkit.artifacts import Artifact, ArtifactWrite, Retention, Writer
from tavernkit.artifacts.pipelines import (
    ModelAnswer,
    ModelRequest,
    ModelUsage,
    PipelineRunner,
    Profile,
    RunContext,
    RunReport,
    StepPipeline,
    StepRecord,
    StepReport,
    TemplateStep,
    read_from,
    read_profile,
)
from tavernkit.errors import ArtifactConflict
from tavernkit.playground.base.database.models import (
    ArtifactArchive,
    Conversation,
    PipelineProfile,
    PipelineRun,
    PipelineStepRun,
    Run,
)
from tavernkit.playground.story.artifacts.journal import DatabaseJournal, RunTakenError
from tavernkit.playground.story.artifacts.path import session_of
from tavernkit.playground.story.runs.service import Claim
from tests.playground.artifacts.database_store import DatabaseArtifactStore
from tests.playground.stories import Story, claim_run, open_story

pytestmark = pytest.mark.anyio

STEPS = (
    TemplateStep(id="think", template="{{ now }}", hook="before"),
    TemplateStep(id="look", template="{{ now }}", hook="after"),
    TemplateStep(id="tick", template="{{ now }}", hook="after", every_n_turns=3),
)


class Working:
    """A worker with a claim on a run, and what its pipelines are about."""

    def __init__(self, story: Story, claim: Claim, context: RunContext) -> None:
        self.story = story
        self.claim = claim
        self.context = context

    @property
    def journal(self) -> DatabaseJournal:
        return DatabaseJournal(self.story.runtime, self.claim)

    async def taken_over(self) -> Working:
        """Another worker, which has the run now."""
        newer = self.claim.with_(fence=self.claim.fence + 1)
        async with self.story.runtime.database.write() as session:
            await session.execute(update(Run).where(Run.id == self.claim.run_id).values(fence=newer.fence))
        return Working(self.story, newer, self.context)

    def record(self, step: str = "tick", **fields: Any) -> StepRecord:
        now = self.story.runtime.clock()
        usual = {"status": "done", "value": {"hour": 8}, "input": "a secret prompt", "usage": ModelUsage(calls=1)}
        return StepRecord(pipeline="world", step=step, started_at=now, ended_at=now, **{**usual, **fields})

    def write(self, base: int | None = None, **fields: Any) -> ArtifactWrite:
        state = {"kind": "state", "content_type": "json", **fields}
        return ArtifactWrite(
            artifact=Artifact(id="a", session=self.context.session, **{"tag": "state", **state}),
            content={"hour": 8},
            based_on_version=base,
            writer=Writer(pipeline="world", step="tick"),
            permissions=frozenset({"state_write"}),
            now=self.story.runtime.clock(),
            turn=self.context.turn,
        )

    def report(self, **fields: Any) -> RunReport:
        told = StepReport(pipeline="world", step="tick", kind="template", hook="after", status="done", commit="nothing")
        about = self.context
        return RunReport(
            run_id=about.run_id, idempotency_key=about.idempotency_key, profile_id=about.profile.id, profile_version=1,
            trigger=about.trigger, turn=about.turn, status="done", steps=(told,), **fields,
        )  # fmt: skip

    async def steps(self) -> list[PipelineStepRun]:
        async with self.story.runtime.database.read() as session:
            return list(await session.scalars(select(PipelineStepRun).order_by(PipelineStepRun.position)))


async def working(story: Story, *, turn: int = 1) -> Working:
    """A worker that has taken the run of a new message."""
    runtime, now = story.runtime, story.runtime.clock()
    await story.say()
    claim = await claim_run(runtime, "w1")
    assert claim is not None
    row = PipelineProfile(id=runtime.ids(), name=str(runtime.ids()), created_at=now, updated_at=now)
    async with runtime.database.write() as session:
        session.add(row)
        place = await session_of(session, story.conversation_id)
    context = RunContext(
        run_id=str(runtime.ids()),
        idempotency_key=f"user_message:{claim.run_id}",
        trigger="user_message",
        profile=Profile(id=str(row.id), pipelines=(StepPipeline(id="world", steps=STEPS),)),
        session=place,
        turn=turn,
        now=now,
        seed="",
        turn_id=str(runtime.ids()),
        variant_id=str(runtime.ids()),
    )
    return Working(story, claim, context)


async def test_r47_a_step_and_its_writes_are_committed_together(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        worker = await working(story)
        await worker.journal.open(worker.context)
        await worker.journal.record(worker.context, worker.record())
        one = Retention(mode="windowed", max_versions=1)
        writes = (worker.write(retention=one), worker.write(1, retention=one), worker.write(tag="other"))
        commits = await worker.journal.commit(worker.context, worker.record(), writes)
        assert [commit.version.version for commit in commits] == [1, 2, 1]
        (step,) = await worker.steps()
        assert (step.status, step.hook, step.position) == ("done", "after", 2)
        state = await (await worker.taken_over()).journal.open(worker.context)
        assert [record.committed for record in state.records] == [{"state": 2, "other": 1}]
        async with story.runtime.database.read() as session:
            archive = (await session.scalars(select(ArtifactArchive))).one()
        assert (str(archive.run_id), archive.step_run_id) == (worker.context.run_id, step.id)


async def test_pitfall_15_a_step_of_which_one_write_is_refused_writes_nothing(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path) as story:
        worker = await working(story)
        await worker.journal.open(worker.context)
        await worker.journal.record(worker.context, worker.record())
        with pytest.raises(ArtifactConflict):
            await worker.journal.commit(worker.context, worker.record(), (worker.write(), worker.write(7, tag="other")))
        store = DatabaseArtifactStore(story.runtime.database, ids=str)
        assert await store.load(worker.context.session) == ()
        failed = worker.record(status="error", code="artifact_conflict", message="Somebody was faster.")
        await worker.journal.record(worker.context, failed)
        (step,) = await worker.steps()
        assert (step.status, step.error) == (
            "error", {"code": "artifact_conflict", "message": "Somebody was faster."}
        )  # fmt: skip


async def test_who_has_lost_the_run_writes_nothing(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        worker = await working(story)
        await worker.journal.open(worker.context)
        await worker.taken_over()
        about = worker.context
        for doing in (
            worker.journal.open(about),
            worker.journal.record(about, worker.record()),
            worker.journal.commit(about, worker.record(), (worker.write(),)),
            worker.journal.close(about, worker.report()),
        ):
            with pytest.raises(RunTakenError):
                await doing
        assert await worker.steps() == []
        assert await DatabaseArtifactStore(story.runtime.database, ids=str).load(about.session) == ()
        async with story.runtime.database.read() as session:
            assert (await session.scalars(select(PipelineRun.status))).one() == "running"


async def test_what_was_used_for_a_run_that_is_anothers_now_counts_into_the_story(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path) as story:
        worker = await working(story)
        await worker.journal.open(worker.context)
        await worker.taken_over()
        usage = ModelUsage(calls=1, prompt_tokens=30, completion_tokens=4)
        with pytest.raises(RunTakenError):
            await worker.journal.record(worker.context, worker.record(usage=usage))
        async with story.runtime.database.read() as session:
            told = await session.get_one(Conversation, story.conversation_id)
        assert (told.prompt_tokens_total, told.completion_tokens_total) == (30, 4)


async def test_a_run_that_is_taken_up_again_finds_its_steps(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        worker = await working(story)
        begun = await worker.journal.open(worker.context)
        assert (begun.attempt, begun.records) == (1, ())
        done = [worker.record("look", value="\ud83c broken"), worker.record("think", bases={"state": None})]
        for record in done:
            await worker.journal.record(worker.context, record)
        again = await (await worker.taken_over()).journal.open(worker.context)
        assert (again.run_id, again.attempt, again.report) == (worker.context.run_id, 2, None)
        assert list(again.records) == done[::-1]


async def test_pitfall_14_a_request_that_comes_again_is_answered_with_its_run(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path) as story:
        worker = await working(story)
        await worker.journal.open(worker.context)
        other = worker.context.with_(run_id=str(story.runtime.ids()))
        assert (await worker.journal.open(other)).run_id == worker.context.run_id
        report = worker.report(message="Well.")
        await worker.journal.close(worker.context, report)
        ended = await worker.journal.open(other)
        assert (ended.run_id, ended.report, ended.records) == (worker.context.run_id, report, ())


async def test_r38_what_steps_made_is_forgotten_when_the_run_ends_and_their_logs_stay(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path) as story:
        worker = await working(story)
        await worker.journal.open(worker.context)
        await worker.journal.record(worker.context, worker.record(value="a secret thought"))
        await worker.journal.close(worker.context, worker.report())
        (step,) = await worker.steps()
        assert (step.output, step.log["step"], step.log["commit"]) == (None, "tick", "nothing")
        async with story.runtime.database.read() as session:
            run = await session.get_one(PipelineRun, step.pipeline_run_id)
        assert (run.status, run.finished_at is not None) == ("done", True)
        assert (str(run.message_id), str(run.swipe_id)) == (worker.context.turn_id, worker.context.variant_id)


async def test_a_run_knows_when_each_step_was_last_done(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        worker = await working(story, turn=1)
        for turn, steps in ((1, ("think", "look")), (2, ("look", "tick")), (3, ("look",)), (4, ())):
            (told,) = await story.narrate(f"Line {turn}.")
            about = worker.context.with_(
                turn=turn,
                run_id=str(story.runtime.ids()),
                idempotency_key=f"user_message:{turn}",
                turn_id=str(told.id),
                variant_id=str(told.active_swipe_id),
            )
            known = await worker.journal.open(about)
            if turn == 4:
                # No step looks further back than three turns.
                assert known.last_done == {"world/think": 1, "world/look": 3, "world/tick": 2}
                break
            for step in steps:
                await worker.journal.record(about, worker.record(step))
            await worker.journal.close(about, worker.report(message=None))


async def test_a_run_goes_on_at_another_worker_without_asking_the_model_again(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path) as story:
        worker = await working(story)
        thinking = {
            "id": worker.context.profile.id,
            "pipelines": [
                {
                    "id": "world",
                    "permissions": ["artifact_write"],
                    "steps": [
                        {"id": "think", "hook": "before", "kind": "llm", "prompt": "What now?",
                         "artifacts": [{"tag": "plan", "visibility": "prompt_only"}]},
                        {"id": "tell", "hook": "after", "kind": "template", "template": "{{ art.plan.value }}!",
                         "artifacts": [{"tag": "told", "visibility": "ui_only"}]},
                    ],
                }
            ],
        }  # fmt: skip
        about = worker.context.with_(profile=read_profile(thinking))
        asked: list[ModelRequest] = []

        async def answer(request: ModelRequest) -> ModelAnswer:
            asked.append(request)
            return ModelAnswer(text="Wait for the tide")

        def ids() -> str:
            return str(story.runtime.ids())

        def run_of(someone: Working) -> PipelineRunner:
            store = DatabaseArtifactStore(story.runtime.database, ids=ids)
            return PipelineRunner(
                about, read=read_from(store), journal=someone.journal, call=answer, clock=story.runtime.clock, ids=ids
            )

        killed = run_of(worker)
        assert (await killed.before()).is_open
        other = run_of(await worker.taken_over())
        assert (await other.before()).is_open
        with pytest.raises(RunTakenError):
            await killed.after("It is dark.")
        report = await other.after("It is dark.")
        assert (report.status, [step.commit for step in report.steps]) == ("done", ["committed", "committed"])
        assert len(asked) == 1
        plan, told = await DatabaseArtifactStore(story.runtime.database, ids=ids).load(about.session)
        assert [item.content for item in plan.versions] == ["Wait for the tide"]
        assert [item.content for item in told.versions] == ["Wait for the tide!"]
        assert all("tide" not in str(step.log) and step.output is None for step in await worker.steps())
