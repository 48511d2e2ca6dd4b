"""What SillyTavern 1.15 makes of a card's lorebook, and of a world file."""

import json
from pathlib import Path
from typing import Any

import pytest

from tavernkit.conformance.world_info import check_card_book as check
from tavernkit.lore.files.world_fields import ENTRY_TEMPLATE

RECORDED = Path(__file__).parents[2] / "conformance" / "sillytavern"


def test_a_new_entry_is_the_recorded_template() -> None:
    defaults = json.loads((RECORDED / "world_info_defaults.json").read_text())
    assert defaults["entry_template"] == ENTRY_TEMPLATE


def to_world(**entry: Any) -> dict[str, Any]:
    case = {
        "direction": "character_book -> world_info",
        "input": {"entries": [entry]},
        "expected": {"entries": None},
    }
    (world,) = check(case)[1].values()
    return world


def to_card(**entry: Any) -> dict[str, Any]:
    case = {
        "direction": "world_info -> character_book",
        "input": {"world_name": "W", "entries": [{"uid": 0, **entry}]},
        "expected": {"character_book": None},
    }
    return check(case)[1]["entries"][0]


@pytest.mark.parametrize(
    ("entry", "field", "value"),
    [
        ({"position": "before_char"}, "position", 0),
        ({"position": ""}, "position", 1),
        ({"position": "before_char", "extensions": {"position": 6}}, "position", 6),
        ({"position": "before_char", "extensions": {"position": None}}, "position", 0),
        ({"extensions": {"role": None}}, "role", 0),
        ({"extensions": {"delay_until_recursion": True}}, "delayUntilRecursion", True),
        ({"extensions": {"delay_until_recursion": 3}}, "delayUntilRecursion", 3),
        ({"extensions": {"triggers": None}}, "triggers", []),
        ({"extensions": {"display_index": 8}}, "displayIndex", 8),
        ({"extensions": {"case_sensitive": False}}, "caseSensitive", False),
        ({"case_sensitive": True}, "caseSensitive", None),
        ({"extensions": None}, "extensions", {}),
        ({"comment": None}, "comment", ""),
        ({"comment": "memo"}, "addMemo", True),
        ({"content": "an entry that says nothing of being enabled"}, "disable", True),
        ({"id": "seven"}, "uid", "seven"),
    ],
)
def test_odd_fields_of_a_card(entry: dict[str, Any], field: str, value: Any) -> None:
    assert to_world(keys=["k"], **entry)[field] == value


@pytest.mark.parametrize(
    ("entry", "field", "value"),
    [
        ({"probability": None}, "probability", None),
        ({"useProbability": None}, "useProbability", False),
        ({"groupWeight": None}, "group_weight", None),
        ({"delayUntilRecursion": None}, "delay_until_recursion", False),
        ({"role": None}, "role", 0),
        ({"depth": None}, "depth", 4),
        ({"excludeRecursion": None}, "exclude_recursion", None),
        ({"displayIndex": 5}, "display_index", 5),
        ({"extensions": {"mine": 1}}, "mine", 1),
        ({"extensions": {"depth": 9}, "depth": 2}, "depth", 2),
    ],
)
def test_odd_fields_of_a_world_entry(entry: dict[str, Any], field: str, value: Any) -> None:
    assert to_card(**entry)["extensions"][field] == value


@pytest.mark.parametrize(
    ("position", "name"), [(0, "before_char"), ("0", "before_char"), (7, "after_char"), (None, "after_char")]
)
def test_the_position_of_a_world_entry_by_name(position: Any, name: str) -> None:
    assert to_card(position=position)["position"] == name


def test_entries_of_a_world_come_in_the_order_of_their_uids() -> None:
    case = {
        "direction": "world_info -> character_book",
        "input": {"world_name": "W", "entries": [{"uid": 10}, {"uid": 2}]},
        "expected": {"character_book": None},
    }
    assert [entry["id"] for entry in check(case)[1]["entries"]] == [2, 10]
