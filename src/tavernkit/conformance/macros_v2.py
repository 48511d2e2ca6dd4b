"""The parser engine of SillyTavern 1.15."""

from __future__ import annotations

from tavernkit.conformance.macro_cases import compare
from tavernkit.sillytavern.macros.engine import ParserMacros
from tavernkit.values import Json, JsonObject

_ENGINE = ParserMacros("1.15")


def check(case: JsonObject) -> tuple[Json, Json]:
    return compare(case, _ENGINE)
