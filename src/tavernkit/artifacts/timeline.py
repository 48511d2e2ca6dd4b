"""The chat as anchors see it: the messages as they were said, whatever else stands among them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache
from itertools import islice
from typing import TypeAlias

from tavernkit.artifacts.anchors import Anchor, RoleFilter
from tavernkit.history import ChatHistory
from tavernkit.prompt.block import Block
from tavernkit.values import Value

_NUMBERED = "message:"
_MESSAGE = re.compile(r"message(?::\d+)?")
FIRST_WINDOW = 128


class At(Value, frozen=True, kw_only=True):
    """A message of the timeline, by its place there."""

    place: int


class Past(Value, frozen=True, kw_only=True):
    """A message that was said, but which the build has not taken up; `number` is unknown if it is older than all."""

    number: int | None = None


class Absent(Value, frozen=True, kw_only=True):
    """No such message was ever said."""


Found: TypeAlias = At | Past | Absent


class Timeline:
    """The messages that a build has taken up, oldest first, without what the system said among them.

    Blocks say by their source which message of the history they are; several can be one message.
    """

    def __init__(self, blocks: Sequence[Block], history: ChatHistory) -> None:
        self.start: int | None = None
        """Where among the blocks the chat begins, be it with what the system said."""
        self.first_block: str | None = None
        self._history = history
        self._heads: list[Block] = []
        self._more: dict[int, list[str]] = {}
        self._found: dict[Anchor, Found] = {}
        last_source = None
        for place, block in enumerate(blocks):
            source = message_source(block)
            if source is None:
                last_source = None
                continue
            if source == last_source:
                self._more.setdefault(len(self._heads) - 1, []).append(block.id)
                continue
            if self.first_block is None:
                self.start, self.first_block = place, block.id
            if block.role == "system":
                last_source = None
            else:
                last_source = source
                self._heads.append(block)

    def resolve(self, anchor: Anchor) -> Found:
        """Find an anchor's message among all that was said, never among what is put in."""
        found = self._found.get(anchor)
        if found is None:
            found = self._found[anchor] = self._resolve(anchor)
        return found

    def blocks(self, place: int) -> list[str]:
        """The ids of the blocks that a message has become."""
        return [self._heads[place].id, *self._more.get(place, ())]

    def edge(self, place: int, *, is_after: bool) -> str:
        """The first or the last of these ids."""
        more = self._more.get(place) if is_after else None
        return more[-1] if more else self._heads[place].id

    def kept(self, sent: Set[str]) -> list[int]:
        """The places of the messages of which at least one block is among those that are sent, oldest first."""
        kept = [place for place, head in enumerate(self._heads) if head.id in sent]
        in_part = {place for place, more in self._more.items() if not sent.isdisjoint(more)}
        return sorted(in_part.union(kept)) if in_part else kept

    def nearest(self, found: At | Past, role_filter: RoleFilter, kept: Iterable[int]) -> int | None:
        """The place among those kept that is nearest to a message; of two, the newer."""
        matching = (place for place in kept if role_filter in ("any", self._heads[place].role))
        if isinstance(found, At):
            return min(matching, key=lambda place: (abs(place - found.place), -place), default=None)
        if found.number is None:
            return next(matching, None)
        number = found.number
        return min(matching, key=lambda place: (abs(self._number(place) - number), -place), default=None)

    def _matching(self, role_filter: RoleFilter) -> Sequence[int]:
        if role_filter == "any":
            return range(len(self._heads))
        return [place for place, head in enumerate(self._heads) if head.role == role_filter]

    def _number(self, place: int) -> int:
        """Where a message stands in the history; what is said now comes behind all of it."""
        source = message_source(self._heads[place]) or ""
        if source.startswith(_NUMBERED):
            return int(source.removeprefix(_NUMBERED))
        return self._number(place - 1) + 1 if place else 0

    def _resolve(self, anchor: Anchor) -> Found:
        match anchor.selector:
            case "after_last_user":
                return self._last("user")
            case "before_last_assistant":
                return self._last("assistant")
            case "after_message_id":
                return self._by_id(str(anchor.message_id))
            case "relative_to_end":
                matching = self._matching(anchor.role_filter)
                return At(place=matching[anchor.distance]) if -anchor.distance <= len(matching) else Past()
            case "relative_to_anchor":
                return Absent() if anchor.base is None else self._before(anchor.base, anchor.distance)

    def _last(self, role: str) -> Found:
        newest_first = range(len(self._heads) - 1, -1, -1)
        place = next((place for place in newest_first if self._heads[place].role == role), None)
        if place is not None:
            return At(place=place)
        return Past() if self._history.count_role(role) else Absent()

    def _before(self, anchor: Anchor, offset: int) -> Found:
        base = self.resolve(anchor)
        if isinstance(base, At):
            return At(place=base.place + offset) if base.place + offset >= 0 else Past()
        return Past() if isinstance(base, Past) and offset else base

    def _by_id(self, message_id: str) -> Found:
        known = (place for place, head in enumerate(self._heads) if _message_id(head.message_metadata) == message_id)
        place = next(known, None)
        return _older(message_id, self._history) if place is None else At(place=place)


def tail_gap(blocks: Sequence[Block], *, is_continued: bool = False) -> int:
    """The place behind the chat and what is injected at its end, or before the last message if that is continued."""
    said = (place for place in range(len(blocks) - 1, -1, -1) if blocks[place].slot == "history")
    last = next(islice(said, 1 if is_continued else 0, None), None)
    if last is None:
        moved = (place for place, block in enumerate(blocks) if message_source(block) is not None)
        return next(moved, len(blocks))
    gap = last + 1
    while gap < len(blocks) and blocks[gap].slot == "injection":
        gap += 1
    return gap


def _older(message_id: str, history: ChatHistory) -> Found:
    """Look for a message that the build has not taken up, from the end of the history in growing steps."""
    total, size, seen = len(history), FIRST_WINDOW, 0
    while seen < total:
        window = history.last(size)
        for place in range(len(window) - seen - 1, -1, -1):
            if _message_id(window[place].metadata) == message_id:
                return Past(number=total - len(window) + place)
        if len(window) <= seen:
            # A history may tell of a longer chat than it lets one read.
            break
        seen, size = len(window), size * 2
    return Absent()


def message_source(block: Block) -> str | None:
    """Which message of the history a block is, as every build writes it: `message:<number>`, or `message` for what is
    said now."""
    source = block.metadata.get("source")
    id = source.get("id") if isinstance(source, dict) else None
    return id if isinstance(id, str) and _is_message(id) else None


@lru_cache(maxsize=8_192)
def _is_message(source: str) -> bool:
    """Asked for every block of every build, and mostly about the same messages."""
    return _MESSAGE.fullmatch(source) is not None


def _message_id(metadata: Mapping[str, object]) -> str | None:
    value = metadata.get("id")
    return None if value is None else str(value)
