"""What the routes of the API share: the running application, who asks, and pages of long lists."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query, Request

from tavernkit.playground.accounts.viewer import Viewer
from tavernkit.playground.runtime import Runtime

__all__ = ["Asked", "Limit", "Running"]


def _runtime(request: Request) -> Runtime:
    runtime: Runtime = request.app.state.runtime
    return runtime


def _viewer(request: Request) -> Viewer:
    """The person whose machine this is, until accounts say otherwise."""
    return Viewer(user_id=request.app.state.owner_id, role="administrator")


Running = Annotated[Runtime, Depends(_runtime)]
"""The running application."""

Asked = Annotated[Viewer, Depends(_viewer)]
"""Who asks."""

Limit = Annotated[int, Query(ge=1, le=200, description="How many to give at most.")]
