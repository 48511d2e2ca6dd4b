"""The list of messages as cards add to it: system messages are joined, cache points set, and the last texts put in."""

from __future__ import annotations

from collections.abc import Iterable

from tavernkit.prompt.parts import covered, joined, spans_of
from tavernkit.risuai.template.line import Line
from tavernkit.text.js_strings import js_trim

AUTOMATIC_CACHE_POINTS = 3


def joins_system_messages(model: str) -> bool:
    """Whether RisuAI joins neighbouring system messages for this model."""
    return model.startswith(("gpt", "claude")) or model in ("openrouter", "reverse_proxy")


class FormedPrompt:
    """What has been put together so far."""

    def __init__(self, *, joins: bool) -> None:
        self.lines: list[Line] = []
        self._joins = joins

    def push(self, lines: Iterable[Line]) -> None:
        """Add lines that say something; a system line may be joined to the one before it."""
        for line in lines:
            if not line.says_something:
                continue
            last = self.lines[-1] if self.lines else None
            if last is not None and self._joins and _belong_together(last, line):
                last.content = joined("\n\n", _named(last, line))
                last.parts = [*(last.parts or [last.source]), *(line.parts or [line.source])]
            else:
                self.lines.append(line)

    def mark_cache(self, role: str, count: int) -> None:
        """Set a cache point at the last `count` messages of a role, or of `all`; a negative count is no limit."""
        left = count
        for line in reversed(self.lines):
            if left == 0:
                break
            if role in (line.role, "all"):
                line.is_cache_point = True
                left -= 1

    def trim_texts(self) -> None:
        """Take the white space from both ends of every message."""
        for line in self.lines:
            line.content = js_trim(line.content)


def spliced(lines: list[Line], place: int, line: Line) -> None:
    """Insert a line as JavaScript's `splice` does: a place before the beginning counts from the end."""
    lines.insert(max(0, len(lines) + place) if place < 0 else place, line)


def _named(*lines: Line) -> list[str]:
    """The texts of lines which, where one has lore in it, say where all of them come from."""
    if not any(spans_of(line.content) for line in lines):
        return [line.content for line in lines]
    return [covered(line.content, line.source) for line in lines]


def _belong_together(last: Line, line: Line) -> bool:
    return line.role == last.role == "system" and (last.memo, last.name) == (line.memo, line.name)
