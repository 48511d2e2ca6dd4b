"""How much of a stranger's chat is read before it is refused."""

from __future__ import annotations

from tavernkit.values import Value

MIB = 1024 * 1024


class ChatLimits(Value, frozen=True, kw_only=True):
    """Bounds on untrusted chats. A file over `file_bytes`, `lines` or `values` is refused; a single line over
    `line_length` or `line_values` counts as a damaged line."""

    file_bytes: int = 256 * MIB
    lines: int = 1_000_000
    values: int = 5_000_000
    line_length: int = 32 * MIB
    line_values: int = 500_000


DEFAULT_LIMITS = ChatLimits()
