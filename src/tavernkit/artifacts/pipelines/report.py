"""What became of a run: every step, every commit, and how it ended. Nothing here quotes what was made."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, TypeAlias

from tavernkit.artifacts.pipelines.model import ModelUsage
from tavernkit.artifacts.pipelines.profile import PipelineTrigger
from tavernkit.artifacts.pipelines.step import Hook, StepKind
from tavernkit.values import Value

StepStatus: TypeAlias = Literal["done", "error", "skipped", "aborted"]
RunStatus: TypeAlias = Literal["done", "error", "aborted"]
FailedType: TypeAlias = Literal["before_barrier", "main_llm", "after_main_llm"]
SkipReason: TypeAlias = Literal[
    "disabled", "not_due", "guard_not_matched", "dependency_skipped", "dependency_failed", "run_aborted"
]
CommitOutcome: TypeAlias = Literal["committed", "rejected", "withheld", "nothing"]


class StepReport(Value, frozen=True, kw_only=True):
    """`wrote` says from which version to which, with the change in a few words and a hash; `read` which versions of
    which artifacts were looked at; `archived` which rows of the archive hold what was pushed out.

    committed   all its writes are in the store
    rejected    the store has refused them: another version came first, or the pipeline may not; `code` says which
    withheld    it was done, but the run ended before anything of its hook was committed
    nothing     there was nothing to commit, because it is not done
    """

    pipeline: str
    step: str
    kind: StepKind
    hook: Hook
    status: StepStatus
    commit: CommitOutcome
    reason: SkipReason | None = None
    code: str | None = None
    message: str | None = None
    read: tuple[Mapping[str, object], ...] = ()
    wrote: tuple[Mapping[str, object], ...] = ()
    archived: tuple[str, ...] = ()
    usage: ModelUsage = ModelUsage()
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
