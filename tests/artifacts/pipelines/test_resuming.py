"""A run that was interrupted goes on where it was."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st
from tests.artifacts.builders import SESSION
from tests.artifacts.pipelines.builders import Theatre, again, context, counter, kept, profile, step
from tests.artifacts.pipelines.strategies import profiles

from tavernkit.artifacts import ArtifactRecord, ArtifactWrite, Commit, MemoryStore
from tavernkit.artifacts.pipelines import (
    TERMINAL_EVENTS,
    Barrier,
    JournalState,
    MemoryJournal,
    ModelAnswer,
    ModelRequest,
    ModelUsage,
    Profile,
    RunContext,
    RunReport,
    StepRecord,
)
from tavernkit.errors import StepFailed


class PowerCut(Exception):  # noqa: N818 - what happens
    pass


class CutJournal:
    """A journal whose power is cut at some of its operations, before or after they have taken effect."""

    def __init__(self, inner: MemoryJournal, cuts: list[int]) -> None:
        self._inner = inner
        self._cuts = set(cuts)
        self._moments = 0
        self.finished: set[str] = set()

    def _moment(self) -> None:
        self._moments += 1
        if self._moments in self._cuts:
            raise PowerCut

    async def open(self, context: RunContext) -> JournalState:
        return await self._inner.open(context)

    async def record(self, context: RunContext, record: StepRecord) -> None:
        self._moment()
        await self._inner.record(context, record)
        self.finished.add(f"{record.pipeline}/{record.step}")
        self._moment()

    async def commit(
        self, context: RunContext, record: StepRecord, writes: tuple[ArtifactWrite, ...]
    ) -> tuple[Commit, ...]:
        self._moment()
        commits = await self._inner.commit(context, record, writes)
        self._moment()
        return commits

    async def close(self, context: RunContext, report: RunReport) -> None:
        self._moment()
        await self._inner.close(context, report)
        self._moment()


class LeavingJournal(CutJournal):
    """One that ends no run as long as whoever has it is leaving."""

    def __init__(self, inner: MemoryJournal) -> None:
        super().__init__(inner, [])
        self.is_leaving = True

    async def close(self, context: RunContext, report: RunReport) -> None:
        if not self.is_leaving:
            await super().close(context, report)


class Stormy(Theatre):
    def __init__(self, cuts: list[int]) -> None:
        store = MemoryStore()
        self.cut_journal = CutJournal(MemoryJournal(store), cuts)
        super().__init__(store=store, journal=self.cut_journal)
        self.repeated: list[str] = []

    async def call(self, request: ModelRequest) -> ModelAnswer:
        if request.step in self.cut_journal.finished:
            self.repeated.append(request.step)
        self.calls.append(request)
        prompt = request.messages[-1].content
        if prompt == "fail":
            raise StepFailed("No answer came.", code="provider_error")
        return ModelAnswer(text=f"<{request.step}: {prompt}>")

    async def persist(self, about: RunContext) -> tuple[Barrier | None, RunReport]:
        """Take the run up again until it has ended; the barrier only of a run that nothing has interrupted since."""
        while True:
            try:
                return await self.play(about)
            except PowerCut:
                continue

    async def perform(self, used: Profile) -> tuple[RunReport, tuple[ArtifactRecord, ...]]:
        _, report = await self.persist(context(used))
        return report, await self.store.load(SESSION)


def without_ids(records: tuple[ArtifactRecord, ...]) -> list[ArtifactRecord]:
    return [record.with_(artifact=record.artifact.with_(id="")) for record in records]


@given(used=profiles(), cuts=st.lists(st.integers(1, 40), max_size=6))
def test_whatever_the_interruptions_no_finished_step_is_paid_for_again_and_the_result_is_the_same(
    used: Profile, cuts: list[int]
) -> None:
    calm, stormy = Stormy([]), Stormy(cuts)
    report, records = asyncio.run(calm.perform(used))
    same_report, same_records = asyncio.run(stormy.perform(used))
    assert stormy.repeated == []
    assert without_ids(same_records) == without_ids(records)
    assert same_report == report
    assert len([event for event in stormy.events if event.type in TERMINAL_EVENTS]) <= 1


def test_a_second_attempt_says_so_and_counts_anew() -> None:
    used = profile(step("a", "llm", artifacts=[kept("a")]), step("b", "llm", dependsOn=["a"]))
    theatre = Stormy([2])
    report, _ = asyncio.run(theatre.perform(used))
    assert (report.status, theatre.asked) == ("done", ["p/a", "p/b"])
    assert [(event.attempt, event.seq) for event in theatre.events if event.type == "pipeline.run.started"] == [
        (1, 1),
        (2, 1),
    ]


def test_what_a_step_has_used_before_it_was_interrupted_counts_with_what_it_uses_then() -> None:
    async def perform() -> tuple[RunReport, RunReport]:
        used, theatre = profile(step("a", "llm", artifacts=[kept("a")])), Theatre()

        async def interrupted(request: ModelRequest) -> ModelAnswer:
            request.spent(ModelUsage(calls=1, prompt_tokens=10, completion_tokens=2))
            theatre.abort.set()
            await asyncio.Event().wait()
            return ModelAnswer(text="")

        leaving = LeavingJournal(MemoryJournal(theatre.store))
        theatre.journal = leaving
        theatre.call, answering = interrupted, theatre.call
        _, first = await theatre.play(context(used))
        theatre.call, theatre.abort, leaving.is_leaving = answering, asyncio.Event(), False
        return first, (await theatre.play(context(used)))[1]

    first, second = asyncio.run(perform())
    assert [(told.status, told.usage.calls) for told in first.steps] == [("aborted", 1)]
    (told,) = second.steps
    assert (told.status, told.usage) == ("done", ModelUsage(calls=2, prompt_tokens=20, completion_tokens=7))


def test_a_regeneration_that_is_resumed_still_reads_the_state_before_its_turn() -> None:
    async def perform() -> object:
        theatre = Stormy([9, 11])
        used = profile(counter())
        await theatre.persist(context(used, 1))
        await theatre.persist(context(used, 2))
        await theatre.persist(again(used, 2))
        return (await theatre.view())["count"].value

    assert asyncio.run(perform()) == 2
