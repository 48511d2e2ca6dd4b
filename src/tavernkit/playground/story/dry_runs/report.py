"""What a dry run keeps in memory instead of the database, and what it tells.

That is each step with what it was told and has made, and what becomes different in the prompt.
Texts are there in full as far as a page can show them, for the person alone who has asked.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal, TypeAlias

from tavernkit import Plan
from tavernkit.artifacts import ArtifactWrite, Commit, MemoryStore, RunArtifact, SessionArtifacts, change_between
from tavernkit.artifacts.pipelines import (
    JournalState,
    MemoryJournal,
    ModelAnswer,
    ModelCall,
    ModelRequest,
    ModelUsage,
    RunContext,
    RunReport,
    Step,
    StepPipeline,
    StepRecord,
    StepReport,
)
from tavernkit.artifacts.pipelines.journal import products_of
from tavernkit.artifacts.pipelines.model import ask_counted
from tavernkit.playground.base.storable import storable
from tavernkit.playground.story.prompting.inputs import PromptInputs
from tavernkit.playground.story.prompting.replies import Usage, used_by_steps
from tavernkit.prompt.block import Block
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.values import Json

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


LONGEST = 20_000
"""How many characters of one text are reported."""

BlockChange: TypeAlias = Literal["added", "removed", "changed"]


def step_reports(
    context: RunContext, report: RunReport, journal: DryRunJournal, view: SessionArtifacts
) -> list[dict[str, Any]]:
    """Every step of the run in the order of commits; `view` is what was there before it."""
    steps = {
        (pipeline.id, step.id): (pipeline, step) for pipeline in context.profile.pipelines for step in pipeline.steps
    }
    return [_step(done, *steps[done.pipeline, done.step], context, journal, view) for done in report.steps]


def _step(
    done: StepReport,
    pipeline: StepPipeline,
    step: Step,
    context: RunContext,
    journal: DryRunJournal,
    view: SessionArtifacts,
) -> dict[str, Any]:
    record = journal.records.get((done.pipeline, done.step))
    is_done = record is not None and done.status == "done"
    started, ended = done.started_at, done.ended_at
    return {
        "pipeline": done.pipeline,
        "step": done.step,
        "name": storable(step.name),
        "kind": done.kind,
        "hook": done.hook,
        "status": done.status,
        "reason": done.reason,
        "code": done.code,
        "message": None if done.message is None else shortened(done.message),
        "input": None if record is None else _input(record.input),
        "output": _text(record.value) if record is not None and is_done else None,
        "writes": [
            _write(made, view) for made in (products_of(pipeline, step, record, context) if record and is_done else ())
        ],
        "calls": done.usage.calls,
        "prompt_tokens": done.usage.prompt_tokens,
        "completion_tokens": done.usage.completion_tokens,
        "cost": done.usage.cost,
        "seconds": 0.0 if started is None or ended is None else (ended - started).total_seconds(),
    }


def _input(value: Json) -> list[dict[str, str]] | None:
    """What a model was told, message by message; of other steps, what they were given."""
    if value is None:
        return None
    if isinstance(value, list) and all(isinstance(one, dict) and {"role", "content"} <= one.keys() for one in value):
        return [{"role": str(one["role"]), "content": shortened(str(one["content"]))} for one in value]
    return [{"role": "", "content": _text(value)}]


def _write(made: RunArtifact, view: SessionArtifacts) -> dict[str, Any]:
    artifact, version = made.artifact, made.version
    stored = None
    if artifact.access == "persisted" and artifact.tag is not None and artifact.tag in view:
        stored = view[artifact.tag].current
    return {
        "tag": artifact.name,
        "kind": artifact.kind,
        "visibility": artifact.visibility,
        "surface": None if artifact.surface is None else str(artifact.surface),
        "is_kept": artifact.access == "persisted",
        "from_version": None if stored is None else stored.version,
        "version": version.version,
        "change": shortened(change_between(stored, version).summary),
        "content": _text(version.content),
    }


def prompt_changes(before: Plan, after: Plan, inputs: PromptInputs) -> dict[str, Any]:
    """What the artifacts do to the prompt, block by block in the order of both."""

    def tokens(blocks: Sequence[Block]) -> int:
        return sum(inputs.estimator.estimate(block.content, inputs.provider.model) for block in blocks)

    old, new = before.enabled_blocks, after.enabled_blocks
    known = {(warning.code, warning.message) for warning in before.warnings}
    return {
        "tokens_before": tokens(old),
        "tokens_after": tokens(new),
        "changes": list(_changes(old, new)),
        "warnings": [
            storable(warning.message) for warning in after.warnings if (warning.code, warning.message) not in known
        ],
    }


def _changes(before: Sequence[Block], after: Sequence[Block]) -> Iterator[dict[str, Any]]:
    matcher = SequenceMatcher(
        a=[_whole(block) for block in before], b=[_whole(block) for block in after], autojunk=False
    )
    for kind, old, old_end, new, new_end in matcher.get_opcodes():
        if kind == "equal":
            continue
        left = list(before[old:old_end])
        for block in after[new:new_end]:
            same = next((place for place, one in enumerate(left) if _place(one) == _place(block)), None)
            if same is None:
                yield _change("added", block, after=block.content)
                continue
            for gone in left[:same]:
                yield _change("removed", gone, before=gone.content)
            yield _change("changed", block, before=left[same].content, after=block.content)
            del left[: same + 1]
        for gone in left:
            yield _change("removed", gone, before=gone.content)


def _whole(block: Block) -> tuple[str, str, str | None]:
    return block.role, block.content, block.name


def _place(block: Block) -> tuple[str | None, str, Json, Json]:
    """What a block is, whatever it says."""
    return block.slot, block.role, block.source.get("stage"), block.source.get("id")


def _change(change: BlockChange, block: Block, *, before: str = "", after: str = "") -> dict[str, Any]:
    artifacts = LooseObject(block.metadata, ReportBuilder()).objects("artifacts")
    return {
        "change": change,
        "slot": None if block.slot is None else storable(block.slot),
        "source": {name: storable(str(block.source.get(name, ""))) for name in ("stage", "id")},
        "artifacts": [storable(source.text("artifact")) for source in artifacts],
        "role": storable(block.role),
        "name": None if block.name is None else storable(block.name),
        "before": shortened(before),
        "after": shortened(after),
    }


def _text(value: Json) -> str:
    return shortened(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2))


def shortened(text: str) -> str:
    """As much of a text as is reported, and how much more there is."""
    text = storable(text)
    more = len(text) - LONGEST
    return text if more <= 0 else f"{text[:LONGEST]}… ({more:,} more characters)"
