"""What both databases can keep and every client can read, out of what files and programs contain."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import overload

from tavernkit.values import Json, JsonObject

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_HALVES = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """Without NUL, which PostgreSQL refuses; half a surrogate pair becomes U+FFFD, as it has no bytes of its own."""
    text = text.replace("\x00", "")
    return text if text.isascii() else _HALVES.sub("\ufffd", text)


def titled(text: str, otherwise: str, *, limit: int = 200) -> str:
    """A name for a list: on one line, not too long, never empty."""
    return " ".join(storable(text).split())[:limit].strip() or otherwise


@overload
def presentable(value: str) -> str: ...
@overload
def presentable(value: JsonObject) -> dict[str, Json]: ...
@overload
def presentable(value: Json) -> Json: ...
def presentable(value: Json) -> Json:
    """JSON as the API sends it: texts that are Unicode, numbers that are numbers."""
    match value:
        case str():
            return storable(value)
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {storable(key): presentable(item) for key, item in value.items()}
        case list() | tuple():
            return [presentable(item) for item in value]
        case _:
            return value


class DeltaText:
    """Text that arrives in pieces, made storable: joins surrogate halves that a provider put into two pieces, replaces
    those that stay alone, and drops NUL."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, text: str) -> str:
        """What can be passed on now; a first half at the end waits for the next piece."""
        text = self._half + text
        self._half = ""
        if not _UNSTORABLE.search(text):
            return text
        if "\ud800" <= text[-1] <= "\udbff":
            self._half, text = text[-1], text[:-1]
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return joined.replace("\x00", "")

    def flush(self) -> str:
        """What stands for a half whose other half never came."""
        half, self._half = self._half, ""
        return "\ufffd" if half else ""
