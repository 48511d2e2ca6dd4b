"""How much of the token budget is used, counting only when it can matter."""

from __future__ import annotations

from collections.abc import Callable


class PassBudget:
    """The budget during one pass: what earlier passes said counts, and everything that was tried in this one.

    Counting is the dear part of a scan. No token is shorter than a byte, so while the bytes that came since the last
    count would fit, so do their tokens.
    """

    def __init__(self, limit: int, count: Callable[[str], int], earlier: str) -> None:
        self._limit = limit
        self._count = count
        self._earlier = earlier
        self._pieces: list[str] = []
        self._most = _bytes(earlier)

    def takes(self, content: str) -> bool:
        """Add a content, and say whether everything so far stays below the limit."""
        self._pieces.append(content)
        self._most += (len(content) if content.isascii() else _bytes(content)) + 1
        if self._most >= self._limit:
            tried = "\n".join([*self._pieces, ""])
            self._most = (self._count(self._earlier) if self._earlier else 0) + self._count(tried)
        return self._most < self._limit


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
