"""Arrays as CBS texts hold them: a JSON array, or items between `§`."""

from __future__ import annotations

from collections.abc import Iterable

from tavernkit.text.js_json import from_json, to_json
from tavernkit.values import Json


def parse_array(text: str) -> list[Json]:
    """The items of the text; what is no JSON array is split at `§`, and so has at least one item."""
    if text.lstrip().startswith("["):
        try:
            items = from_json(text)
        except ValueError:
            return [*text.split("§")]
        if isinstance(items, list):
            return items
    return [*text.split("§")]


def write_array(items: Iterable[Json]) -> str:
    """The items as JSON; RisuAI spells `::`, which would part arguments, as an escape, and JSON escapes that again."""
    return to_json([item.replace("::", r"\u003A\u003A") if isinstance(item, str) else item for item in items])
