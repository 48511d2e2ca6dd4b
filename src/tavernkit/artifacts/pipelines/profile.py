"""What people switch on: a profile of pipelines, each a set of steps around the call of the main model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, TypeAlias

from tavernkit.artifacts.permissions import TagClaim, WritePermission
from tavernkit.artifacts.pipelines.step import Id, Step
from tavernkit.artifacts.wire import Wire, encode

PipelineTrigger: TypeAlias = Literal["user_message", "regenerate", "manual", "api"]
Permission: TypeAlias = Literal["artifact_write", "state_write", "message_transform"]


class StepPipeline(Wire, frozen=True, kw_only=True):
    """Steps that belong together, and what they may write. The pipeline's id owns the tags of its artifacts."""

    needs: ClassVar[Mapping[str, str]] = {"id": "A pipeline needs an id."}

    id: Id
    name: str = ""
    enabled: bool = True
    triggers: frozenset[PipelineTrigger] = frozenset({"user_message", "regenerate"})
    permissions: frozenset[Permission] = frozenset()
    steps: tuple[Step, ...] = ()

    @property
    def write_permissions(self) -> frozenset[WritePermission]:
        words: tuple[WritePermission, ...] = ("artifact_write", "state_write")
        return frozenset(word for word in words if word in self.permissions)


class Profile(Wire, frozen=True, kw_only=True):
    """`version` counts the times it was saved. Artifacts do not depend on it: an edit never orphans a state."""

    needs: ClassVar[Mapping[str, str]] = {"id": "A profile needs an id."}

    id: Id
    version: int = 1
    name: str = ""
    description: str = ""
    pipelines: tuple[StepPipeline, ...] = ()

    def claims(self) -> tuple[TagClaim, ...]:
        """Who makes which persisted artifact."""
        return tuple(
            TagClaim(tag=made.tag, pipeline=pipeline.id, step=step.id)
            for pipeline in self.pipelines
            for step in pipeline.steps
            for made in step.artifacts
            if made.access == "persisted" and made.tag is not None
        )


def write_profile(profile: Profile) -> dict[str, object]:
    """The profile as `read_profile` reads it."""
    return encode(profile)
