"""The order of steps: what one depends on, and the fixed row in which their writes are committed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from tavernkit.artifacts.candidate import PromptCandidate
from tavernkit.artifacts.pipelines.profile import Profile
from tavernkit.artifacts.pipelines.step import Step
from tavernkit.artifacts.version import Writer
from tavernkit.artifacts.view import SessionArtifacts, StepOrder

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
