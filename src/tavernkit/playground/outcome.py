"""What a service answers when it did not do what was asked."""

from __future__ import annotations

from tavernkit.values import Value

__all__ = ["Refused"]


class Refused(Value, frozen=True, kw_only=True):
    """Nothing was changed. `code` is for programs, `sentence` for the person who asked."""

    code: str
    sentence: str
