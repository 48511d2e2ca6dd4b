"""Bytes over HTTP, such that no browser does anything with a stranger's file but show it."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from tavernkit.playground.base.blobs.media_types import is_shown_inline
from tavernkit.playground.base.database.models import Blob

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
