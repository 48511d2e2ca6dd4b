"""What the steps of a run have made, kept so that nobody pays for it twice, and the report on what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Literal, Protocol, Self, TypeAlias

from tavernkit.artifacts.content import ArtifactVersion, Writer, check_content, parse_content
from tavernkit.artifacts.json_patch import find_in_json
from tavernkit.artifacts.pipelines.context import RunContext
from tavernkit.artifacts.pipelines.model import ModelUsage
from tavernkit.artifacts.pipelines.profile import PipelineTrigger, StepPipeline
from tavernkit.artifacts.pipelines.step import Hook, Step, StepArtifact
from tavernkit.artifacts.retention import retained
from tavernkit.artifacts.store import ArtifactWrite, Commit, MemoryStore
from tavernkit.artifacts.view import ArtifactView, RunArtifact, SessionArtifacts
from tavernkit.values import Value

StepStatus: TypeAlias = Literal["done", "error", "skipped", "aborted"]
RunStatus: TypeAlias = Literal["done", "error", "aborted"]
FailedType: TypeAlias = Literal["before_barrier", "main_llm", "after_main_llm"]
SkipReason: TypeAlias = Literal[
    "disabled", "not_due", "guard_not_matched", "dependency_skipped", "dependency_failed", "run_aborted"
]
CommitOutcome: TypeAlias = Literal["committed", "rejected", "withheld", "nothing"]


class StepOutcome(Value, frozen=True, kw_only=True):
    """How it went for a step. `read` says which versions of which artifacts were looked at, `archived` which rows of
    the archive hold what its writes have pushed out."""

    pipeline: str
    step: str
    status: StepStatus
    reason: SkipReason | None = None
    code: str | None = None
    message: str | None = None
    read: tuple[Mapping[str, object], ...] = ()
    archived: tuple[str, ...] = ()
    usage: ModelUsage = ModelUsage()


class StepReport(StepOutcome, frozen=True, kw_only=True):
    """`wrote` says from which version to which, with the change in a few words and a hash.

    committed   all its writes are in the store
    rejected    the store has refused them: another version came first, or the pipeline may not; `code` says which
    withheld    it was done, but the run ended before anything of its hook was committed
    nothing     there was nothing to commit, because it is not done
    """

    kind: str
    hook: Hook
    commit: CommitOutcome
    wrote: tuple[Mapping[str, object], ...] = ()
    started_at: datetime | None = None
    ended_at: datetime | None = None


class RunReport(Value, frozen=True, kw_only=True):
    """`steps` stand in the order of commits. `failed_type` says where a run with the status error has failed."""

    run_id: str
    idempotency_key: str
    profile_id: str
    profile_version: int
    trigger: PipelineTrigger
    turn: int
    status: RunStatus
    failed_type: FailedType | None = None
    message: str | None = None
    steps: tuple[StepReport, ...] = ()


class StepRecord(StepOutcome, frozen=True, kw_only=True):
    """What a step has come to. `value` is its output and `input` what it was worked out from, both in full: a journal
    keeps them while the run is under way and forgets them when it is closed. `bases` are the versions that its writes
    are based on, and `committed` those that were written; None means not yet. `rejected` means that the store has
    refused them. A step that was aborted has come to nothing, and is run again by whoever takes the run up; its record
    says what it has used."""

    started_at: datetime
    ended_at: datetime
    value: object = None
    input: object = None
    bases: Mapping[str, int | None] = {}
    committed: Mapping[str, int] | None = None
    rejected: bool = False

    @property
    def key(self) -> tuple[str, str]:
        return (self.pipeline, self.step)

    def with_commits(self, commits: Iterable[Commit]) -> Self:
        """The record with the note that all writes are done."""
        done = tuple(commits)
        return self.with_(
            committed={commit.artifact.key.tag: commit.version.version for commit in done},
            archived=tuple(row.id for commit in done for row in commit.archived),
        )


class JournalState(Value, frozen=True, kw_only=True):
    """What is known about a run that begins or goes on. `run_id` is the run that has the idempotency key, and `report`
    is there if it has ended. `last_done` is the last turn before this one in which each step (`pipeline/step`) of this
    session was done, in a run with any trigger."""

    run_id: str
    attempt: int = 1
    records: tuple[StepRecord, ...] = ()
    last_done: Mapping[str, int] = {}
    report: RunReport | None = None


class StepJournal(Protocol):
    """Each method is one transaction, and returns when what it was given cannot be lost."""

    async def open(self, context: RunContext) -> JournalState:
        """Begin a run, or take it up again; a key that another run has already is answered with that run."""

    async def record(self, context: RunContext, record: StepRecord) -> None:
        """Keep what a step has come to; nothing of it becomes visible. A later record of the same step replaces it."""

    async def commit(
        self, context: RunContext, record: StepRecord, writes: tuple[ArtifactWrite, ...]
    ) -> tuple[Commit, ...]:
        """Do all of a step's writes and note in its record that they are done, together. Raises what the store raises,
        and then nothing has changed."""

    async def close(self, context: RunContext, report: RunReport) -> None:
        """The run has ended. The report is kept for whoever asks again; inputs and outputs are forgotten."""


class MemoryJournal:
    """A journal for tests, dry runs and scripts, over a store in memory."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._runs: dict[str, JournalState] = {}
        self._ended: list[tuple[RunContext, RunReport]] = []

    async def open(self, context: RunContext) -> JournalState:
        known = self._runs.get(context.idempotency_key)
        if known is None:
            state = JournalState(run_id=context.run_id, last_done=self._last_done(context))
        elif known.run_id == context.run_id and known.report is None:
            state = known.with_(attempt=known.attempt + 1)
        else:
            return known
        self._runs[context.idempotency_key] = state
        return state

    async def record(self, context: RunContext, record: StepRecord) -> None:
        state = self._runs[context.idempotency_key]
        others = tuple(known for known in state.records if known.key != record.key)
        self._runs[context.idempotency_key] = state.with_(records=(*others, record))

    async def commit(
        self, context: RunContext, record: StepRecord, writes: tuple[ArtifactWrite, ...]
    ) -> tuple[Commit, ...]:
        commits = await self._store.write_all(writes)
        await self.record(context, record.with_commits(commits))
        return commits

    async def close(self, context: RunContext, report: RunReport) -> None:
        state = self._runs[context.idempotency_key]
        self._runs[context.idempotency_key] = state.with_(report=report, records=())
        self._ended.append((context, report))

    def records(self, context: RunContext) -> tuple[StepRecord, ...]:
        """What steps have come to in a run that has not been closed."""
        return self._runs[context.idempotency_key].records

    def _last_done(self, context: RunContext) -> dict[str, int]:
        last: dict[str, int] = {}
        for ended, report in self._ended:
            if ended.session != context.session or ended.turn >= context.turn:
                continue
            for step in report.steps:
                key = f"{step.pipeline}/{step.step}"
                if step.status == "done":
                    last[key] = max(ended.turn, last.get(key, 0))
        return last


def products_of(pipeline: StepPipeline, step: Step, record: StepRecord, context: RunContext) -> tuple[RunArtifact, ...]:
    """Everything that a step that is done has made; InvalidArtifactError or JsonPatchError if its output is unfit.

    Until it is committed, a version's number is the one it should get.
    """
    return tuple(_made(pipeline, step, record, context))


def _made(pipeline: StepPipeline, step: Step, record: StepRecord, context: RunContext) -> Iterator[RunArtifact]:
    for place, definition in enumerate(step.artifacts):
        artifact = definition.in_session(context.session, id=f"{pipeline.id}/{step.id}/{place}")
        base = None if artifact.tag is None else record.bases.get(artifact.tag)
        written = None if artifact.tag is None else (record.committed or {}).get(artifact.tag)
        version = ArtifactVersion(
            version=written or (base or 0) + 1,
            content=_content(step, definition, record.value),
            created_at=context.now,
            content_type=artifact.content_type,
            based_on_version=base,
            turn=context.turn,
            turn_id=context.turn_id,
            variant_id=context.variant_id,
            writer=Writer(pipeline=pipeline.id, step=step.id),
        )
        yield RunArtifact(artifact=artifact, version=version)


def _content(step: Step, definition: StepArtifact, value: object) -> object:
    content_type = definition.content_type
    if step.makes == "text":
        return parse_content(str(value), content_type)
    return check_content(find_in_json(value, definition.pointer), content_type)


def with_products(view: SessionArtifacts, made: tuple[RunArtifact, ...], context: RunContext) -> SessionArtifacts:
    """The view of whoever may see this. Which version a write is based on stays as it was."""
    artifacts = dict(view.artifacts)
    for one in made:
        if one.artifact.access == "run_only" or one.artifact.tag is None:
            continue
        tag = one.artifact.tag
        before = () if tag not in artifacts else artifacts[tag].versions
        if before and before[-1].version >= one.version.version:
            continue
        versions = retained((*before, one.version), one.artifact.retention, now=context.now, turn=context.turn)
        artifacts[tag] = ArtifactView(artifact=one.artifact, versions=versions, head_version=view.base_version(tag))
    run = (one for one in made if one.artifact.access == "run_only")
    return view.with_(artifacts=dict(sorted(artifacts.items()))).with_run(*run)
