"""Reports of imports and exports as files: JSON for programs, and one page of HTML for people. Both are written line by
line, however many there are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec
from fastapi.responses import StreamingResponse

from tavernkit.playground.edge.api.files import attachment
from tavernkit.playground.edge.web.rendering import templates
from tavernkit.values import Value

ReportFormat: TypeAlias = Literal["json", "html"]
L = TypeVar("L", bound=Value)

REPORT: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {
            "application/json": {"schema": {"type": "object"}},
            "text/html": {"schema": {"type": "string"}},
        }
    }
}
"""What OpenAPI says about a route that answers a report."""


def report_response(
    format: ReportFormat, name: str, head: Mapping[str, object], lines: AsyncIterator[L], **words: object
) -> StreamingResponse:
    """The report as a file; `head` is what it says before its lines, `words` is what only people need."""
    if format == "json":
        return StreamingResponse(_json(head, lines), media_type="application/json", headers=attachment(name, "json"))
    page = _html(lines, {**head, **words})
    return StreamingResponse(page, media_type="text/html; charset=utf-8", headers=attachment(name, "html"))


async def _json(head: Mapping[str, object], lines: AsyncIterator[L]) -> AsyncIterator[bytes]:
    encode: Callable[[object], bytes] = msgspec.json.Encoder(enc_hook=str).encode
    yield encode(head)[:-1] + (b"," if head else b"") + b'"lines":['
    comma = b"\n"
    async for line in lines:
        yield comma + encode(line)
        comma = b",\n"
    yield b"\n]}\n"


async def _html(lines: AsyncIterator[L], context: Mapping[str, object]) -> AsyncIterator[bytes]:
    parts: Any = templates().get_template("report.html").make_module(dict(context))
    yield str(parts.opening()).encode()
    async for line in lines:
        yield str(parts.line(line)).encode("utf-8", "replace")
    yield str(parts.ending()).encode()
