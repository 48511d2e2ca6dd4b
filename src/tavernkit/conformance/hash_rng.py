"""Recorded string hashes and seeded random numbers, made again by our own."""

from __future__ import annotations

from tavernkit.text.seeded import SeededRandom, string_hash
from tavernkit.values import Json, JsonObject


def check(case: JsonObject) -> tuple[Json, Json]:
    """What the case expects, and what we make of its input; its own `group` says of what kind it is."""
    given, expected = case["input"], case["output"]
    if case["group"] == "string_hash":
        return expected, string_hash(given)
    random = SeededRandom(given)
    return expected, [random.random() for _ in expected]
