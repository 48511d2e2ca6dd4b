"""Which steps a run has in each hook, in which order, which of them are to run, and what they make of the message."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias, TypeVar

from tavernkit.artifacts.candidate import PromptCandidate
from tavernkit.artifacts.content import Writer
from tavernkit.artifacts.pipelines.context import RunContext
from tavernkit.artifacts.pipelines.journal import SkipReason, StepRecord
from tavernkit.artifacts.pipelines.profile import Profile, StepPipeline
from tavernkit.artifacts.pipelines.step import Hook, Step
from tavernkit.artifacts.pipelines.steps import MessageTransformStep
from tavernkit.artifacts.view import SessionArtifacts, StepOrder
from tavernkit.errors import ArtifactPolicyError
from tavernkit.values import Value

S = TypeVar("S", bound=Step)


def dependencies(steps: Iterable[Step]) -> Mapping[str, frozenset[str]]:
    """Everything that each step depends on, directly or not. A step that depends on itself stands in a circle."""
    direct = {step.id: frozenset(step.depends_on) for step in steps}
    reached: dict[str, frozenset[str]] = {}
    for id, needs in direct.items():
        seen: set[str] = set()
        waiting = set(needs)
        while waiting:
            need = waiting.pop()
            if need not in seen:
                seen.add(need)
                waiting |= direct.get(need, frozenset())
        reached[id] = frozenset(seen)
    return reached


def commit_order(steps: Iterable[S]) -> tuple[S, ...]:
    """Dependencies first, then by `order`, then as the pipeline lists them; who finishes first does not matter."""
    waiting = sorted(steps, key=lambda step: step.order)
    placed: list[S] = []
    while waiting:
        left = {step.id for step in waiting}
        # In a circle nothing is ready, and a checked profile has none; taking the first keeps this from going on.
        ready = next((step for step in waiting if not left.intersection(step.depends_on)), waiting[0])
        placed.append(ready)
        waiting.remove(ready)
    return tuple(placed)


def step_order(profile: Profile) -> StepOrder:
    """Where a writer stands in the profile, for the order of artifacts in the prompt."""
    places = {
        (pipeline.id, step.id): (row, place)
        for row, pipeline in enumerate(profile.pipelines)
        for place, step in enumerate(commit_order(pipeline.steps))
    }
    last = (len(profile.pipelines), 0)

    def place_of(writer: Writer | None) -> tuple[int, int]:
        return last if writer is None else places.get((writer.pipeline, writer.step), last)

    return place_of


def prompt_candidates(profile: Profile, view: SessionArtifacts) -> tuple[PromptCandidate, ...]:
    """What a prompt may tell while this profile is followed: what it makes, and not what another has left behind, which
    nobody keeps up to date any more."""
    own = {claim.tag for claim in profile.claims()}
    return tuple(
        candidate
        for candidate in view.candidates(step_order(profile))
        if candidate.artifact.access == "run_only" or candidate.artifact.tag in own
    )


StepKey: TypeAlias = tuple[str, str]
Records: TypeAlias = Mapping[StepKey, StepRecord]


class Planned(Value, frozen=True, kw_only=True):
    """A step of this run; `needs` are the steps it depends on, and `sees` all whose work it may see."""

    pipeline: StepPipeline
    step: Step
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


class Wording(Value, frozen=True, kw_only=True):
    """The user's current message as a step has put it."""

    pipeline: str
    step: str
    label: str
    text: str
    selected: bool


def wordings(items: Iterable[Planned], records: Records) -> tuple[Wording, ...]:
    """What these steps have made of the message, in their order."""
    return tuple(
        Wording(
            pipeline=item.pipeline.id,
            step=item.step.id,
            label=item.step.label,
            text=str(records[item.key].value),
            selected=item.step.select,
        )
        for item in items
        if isinstance(item.step, MessageTransformStep) and records[item.key].status == "done"
    )


def told_wording(made: Iterable[Wording], typed: str) -> str:
    """The wording that is told: the last that is selected, else what was typed."""
    return next((wording.text for wording in reversed(tuple(made)) if wording.selected), typed)
