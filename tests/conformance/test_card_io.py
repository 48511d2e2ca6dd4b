"""Shapes of recorded imports of card files that the file of recorded cases has no example of."""

from __future__ import annotations

import pytest

from tavernkit.conformance.card_io import check


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
