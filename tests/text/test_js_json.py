"""JSON written as JavaScript does."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.text.js_json import to_json

from .javascript import javascript

# JavaScript moves keys that are numbers to the front, and has no whole numbers beyond these. Fractions are short ones:
# this engine writes a digit too many for some others, where the language asks for as few as possible.
keys = st.text(max_size=3).map("k{}".format)
numbers = st.integers(-(2**53), 2**53) | st.integers(-(10**9), 10**9).map(lambda number: number / 1000)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(st.characters(), max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)


@given(value=values)
@pytest.mark.parametrize("indent", [0, 2])
def test_it_is_what_javascript_writes(value: Any, indent: int) -> None:
    assert to_json(value, indent=indent) == javascript(f"JSON.stringify(x, null, {indent})", value)
