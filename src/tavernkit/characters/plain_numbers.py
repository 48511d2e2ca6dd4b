"""Numbers that Python's JSON accepts and everybody else's refuses: NaN and the infinities."""

from __future__ import annotations

import math
import sys

from tavernkit.errors import InvalidCardError
from tavernkit.reading import MAX_JSON_DEPTH, ReportBuilder
from tavernkit.values import Json


def with_plain_numbers(source: dict[str, Json], report: ReportBuilder) -> dict[str, Json]:
    """Return the same object where all is well; else a copy that any JSON reader takes, with a note for each change."""
    return source if _is_plain(source) else {key: _replace(value, report, key) for key, value in source.items()}


def _is_plain(source: dict[str, Json]) -> bool:
    """Look at all numbers, level by level, without following the places where they stand."""
    level: list[dict[str, Json] | list[Json] | float] = [source]
    for _ in range(MAX_JSON_DEPTH + 1):
        if not all(math.isfinite(item) for item in level if isinstance(item, float)):
            return False
        level = [
            child
            for item in level
            if not isinstance(item, float)
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, dict | list | float)
        ]
        if not level:
            return True
    raise InvalidCardError(f"The card is nested more than {MAX_JSON_DEPTH} levels deep.")


def _replace(value: Json, report: ReportBuilder, path: str) -> Json:
    if isinstance(value, dict):
        return {key: _replace(item, report, f"{path}.{key}") for key, item in value.items()}
    if isinstance(value, list):
        return [_replace(item, report, f"{path}[{index}]") for index, item in enumerate(value)]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    if math.isnan(value):
        report.converted(path, "not a number (NaN), which JSON cannot hold, read as null")
        return None
    report.converted(path, "a number beyond all limits read as the largest one that fits")
    return math.copysign(sys.float_info.max, value)
