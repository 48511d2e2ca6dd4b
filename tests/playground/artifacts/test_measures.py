"""Bars in artifacts: how far a number has come between the bounds that it has."""

from __future__ import annotations

import pytest

from tavernkit.playground.edge.presenting.artifact_cards import IN_PANEL, content_view
from tavernkit.values import Json, JsonObject


def shares(content: Json, schema: JsonObject | None = None) -> dict[str, float | None]:
    value = content_view(content, "json", IN_PANEL, schema=schema).value
    assert value is not None
    return {name: field.share for name, field in value.fields}


def bounded(**bounds: Json) -> JsonObject:
    return {"type": "object", "properties": {"hp": {"type": "integer", **bounds}}}


def test_a_measure_without_bounds_goes_from_0_to_100() -> None:
    assert shares({"hp": 30, "hour": 8, "mana": 120, "alive": True}) == {
        "Hp": 30,
        "Hour": None,
        "Mana": None,
        "Alive": None,
    }


@pytest.mark.parametrize(
    ("number", "bounds", "share"),
    [
        (12, {"minimum": 0, "maximum": 20}, 60),
        (12, {"maximum": 20}, 60),
        (0, {"minimum": -10, "maximum": 10}, 50),
        (150, {"minimum": 0, "maximum": 120}, 100),
        (-5, {"minimum": 0, "maximum": 120}, 0),
        (5, {"minimum": 9, "maximum": 9}, None),
        (5, {"minimum": "strange", "maximum": True}, 5),
    ],
)
def test_the_schema_says_between_which_bounds_a_measure_is(
    number: int, bounds: JsonObject, share: float | None
) -> None:
    assert shares({"hp": number}, bounded(**bounds)) == {"Hp": share}


def test_the_schema_is_followed_into_objects_lists_and_its_own_definitions() -> None:
    schema: JsonObject = {
        "$defs": {"health": {"minimum": 0, "maximum": 10}},
        "properties": {"party": {"items": {"properties": {"health": {"$ref": "#/$defs/health"}}}}},
    }
    value = content_view({"party": [{"health": 4}]}, "json", IN_PANEL, schema=schema).value
    assert value is not None
    assert value.fields[0][1].items[0].fields[0][1].share == 40


@pytest.mark.parametrize(
    ("content", "share"),
    [
        ({"hp": 12, "max_hp": 48}, {"Hp": 25, "Max hp": None}),
        ({"hp": 12, "hpMax": 48}, {"Hp": 25, "Hp max": None}),
        ({"mojo": 15, "min_mojo": 10, "max_mojo": 20}, {"Mojo": 50, "Min mojo": None, "Max mojo": None}),
        ({"current": 60, "max": 40}, {"Current": 100, "Max": None}),
    ],
)
def test_bounds_beside_a_number_count_before_the_schema(content: JsonObject, share: dict[str, float | None]) -> None:
    assert shares(content, bounded(minimum=0, maximum=1000)) == share
