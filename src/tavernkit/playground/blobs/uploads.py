"""Files that are sent here: read as they come, and no further than the limits."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Request
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect

from tavernkit.playground.outcome import Refused

__all__ = ["file_body", "one_file", "received_files"]

FORM_BYTES = 64 * 1024
"""What the form around the files may take."""


class _TooLarge(Exception):  # noqa: N818 - it never leaves this module
    pass


@asynccontextmanager
async def received_files(
    request: Request, *, field: str, max_files: int, max_bytes: int
) -> AsyncIterator[list[UploadFile] | Refused]:
    """The files of a multipart form, spooled to the disk; gone when the block ends."""
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        yield _invalid(f"Files are sent as a form (multipart/form-data) with the field {field!r}.")
        return
    try:
        # One more than allowed, so that we say what is wrong in our own words.
        parser = MultiPartParser(
            request.headers, _limited(request, max_bytes + FORM_BYTES), max_files=max_files + 1, max_fields=100,
            max_part_size=FORM_BYTES,
        )  # fmt: skip
        form = await parser.parse()
    except _TooLarge:
        yield Refused(code="too_large", sentence=f"That is too much at once; at most {max_bytes:,} bytes are taken.")
        return
    except (MultiPartException, ClientDisconnect, UnicodeDecodeError):
        yield _invalid("The form cannot be read: it is damaged, it ends too soon, or it has too many parts.")
        return
    try:
        yield _files(form, field, max_files)
    finally:
        await form.close()


async def one_file(request: Request, *, max_bytes: int) -> bytes | Refused:
    """The bytes of the one file in the field `file`."""
    async with received_files(request, field="file", max_files=1, max_bytes=max_bytes) as files:
        if isinstance(files, Refused):
            return files
        data = await files[0].read()
        return data or _invalid("The file is empty.")


def file_body(field: str, *, many: bool = False) -> dict[str, Any]:
    """What OpenAPI says about the form of a route that takes files."""
    file = {"type": "string", "format": "binary"}
    value = {"type": "array", "items": file, "minItems": 1} if many else file
    schema = {"type": "object", "properties": {field: value}, "required": [field]}
    return {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": schema}}}}


def _files(form: FormData, field: str, max_files: int) -> list[UploadFile] | Refused:
    files = [value for name, value in form.multi_items() if name == field and isinstance(value, UploadFile)]
    if not files:
        return _invalid(f"The form has no file in the field {field!r}.")
    if len(files) > max_files:
        return _invalid(f"At most {max_files:,} files can be sent at once.")
    return files


async def _limited(request: Request, limit: int) -> AsyncGenerator[bytes, None]:
    received = 0
    async for piece in request.stream():
        received += len(piece)
        if received > limit:
            raise _TooLarge
        yield piece


def _invalid(sentence: str) -> Refused:
    return Refused(code="invalid", sentence=sentence)
