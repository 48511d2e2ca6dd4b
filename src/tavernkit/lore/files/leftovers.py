"""What a foreign format says beyond our fields is kept as that format's own extension."""

from __future__ import annotations

from tavernkit.reading import LooseObject
from tavernkit.values import Json


def leftovers(source: LooseObject, platform: str) -> dict[str, Json]:
    """Everything that was not read from `source`, under the platform's name; ask when all else has been read."""
    rest = source.rest()
    return {platform: rest} if rest else {}
