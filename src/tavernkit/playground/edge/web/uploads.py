"""Files that are sent here: read as they come, and no further than the limits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from fastapi import Request
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.web.bodies import take_up_to, too_large

FORM_BYTES = 64 * 1024
"""What the form around the files may take."""


class ReceivedForm(NamedTuple):
    """The files of a multipart form, and its other fields."""

    files: list[UploadFile]
    fields: dict[str, str]


@asynccontextmanager
async def received_form(request: Request, *, field: str, max_files: int, max_bytes: int) -> AsyncIterator[ReceivedForm]:
    """A multipart form whose files are spooled to the disk; gone when the block ends."""
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise _invalid(_("Send files as a form (multipart/form-data) with the field “{field}”.", field=field))
    take_up_to(request, max_bytes + FORM_BYTES)
    try:
        # One more than allowed, so that we say what is wrong in our own words.
        parser = MultiPartParser(
            request.headers, request.stream(), max_files=max_files + 1, max_fields=100,
            max_part_size=FORM_BYTES,
        )  # fmt: skip
        form = await parser.parse()
    except Refused:
        raise too_large(max_bytes) from None
    except (MultiPartException, ClientDisconnect, UnicodeDecodeError):
        raise _invalid(
            _("The form cannot be read: it is damaged, incomplete, or has too many parts. Send it again.")
        ) from None
    try:
        fields = {name: value for name, value in form.multi_items() if isinstance(value, str)}
        yield ReceivedForm(_files(form, field, max_files), fields)
    finally:
        await form.close()


async def one_file(request: Request, *, max_bytes: int) -> bytes:
    """The bytes of the one file in the field `file`."""
    async with received_form(request, field="file", max_files=1, max_bytes=max_bytes) as form:
        data = await form.files[0].read()
    if not data:
        raise _invalid(_("The file is empty. Choose another one."))
    return data


def file_body(field: str, *, many: bool = False) -> dict[str, Any]:
    """What OpenAPI says about the form of a route that takes files."""
    file = {"type": "string", "format": "binary"}
    value = {"type": "array", "items": file, "minItems": 1} if many else file
    schema = {"type": "object", "properties": {field: value}, "required": [field]}
    return {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": schema}}}}


ONE_FILE = file_body("file")


def _files(form: FormData, field: str, max_files: int) -> list[UploadFile]:
    files = [value for name, value in form.multi_items() if name == field and isinstance(value, UploadFile)]
    if not files:
        raise _invalid(_("The form has no file in the field “{field}”.", field=field))
    if len(files) > max_files:
        raise _invalid(ngettext("Send at most {count} file at once.", "Send at most {count} files at once.", max_files))
    return files


def _invalid(sentence: str) -> Refused:
    return Refused("invalid", sentence)
