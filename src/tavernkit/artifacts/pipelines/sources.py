"""Where a run reads what is there: usually a store, or whatever an application knows to read faster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container
from typing import TypeAlias

from tavernkit.artifacts.artifact import Artifact, Session
from tavernkit.artifacts.pipelines.context import RunContext
from tavernkit.artifacts.pipelines.profile import Profile
from tavernkit.artifacts.store import ArtifactStore
from tavernkit.artifacts.view import SessionArtifacts, session_artifacts
from tavernkit.prompt.context import IdSource

SessionReader: TypeAlias = Callable[[RunContext], Awaitable[SessionArtifacts]]
"""Reads the session as a run sees it: as it is now, or for a regeneration as it was before the turn. It is asked once
for each hook."""


def read_from(store: ArtifactStore) -> SessionReader:
    """Read everything that a store has, and look back where the run does."""

    async def read(context: RunContext) -> SessionArtifacts:
        looks_back = context.before_turn is not None or context.path is not None
        return session_artifacts(
            await store.load(context.session),
            now=context.now,
            turn=context.turn,
            before_turn=context.before_turn,
            path=context.path,
            archives=await store.archives(context.session) if looks_back else (),
        )

    return read


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
