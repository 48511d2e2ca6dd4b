"""Where a run reads what is there: usually a store, or whatever an application knows to read faster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from tavernkit.artifacts.pipelines.context import RunContext
from tavernkit.artifacts.store import ArtifactStore
from tavernkit.artifacts.view import SessionView, session_view

__all__ = ["SessionReader", "read_from"]

SessionReader: TypeAlias = Callable[[RunContext], Awaitable[SessionView]]
"""Reads the session as a run sees it: as it is now, or for a regeneration as it was before the turn. It is asked once
for each hook."""


def read_from(store: ArtifactStore) -> SessionReader:
    """Read everything that a store has, and look back where the run does."""

    async def read(context: RunContext) -> SessionView:
        looks_back = context.before_turn is not None or context.path is not None
        return session_view(
            await store.load(context.session),
            now=context.now,
            turn=context.turn,
            before_turn=context.before_turn,
            path=context.path,
            archives=await store.archives(context.session) if looks_back else (),
        )

    return read
