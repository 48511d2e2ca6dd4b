"""Books and scans in one line."""

from __future__ import annotations

from typing import Any

from tavernkit.lore.book import Book
from tavernkit.lore.files.world_fields import ENTRY_TEMPLATE
from tavernkit.lore.files.world_info import read_world_info
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.sillytavern.world_info import WorldInfo, WorldInfoInput, WorldInfoResult, WorldInfoSettings

__all__ = ["awake", "entry", "reasons", "scan", "world"]


def entry(*keys: str, content: str = "", **fields: Any) -> dict[str, Any]:
    """A new entry of a world file, in SillyTavern's spelling, with these keys."""
    return {**ENTRY_TEMPLATE, "key": list(keys), "content": content, **fields}


def world(*entries: dict[str, Any], name: str = "B") -> Book:
    """A world file with these entries, whose uid is their place."""
    numbered = {str(uid): {"uid": uid, **given} for uid, given in enumerate(entries)}
    return read_world_info(LooseObject({"name": name, "entries": numbered}, ReportBuilder()))


def scan(*books: Book, chat: tuple[str, ...] = (), random: tuple[float, ...] = (0.5,), **given: Any) -> WorldInfoResult:
    """Scan a chat, newest message first. Settings may be given by their own names."""
    names = set(WorldInfoSettings.__struct_fields__)
    settings = WorldInfoSettings(**{name: given.pop(name) for name in list(given) if name in names})
    rolls = iter(random * 100)
    return WorldInfo().scan(
        WorldInfoInput(
            messages=chat,
            books=books,
            settings=given.pop("settings", settings),
            count_tokens=given.pop("count_tokens", len),
            random=lambda: next(rolls),
            **given,
        )
    )


def awake(result: WorldInfoResult) -> list[str]:
    """The references of what woke up, in that order."""
    return [activation.entry.reference for activation in result.activations]


def reasons(result: WorldInfoResult) -> list[str]:
    """The reason of every verdict, in the order of the books."""
    return [verdict.reason for verdict in result.verdicts]
