"""Values turned into texts, numbers and yes or no, as JavaScript does it."""

import math

from hypothesis import given
from hypothesis import strategies as st

from tavernkit.text.js_values import is_truthy, join, to_number, to_text
from tavernkit.values import Json

from .javascript import javascript

PLAIN = st.none() | st.booleans() | st.integers(-1000, 1000) | st.sampled_from([0.5, -1.25, "", "a", " 7 ", "0", "NaN"])
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner, max_size=2)
)


@given(VALUES)
def test_texts(value: Json) -> None:
    assert to_text(value) == javascript("String(x)", value)


@given(st.lists(VALUES, max_size=4))
def test_joined_items(items: list[Json]) -> None:
    assert join(items, "-") == javascript("x.join('-')", items)


@given(VALUES)
def test_numbers(value: Json) -> None:
    ours = to_number(value)
    assert ("NaN" if math.isnan(ours) else ours) == javascript("isNaN(Number(x)) ? 'NaN' : Number(x)", value)


@given(VALUES)
def test_yes_and_no(value: Json) -> None:
    assert is_truthy(value) == javascript("Boolean(x)", value)


def test_not_a_number_is_no() -> None:
    assert not is_truthy(math.nan)
