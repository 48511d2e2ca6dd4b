"""What a trial of a profile keeps in memory instead of the database, and what it has used."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from tavernkit.artifacts import ArtifactWrite, Commit, MemoryStore
from tavernkit.artifacts.pipelines import (
    JournalState,
    MemoryJournal,
    ModelAnswer,
    ModelCall,
    ModelRequest,
    ModelUsage,
    RunContext,
    RunReport,
    StepRecord,
)
from tavernkit.artifacts.pipelines.model import ask_counted
from tavernkit.playground.story.prompting.usage import Usage, used_by_steps

Settled: TypeAlias = Callable[[StepRecord], Awaitable[None]]


class DryRunJournal:
    """A journal in memory that remembers, behind the end of the run, what steps were worked out from and have made.

    `last_done` is what the conversation knows about earlier runs; `settled` is told whenever a step has come to
    something.
    """

    def __init__(self, store: MemoryStore, last_done: Mapping[str, int], settled: Settled) -> None:
        self._journal = MemoryJournal(store)
        self._last_done = last_done
        self._settled = settled
        self.records: dict[tuple[str, str], StepRecord] = {}

    async def open(self, context: RunContext) -> JournalState:
        return (await self._journal.open(context)).with_(last_done=self._last_done)

    async def record(self, context: RunContext, record: StepRecord) -> None:
        await self._journal.record(context, record)
        self.records[record.key] = record
        await self._settled(record)

    async def commit(
        self, context: RunContext, record: StepRecord, writes: tuple[ArtifactWrite, ...]
    ) -> tuple[Commit, ...]:
        commits = await self._journal.commit(context, record, writes)
        versions = {commit.artifact.key.tag: commit.version.version for commit in commits}
        self.records[record.key] = record.with_(committed=versions)
        return commits

    async def close(self, context: RunContext, report: RunReport) -> None:
        await self._journal.close(context, report)


class CountedModels:
    """Asks as `call` does, and adds up what that has used, also where nothing came of the step."""

    def __init__(self, call: ModelCall) -> None:
        self._call = call
        self.used = Usage(prompt_tokens=0, completion_tokens=0)

    async def ask(self, request: ModelRequest) -> ModelAnswer:
        def count(usage: ModelUsage) -> None:
            self.add(used_by_steps([usage]))
            request.spent(usage)

        return await ask_counted(self._call, request, count)

    def add(self, usage: Usage) -> None:
        self.used = Usage(
            prompt_tokens=self.used.prompt_tokens + usage.prompt_tokens,
            completion_tokens=self.used.completion_tokens + usage.completion_tokens,
        )
