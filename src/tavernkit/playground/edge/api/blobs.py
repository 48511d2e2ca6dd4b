"""Pictures and files over HTTP, by the SHA-256 of what they are."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from tavernkit.playground.base.blobs.queries import find_blob
from tavernkit.playground.base.refused import existing
from tavernkit.playground.edge.api.requests import ApiCaller, documented
from tavernkit.playground.edge.web.blob_responses import BINARY, bytes_response

router = APIRouter(prefix="/blobs", tags=["blobs"], responses=documented())


@router.get("/{sha256}", summary="A picture or file", response_class=Response, responses=BINARY)
async def get_blob(
    request: Request, caller: ApiCaller, sha256: Annotated[str, Path(pattern="^[0-9a-f]{64}$")]
) -> Response:
    async with caller.runtime.database.read() as session:
        blob = existing(await find_blob(session, sha256, caller.viewer), "file")
    return bytes_response(request, blob)
