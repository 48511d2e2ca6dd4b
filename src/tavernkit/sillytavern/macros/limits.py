"""How much one expansion may cost. Cards are untrusted: a hostile text can be wrong, never slow."""

from __future__ import annotations

from tavernkit.values import Value


class MacroLimits(Value, frozen=True, kw_only=True):
    """Calls inside calls; pieces of text and calls worked through; characters put together; characters read again.

    The last are those of conditions and branches: a block inside ten others is read eleven times.
    """

    nesting: int = 100
    steps: int = 500_000
    output: int = 20_000_000
    rereading: int = 1_000_000


DEFAULT_LIMITS = MacroLimits()


class LimitReached(Exception):  # noqa: N818 - never leaves the engine: the text stays as it was
    """Raised when an expansion has cost too much; its message says what there was too much of."""
