"""What a version changed."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.artifacts.builders import version

from tavernkit.artifacts import apply_patch, change_between, make_patch, merge_patch
from tavernkit.artifacts.json_patch import same_json
from tavernkit.errors import JsonPatchError
from tavernkit.values import Json

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab/~", max_size=3) | st.floats(-2, 2)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=4)
)


def test_g21_json_is_compared_as_a_patch() -> None:
    change = change_between(
        version(1, {"hp": 3, "bag": ["rope"], "old": 1}), version(2, {"hp": 2, "bag": ["rope", "lamp"]})
    )
    assert (change.kind, change.from_version, change.version) == ("json_patch", 1, 2)
    assert change.patch == (
        {"op": "add", "path": "/bag/1", "value": "lamp"},
        {"op": "replace", "path": "/hp", "value": 2},
        {"op": "remove", "path": "/old"},
    )
    assert change.summary == "3 changes: /bag/1, /hp, /old"


def test_g21_what_stands_alike_at_both_ends_of_a_list_stays() -> None:
    assert make_patch([1, 2, 3], [2, 3]) == [{"op": "remove", "path": "/0"}]
    assert make_patch([1, 3], [1, 2, 3]) == [{"op": "add", "path": "/1", "value": 2}]
    assert apply_patch({"a": 1}, [{"op": "remove", "path": ""}, {"op": "add", "path": "", "value": [1]}]) == [1]


def test_g21_texts_are_compared_line_by_line() -> None:
    change = change_between(version(1, "It rains.\nStill."), version(2, "It snows.\nStill."))
    assert change.kind == "unified"
    assert change.text.split("\n") == [
        "--- version 1", "+++ version 2", "@@ -1,2 +1,2 @@", "-It rains.", "+It snows.", " Still.",
    ]  # fmt: skip
    assert change.summary == "1 line added, 1 removed"


def test_g21_lines_that_look_like_the_head_of_a_diff_are_counted() -> None:
    assert change_between(version(1, "-- a\n++ b"), version(2, "++ c")).summary == "1 line added, 2 removed"


def test_g21_long_texts_are_compared_in_one_piece_because_time_is_limited() -> None:
    lines = [f"line {number}" for number in range(6_000)]
    woven = [each for line in lines for each in (line, f"{line} again")]
    change = change_between(version(1, "\n".join(lines)), version(2, "\n".join([*woven, "end"])))
    assert change.summary == "12000 lines added, 5999 removed"
    early = change_between(version(1, "\n".join(lines)), version(2, "\n".join([*lines[:9], "new", *lines[10:]])))
    assert early.text.split("\n") == [
        "--- version 1", "+++ version 2", "@@ -7,7 +7,7 @@", " line 6", " line 7", " line 8", "-line 9", "+new",
        " line 10", " line 11", " line 12",
    ]  # fmt: skip
    assert change_between(version(1, "\n".join(lines)), version(2, "\n".join(lines))).summary == "no change"
    behind = change_between(version(1, "\n".join(lines)), version(2, "\n".join([*lines, "more"])))
    assert behind.summary == "1 line added, 0 removed"


def test_g21_without_a_predecessor_it_is_the_full_value() -> None:
    change = change_between(None, version(7, {"hp": 1}))
    assert (change.kind, change.value, change.from_version, change.summary) == (
        "full",
        {"hp": 1},
        None,
        "first version",
    )


def test_g21_the_same_is_no_change() -> None:
    assert change_between(version(1, {"a": 1}), version(2, {"a": 1})).summary == "no change"
    assert change_between(version(1, "a"), version(2, "a")).summary == "no change"
    many = change_between(version(1, {}), version(2, {f"k{number}": 1 for number in range(10)}))
    assert many.summary.endswith("and 2 more")


def test_g21_a_change_of_type_is_compared_as_text() -> None:
    assert change_between(version(1, "a"), version(2, {"a": 1})).kind == "unified"


@given(values, values)
def test_g21_a_patch_leads_from_one_to_the_other(before: Json, after: Json) -> None:
    untouched = copy.deepcopy(before)
    assert same_json(apply_patch(before, make_patch(before, after)), after)
    assert same_json(before, untouched)
    assert make_patch(after, after) == []


@pytest.mark.parametrize(
    ("patch", "result"),
    [
        ([{"op": "add", "path": "/bag/-", "value": "x"}], {"bag": ["rope", "x"], "hp": 3}),
        ([{"op": "move", "from": "/hp", "path": "/mp"}], {"bag": ["rope"], "mp": 3}),
        ([{"op": "copy", "from": "/bag", "path": "/chest"}], {"bag": ["rope"], "chest": ["rope"], "hp": 3}),
        ([{"op": "test", "path": "/hp", "value": 3}, {"op": "remove", "path": "/bag/0"}], {"bag": [], "hp": 3}),
        ([{"op": "replace", "path": "", "value": 7}], 7),
    ],
)
def test_every_operation_of_a_patch(patch: list[dict[str, Json]], result: Json) -> None:
    assert apply_patch({"bag": ["rope"], "hp": 3}, patch) == result


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/nothing"},
        {"op": "replace", "path": "/bag/9", "value": 1},
        {"op": "add", "path": "/bag/02", "value": 1},
        {"op": "add", "path": "/hp/x", "value": 1},
        {"op": "add", "path": "/x"},
        {"op": "test", "path": "/hp", "value": True},
        {"op": "move", "from": "/bag", "path": "/bag/0"},
        {"op": "dance", "path": "/hp"},
        {"op": "remove", "path": "hp"},
        {"op": "remove"},
        {"path": "/hp"},
        {"op": ["remove"], "path": "/hp"},
        {"op": "add", "path": f"/bag/{'9' * 5_000}", "value": 1},
        {"op": "replace", "path": "/bag/\u0660", "value": 1},
        {"op": "replace", "path": "/bag/-", "value": 1},
        {"op": "move", "from": "", "path": "/inside"},
        {"op": "copy", "path": "/hp"},
        "remove",
        None,
    ],
)
def test_a_patch_that_does_not_fit_changes_nothing(operation: Any) -> None:
    document = {"bag": ["rope"], "hp": 3}
    with pytest.raises(JsonPatchError, match="Operation 1 of the JSON patch") as refused:
        apply_patch(document, [{"op": "replace", "path": "/hp", "value": 0}, operation])
    assert refused.value.code == "json_patch_error"
    assert document == {"bag": ["rope"], "hp": 3}


def test_a_patch_cannot_grow_without_end() -> None:
    everything_again = {"op": "copy", "from": "", "path": "/-"}
    assert len(apply_patch([[]], [everything_again] * 9)) == 10
    with pytest.raises(JsonPatchError, match="more than 100,000 values"):
        apply_patch([[]], [everything_again] * 60)
    with pytest.raises(JsonPatchError, match="more than 100,000 values"):
        apply_patch(list(range(1_000)), [{"op": "test", "path": "", "value": list(range(1_000))}] * 200)
    deep: Json = "x"
    for _ in range(5_000):
        deep = [deep]
    with pytest.raises(JsonPatchError, match="nested too deeply"):
        apply_patch(deep, [])
    with pytest.raises(JsonPatchError, match="nested too deeply"):
        apply_patch([], [{"op": "add", "path": "/-", "value": deep}])


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a"], {"b": 1}, {"b": 1}),
        ({"a": 1}, None, None),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_g8_merge_patches_are_those_of_the_standard(target: Json, patch: Json, result: Json) -> None:
    assert merge_patch(target, patch) == result
