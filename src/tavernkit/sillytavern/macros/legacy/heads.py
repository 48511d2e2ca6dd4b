"""Which kinds of calls a text can hold at all, so that passes without any work are left out."""

from __future__ import annotations

import re

_HEAD = re.compile(rb"<[a-z]+>|\{\{(?:[a-z0-9_]+|//)")
# The beginning of a call right before another call: what that one leaves behind may become part of the name.
_TANGLE = re.compile(rb"\{\{[a-z0-9_/\r\n]*[{<]|\{[\r\n]+\{|\{<|<[a-z]*<")


def folded(text: str) -> bytes:
    """The text's bytes with `A` to `Z` made small, as macros compare their names."""
    return text.encode("utf-8", "surrogatepass").lower()


def heads_of(openings: tuple[bytes, ...]) -> frozenset[bytes] | None:
    """How calls with these openings begin; None when one of them begins in a way that is not looked for."""
    heads = [_HEAD.match(opening) for opening in openings]
    found = frozenset(head[0] for head in heads if head is not None)
    return found if len(heads) == sum(head is not None for head in heads) else None


class Heads:
    """The beginnings of calls in a text; `tangled` when a replacement, whatever its value, may complete another."""

    def __init__(self, text: str) -> None:
        data = folded(text)
        self._found = set(_HEAD.findall(data))
        self.tangled = _TANGLE.search(data) is not None

    def may_hold(self, heads: frozenset[bytes] | None) -> bool:
        return heads is None or not self._found.isdisjoint(heads)
