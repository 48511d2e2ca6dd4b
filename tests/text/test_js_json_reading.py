"""JSON read as JavaScript reads it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.text.js_json import from_json, in_property_order, is_index, to_json

from .javascript import javascript

PIECES = st.lists(
    st.sampled_from(
        ["[", "]", "{", "}", ",", ":", '"a"', '"10"', '"2"', "1", "-0", "1.5", "1e3", "null", "NaN", " ", "\t"]
    )
)


@given(PIECES.map("".join))
def test_the_same_texts_are_json(text: str) -> None:
    theirs = javascript("(() => { try { return [JSON.stringify(JSON.parse(x))] } catch { return [] } })()", text)
    try:
        ours = [to_json(from_json(text))]
    except ValueError:
        ours = []
    assert ours == theirs


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "-Infinity", "", "\ufeff1", "01", "'a'", "[1,]"])
def test_what_is_no_json(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - it has no other reason
        from_json(text)


def test_numbers_beyond_a_double_are_rounded() -> None:
    assert to_json(from_json("[9007199254740993,1e400," + "9" * 5_000 + "]")) == "[9007199254740992,null,null]"


@pytest.mark.parametrize(("depth", "is_read"), [(200, True), (201, False), (100_000, False)])
def test_depth_is_limited(depth: int, is_read: bool) -> None:
    text = "[" * depth + "]" * depth
    try:
        from_json(text)
    except ValueError:
        assert not is_read
    else:
        assert is_read


def test_many_brackets_side_by_side_are_no_depth() -> None:
    assert len(from_json(json.dumps([[]] * 1_000))) == 1_000


@given(st.lists(st.sampled_from(["b", "10", "2", "01", "a", "4294967294", "4294967295", "-1"]), unique=True))
def test_properties_keep_javascripts_order(names: list[str]) -> None:
    ours = list(in_property_order(dict.fromkeys(names, 0)))
    assert ours == javascript("Object.keys(Object.fromEntries(x.map((name) => [name, 0])))", names)


@pytest.mark.parametrize(
    ("name", "is_place"), [("0", True), ("10", True), ("01", False), ("4294967295", False), ("", False)]
)
def test_places_in_arrays(name: str, is_place: bool) -> None:
    assert is_index(name) is is_place
