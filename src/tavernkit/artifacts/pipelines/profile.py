"""What people switch on: a profile of pipelines, each a set of steps around the call of the main model."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tavernkit.artifacts.artifact import Artifact
from tavernkit.artifacts.permissions import TagClaim, WritePermission
from tavernkit.artifacts.pipelines.steps import GuardStep, StepBody, StepKind
from tavernkit.values import Value

__all__ = ["Condition", "Hook", "Permission", "Pipeline", "Profile", "Step", "StepArtifact", "Trigger"]

Trigger: TypeAlias = Literal["user_message", "regenerate", "manual", "api"]
Hook: TypeAlias = Literal["before", "after"]
Permission: TypeAlias = WritePermission | Literal["message_transform"]


class Condition(Value, frozen=True, kw_only=True):
    """A step runs only if this guard, on which it depends, has said so."""

    guard: str
    equals: bool = True


class StepArtifact(Value, frozen=True, kw_only=True):
    """An artifact that a step writes: all of its output, or what a JSON pointer finds in it. The definition belongs to
    no session yet."""

    artifact: Artifact
    pointer: str = ""


class Step(Value, frozen=True, kw_only=True):
    """One action. `body` is what it does; everything else is when, and what becomes of it.

    `depends_on` names steps of the same pipeline and hook, all of which must be done. A required step that fails
    before the main call keeps it from being made. `every_n_turns` counts turns of the user since the step's last
    success. `timeout` is in seconds.
    """

    id: str
    body: StepBody
    hook: Hook
    name: str = ""
    order: int = 0
    enabled: bool = True
    required: bool = False
    depends_on: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    every_n_turns: int = 1
    timeout: float = 60
    artifacts: tuple[StepArtifact, ...] = ()

    @property
    def kind(self) -> StepKind:
        return self.body.kind

    @property
    def is_guard(self) -> bool:
        return isinstance(self.body, GuardStep)


class Pipeline(Value, frozen=True, kw_only=True):
    """Steps that belong together, and what they may write. The pipeline's id owns the tags of its artifacts."""

    id: str
    name: str = ""
    enabled: bool = True
    triggers: frozenset[Trigger] = frozenset({"user_message", "regenerate"})
    permissions: frozenset[Permission] = frozenset()
    steps: tuple[Step, ...] = ()

    @property
    def write_permissions(self) -> frozenset[WritePermission]:
        words: tuple[WritePermission, ...] = ("artifact_write", "state_write")
        return frozenset(word for word in words if word in self.permissions)


class Profile(Value, frozen=True, kw_only=True):
    """`version` counts the times it was saved. Artifacts do not depend on it: an edit never orphans a state."""

    id: str
    version: int = 1
    name: str = ""
    description: str = ""
    pipelines: tuple[Pipeline, ...] = ()

    def claims(self) -> tuple[TagClaim, ...]:
        """Who makes which persisted artifact."""
        return tuple(
            TagClaim(tag=made.artifact.tag, pipeline=pipeline.id, step=step.id)
            for pipeline in self.pipelines
            for step in pipeline.steps
            for made in step.artifacts
            if made.artifact.access == "persisted" and made.artifact.tag is not None
        )
