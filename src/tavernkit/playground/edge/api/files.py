"""Files in and out: uploads with a limit, downloads as SillyTavern spells its JSON, and stored files by their hash; no
browser does anything with a stranger's file but show it."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Request, Response

from tavernkit.playground.base.blobs.media_types import is_shown_inline
from tavernkit.playground.base.database.models import Blob
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import existing
from tavernkit.playground.edge.api.requests import ApiCaller, documented
from tavernkit.playground.edge.web.uploads import received_form
from tavernkit.playground.story.access.blobs import find_blob
from tavernkit.text.invisible import without_invisible
from tavernkit.text.js_json import to_json
from tavernkit.values import Json

IMMUTABLE = "private, max-age=31536000, immutable"
_ANY: dict[str, Any] = {"*/*": {"schema": {"type": "string", "format": "binary"}}}
BINARY: dict[int | str, dict[str, Any]] = {200: {"content": _ANY}}
"""What OpenAPI says about a route that answers bytes of any type."""
BINARY_OR_JSON: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/json": {"schema": {"type": "object"}}, **_ANY}}
}
"""What OpenAPI says about a route that answers a file, which may be JSON."""


def bytes_response(request: Request, blob: Blob, *, cache: str = IMMUTABLE) -> Response:
    """The bytes, or that the browser has them already."""
    headers = {
        "Cache-Control": cache,
        "ETag": f'"{blob.sha256}"',
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Content-Disposition": "inline" if is_shown_inline(blob.media_type) else "attachment",
    }
    if f'"{blob.sha256}"' in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(blob.data, media_type=blob.media_type, headers=headers)


_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]+')


async def upload(request: Request, *, max_bytes: int) -> tuple[bytes, str]:
    """The file in the field `file`, and its name without the ending."""
    async with received_form(request, field="file", max_files=1, max_bytes=max_bytes) as form:
        return await form.files[0].read(), PurePath(form.files[0].filename or "").stem


def file_stem(name: str) -> str:
    """A name that any file system takes, with room for an ending."""
    return without_invisible(_UNSAFE.sub("_", name)).strip(" .")[:150] or "file"


def attachment(name: str, ending: str) -> dict[str, str]:
    """The headers of an answer that is saved under a name."""
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(f'{file_stem(name)}.{ending}', safe='')}"}


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
        blob = existing(await find_blob(session, sha256, caller.viewer), _("file"))
    return bytes_response(request, blob)
