"""Every recorded import of a card file, replayed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tavernkit.conformance import read_vectors
from tavernkit.conformance.card_io import check

CASES = list(read_vectors(Path(__file__).parent / "sillytavern" / "card_io.json").cases())


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_card_io(case):
    expected, actual = check(case)
    assert actual == expected


def recorded(kind, given, **fields):
    return {"kind": kind, "input": given, "expected": {"loaded": {"data": fields}}}


@pytest.mark.parametrize(
    "case",
    [
        recorded("yaml", "name: A\ncontext: c\ngreeting: g", name="A", description="c", first_mes="g", mes_example=""),
        recorded("json", '{"name": "A/B", "tags": "x, y"}', name="AB", tags=["x", "y"]),
        recorded("png", [["Chara", '{"name": "A"}'], ["chara", {"name": "B"}]], name="A"),
        recorded("charx", {"spec": "chara_card_v3", "data": {"name": "A", "tags": "x,y"}}, name="A", tags="x,y"),
        {"kind": "json", "input": "{", "expected": {"import_response": {"error": True}}},
    ],
)
def test_other_shapes_of_cases(case):
    expected, actual = check(case)
    assert actual == expected


def test_a_difference_is_seen():
    expected, actual = check(recorded("json", {"name": "A", "description": "x"}, name="A", description="y"))
    assert actual != expected
