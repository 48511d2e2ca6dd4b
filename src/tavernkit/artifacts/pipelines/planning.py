"""Which steps a run has in each hook, and whether one of them is to run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from tavernkit.artifacts.pipelines.context import RunContext
from tavernkit.artifacts.pipelines.journal import StepRecord
from tavernkit.artifacts.pipelines.ordering import commit_order, dependencies
from tavernkit.artifacts.pipelines.profile import StepPipeline
from tavernkit.artifacts.pipelines.report import SkipReason
from tavernkit.artifacts.pipelines.step import Hook
from tavernkit.artifacts.pipelines.steps import AnyStep
from tavernkit.errors import ArtifactPolicyError
from tavernkit.values import Value

StepKey: TypeAlias = tuple[str, str]
Records: TypeAlias = Mapping[StepKey, StepRecord]


class Planned(Value, frozen=True, kw_only=True):
    """A step of this run; `needs` are the steps it depends on, and `sees` all whose work it may see."""

    pipeline: StepPipeline
    step: AnyStep
    needs: tuple[StepKey, ...]
    sees: frozenset[StepKey]

    @property
    def key(self) -> StepKey:
        return (self.pipeline.id, self.step.id)

    @property
    def name(self) -> str:
        return f"{self.pipeline.id}/{self.step.id}"


def plan_hook(context: RunContext, hook: Hook) -> tuple[Planned, ...]:
    """The steps of a hook in the order in which they are committed: by pipeline, then as `commit_order` says."""
    return tuple(
        planned
        for pipeline in context.profile.pipelines
        if pipeline.enabled and context.trigger in pipeline.triggers
        if context.pipelines is None or pipeline.id in context.pipelines
        for planned in _plan_pipeline(pipeline, hook)
    )


def _plan_pipeline(pipeline: StepPipeline, hook: Hook) -> tuple[Planned, ...]:
    steps = [step for step in pipeline.steps if step.hook == hook]
    reached = dependencies(steps)
    return tuple(
        Planned(
            pipeline=pipeline,
            step=step,
            needs=tuple((pipeline.id, need) for need in step.depends_on),
            sees=frozenset((pipeline.id, need) for need in reached[step.id]),
        )
        for step in commit_order(steps)
    )


def skip_reason(
    item: Planned, records: Records, context: RunContext, last_done: Mapping[str, int]
) -> SkipReason | None:
    """Why a step, all of whose dependencies have come to an end, does not run; None if it does."""
    if not item.step.enabled:
        return "disabled"
    asked_for = context.trigger in ("manual", "api")
    if not asked_for and context.turn - last_done.get(item.name, 0) < item.step.every_n_turns:
        return "not_due"
    needed = [records[need] for need in item.needs]
    if any(_has_failed(record) for record in needed):
        return "dependency_failed"
    if any(record.status != "done" for record in needed):
        return "dependency_skipped"
    decided = {record.step: record.value for record in needed}
    if any(decided.get(condition.guard) is not condition.equals for condition in item.step.conditions):
        return "guard_not_matched"
    return None


def required_failure(plan: tuple[Planned, ...], records: Records) -> StepRecord | None:
    """The first required step that has failed, or that could not run because another has. One that was not to run,
    because a guard has said so or its turn has not come, has not failed. One whose tag is another pipeline's has, but
    stands in nobody's way: no later reply could do better."""
    excused: set[StepKey] = set()
    for item in plan:
        record = records[item.key]
        culprits = {need for need in item.needs if _has_failed(records[need])}
        is_foreign = record.rejected and record.code == ArtifactPolicyError.code
        if is_foreign or (record.reason == "dependency_failed" and culprits and culprits <= excused):
            excused.add(item.key)
        if item.step.required and _has_failed(record) and item.key not in excused:
            return record
    return None


def _has_failed(record: StepRecord) -> bool:
    return record.status == "error" or record.reason == "dependency_failed"
