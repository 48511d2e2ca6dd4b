"""What the routes of the API share: who asks, and pages of long lists."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query, Request

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.edge.web.authentication import viewer_of
from tavernkit.playground.edge.web.bodies import before_body


@before_body
async def _viewer(request: Request) -> Viewer:
    return await viewer_of(request)


ApiViewer = Annotated[Viewer, Depends(_viewer)]
"""Who asks; a request of nobody is refused."""

Limit = Annotated[int, Query(ge=1, le=200, description="How many to give at most.")]
