"""Something a build noticed and went on from."""

from __future__ import annotations

from tavernkit.values import JsonObject, Value


class BuildWarning(Value, frozen=True, kw_only=True):
    """A record, not a print: `code` is stable and for programs, `message` a sentence for people."""

    code: str
    message: str
    stage: str | None = None
    where: JsonObject = {}

    def __str__(self) -> str:
        return self.message
