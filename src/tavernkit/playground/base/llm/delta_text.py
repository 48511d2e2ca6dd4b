"""Text that arrives in pieces, made storable."""

from __future__ import annotations

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class DeltaText:
    """Joins surrogate halves that a provider put into two pieces, replaces those that stay alone, and drops NUL,
    which PostgreSQL cannot hold."""

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
