"""A preset beside the file that it was imported from."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.presets.originals import differences, restored

PLAIN = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(0, 2, width=16) | st.text("ab", max_size=3)
PROMPTS = st.lists(
    st.fixed_dictionaries({"identifier": st.sampled_from(["main", "nsfw", "own"]), "content": PLAIN}),
    unique_by=lambda prompt: prompt["identifier"],
)
CARDS = st.lists(
    st.fixed_dictionaries({"type": st.sampled_from(["plain", "chat"])}, optional={"text": PLAIN}), max_size=3
)
ORDERS = st.lists(
    st.fixed_dictionaries({"character_id": st.sampled_from([100000, 100001]), "order": st.lists(PLAIN, max_size=2)}),
    unique_by=lambda order: order["character_id"],
)
FILES = st.fixed_dictionaries(
    {},
    optional={
        "temperature": PLAIN,
        "extensions": st.dictionaries(st.text("ab", max_size=1), PLAIN, max_size=2),
        "prompts": PROMPTS | PLAIN,
        "prompt_order": ORDERS,
        "promptTemplate": CARDS,
        "odd": st.lists(PLAIN, max_size=2),
    },
)


def by_name(file: dict[str, Any]) -> dict[str, Any]:
    """The file without the order of lists whose items have names."""
    named = ("prompts", "prompt_order")
    return {
        key: sorted(json.dumps(item, sort_keys=True) for item in value)
        if key in named and isinstance(value, list)
        else value
        for key, value in file.items()
    }


@given(FILES, FILES)
def test_whoever_restores_every_difference_has_the_imported_file(now: dict[str, Any], before: dict[str, Any]) -> None:
    for _step in range(100):
        found = differences(now, before)
        if not found:
            break
        now = restored(now, before, found[0].path)
    assert by_name(now) == by_name(before)
    assert differences(before, before) == []


def test_a_difference_names_the_prompt_and_the_field() -> None:
    before = {"prompts": [{"identifier": "main", "content": "Be kind."}], "temperature": 1}
    now = {"prompts": [{"identifier": "main", "content": "Be brief."}, {"identifier": "own"}], "temperature": True}
    assert [(one.path, one.is_new) for one in differences(now, before)] == [
        (("prompts", "main", "content"), False),
        (("prompts", "own"), True),
        (("temperature",), False),
    ]
    with pytest.raises(Refused):
        restored(now, before, ("prompts", "main", "role"))
