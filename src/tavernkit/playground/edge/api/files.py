"""Files in and out: uploads with a limit, downloads as SillyTavern spells its JSON, and stored files by their hash."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path, Request, Response

from tavernkit.playground.base.blobs.queries import find_blob
from tavernkit.playground.base.refused import existing
from tavernkit.playground.edge.api.requests import ApiCaller, documented
from tavernkit.playground.edge.web.blob_responses import BINARY, bytes_response
from tavernkit.playground.edge.web.uploads import received_form
from tavernkit.text.invisible import without_invisible
from tavernkit.text.js_json import to_json
from tavernkit.values import Json

_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]+')


async def upload(request: Request, *, max_bytes: int) -> tuple[bytes, str]:
    """The file in the field `file`, and its name without the ending."""
    async with received_form(request, field="file", max_files=1, max_bytes=max_bytes) as form:
        return await form.files[0].read(), PurePath(form.files[0].filename or "").stem


def attachment(name: str, ending: str) -> dict[str, str]:
    """The headers of an answer that is saved under a name."""
    safe = without_invisible(_UNSAFE.sub("_", name)).strip(" .")[:150] or "file"
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(f'{safe}.{ending}', safe='')}"}


def json_download(name: str, value: Json) -> Response:
    """A JSON file to be saved."""
    return Response(
        to_json(value, indent=4).encode("utf-8", "replace"),
        media_type="application/json",
        headers=attachment(name, "json"),
    )


router = APIRouter(prefix="/blobs", tags=["blobs"], responses=documented())


@router.get("/{sha256}", summary="A picture or file", response_class=Response, responses=BINARY)
async def get_blob(
    request: Request, caller: ApiCaller, sha256: Annotated[str, Path(pattern="^[0-9a-f]{64}$")]
) -> Response:
    async with caller.runtime.database.read() as session:
        blob = existing(await find_blob(session, sha256, caller.viewer), "file")
    return bytes_response(request, blob)
