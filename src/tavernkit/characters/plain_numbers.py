"""Numbers that Python's JSON accepts and everybody else's refuses: NaN and the infinities."""

from __future__ import annotations

import math
import sys

from tavernkit.errors import InvalidCardError
from tavernkit.reading import MAX_JSON_DEPTH, ReportBuilder
from tavernkit.values import Json


def with_plain_numbers(value: Json, report: ReportBuilder) -> Json:
    """Return the same value where all is well; else a copy that any JSON reader takes, with a note for each change."""
    return value if _is_plain(value) else _replace(value, report, "")


def _is_plain(value: Json) -> bool:
    """Look at all numbers, level by level, without following the places where they stand."""
    level = [value]
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
        return {key: _replace(item, report, f"{path}.{key}" if path else str(key)) for key, item in value.items()}
    if isinstance(value, list):
        return [_replace(item, report, f"{path}[{index}]") for index, item in enumerate(value)]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    if math.isnan(value):
        report.converted(path, "not a number (NaN), which JSON cannot hold, read as null")
        return None
    report.converted(path, "a number beyond all limits read as the largest one that fits")
    return math.copysign(sys.float_info.max, value)
