"""Switching a profile on in a session: its tags get their owners before anything is written."""

from __future__ import annotations

from collections.abc import Container

from tavernkit.artifacts.artifact import Artifact, Session
from tavernkit.artifacts.pipelines.profile import Profile
from tavernkit.artifacts.store import ArtifactStore
from tavernkit.prompt.context import IdSource

__all__ = ["reserve_tags"]


async def reserve_tags(
    profile: Profile, session: Session, *, store: ArtifactStore, ids: IdSource, skipped: Container[str] = ()
) -> tuple[Artifact, ...]:
    """Reserve every persisted tag for its pipeline; ArtifactPolicyError if one belongs to another. A profile that was
    edited is reserved again, and keeps what there is. The tags in `skipped` are left alone."""
    return tuple(
        [
            await store.reserve(made.in_session(session, id=ids()), pipeline.id)
            for pipeline in profile.pipelines
            for step in pipeline.steps
            for made in step.artifacts
            if made.access == "persisted" and made.tag not in skipped
        ]
    )
