"""Files in and out: uploads with a limit, and downloads in the spelling that SillyTavern gives its JSON files."""

from __future__ import annotations

import re
from pathlib import PurePath
from urllib.parse import quote

from fastapi import Request, Response

from tavernkit.playground.edge.web.uploads import received_files
from tavernkit.text.invisible import without_invisible
from tavernkit.text.js_json import to_json
from tavernkit.values import Json

_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]+')


async def upload(request: Request, *, max_bytes: int) -> tuple[bytes, str]:
    """The file in the field `file`, and its name without the ending."""
    async with received_files(request, field="file", max_files=1, max_bytes=max_bytes) as files:
        return await files[0].read(), PurePath(files[0].filename or "").stem


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
