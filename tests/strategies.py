"""Hypothesis strategies for the values that many tests need."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

__all__ = ["cards", "json_objects", "json_values", "texts"]

# Any text at all, with half surrogate pairs, which real cards contain.
texts = st.text(st.characters(), max_size=20)
names = texts.filter(lambda text: text.strip() != "")
numbers = st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
keys = st.text(min_size=1, max_size=8).map(lambda key: f"x_{key}")

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
json_objects = st.dictionaries(texts, json_values, max_size=3)
unknown = st.dictionaries(keys, json_values, max_size=2)


def _merged(parts: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    return {key: value for part in parts for key, value in part.items()}


_entries = st.tuples(
    unknown,
    st.fixed_dictionaries(
        {
            "keys": st.lists(texts, max_size=2),
            "content": texts,
            "extensions": json_objects,
            "enabled": st.booleans(),
            "insertion_order": st.integers(-1000, 1000),
        },
        optional={
            "id": st.integers(0, 99),
            "name": texts,
            "comment": texts,
            "priority": st.integers(-10, 10),
            "selective": st.booleans(),
            "secondary_keys": st.lists(texts, max_size=2),
            "constant": st.booleans(),
            "position": st.sampled_from(("before_char", "after_char")),
            "case_sensitive": st.booleans() | st.none(),
            "use_regex": st.booleans(),
        },
    ),
).map(_merged)
_books = st.tuples(
    unknown,
    st.fixed_dictionaries(
        {"entries": st.lists(_entries, max_size=3), "extensions": json_objects},
        optional={
            "name": texts,
            "description": texts,
            "scan_depth": st.integers(0, 100),
            "token_budget": st.integers(0, 9999),
            "recursive_scanning": st.booleans(),
        },
    ),
).map(_merged)
_assets = st.tuples(unknown, st.fixed_dictionaries({"type": texts, "uri": texts, "name": texts, "ext": texts})).map(
    _merged
)
_data = st.tuples(
    unknown,
    st.fixed_dictionaries(
        {"name": names},
        optional={
            **dict.fromkeys(
                (
                    "description",
                    "personality",
                    "scenario",
                    "first_mes",
                    "mes_example",
                    "creator_notes",
                    "system_prompt",
                    "post_history_instructions",
                    "creator",
                    "character_version",
                ),
                texts,
            ),
            "alternate_greetings": st.lists(texts, max_size=3),
            "group_only_greetings": st.lists(texts, max_size=2),
            "tags": st.lists(texts, max_size=3),
            "extensions": json_objects,
            "character_book": _books | st.none(),
            "nickname": texts | st.none(),
            "creator_notes_multilingual": st.dictionaries(texts, texts, max_size=2) | st.none(),
            "source": st.lists(texts, max_size=2) | st.none(),
            "assets": st.lists(_assets, max_size=2) | st.none(),
            "creation_date": st.integers(0, 2**40) | st.none(),
            "modification_date": st.integers(0, 2**40) | st.none(),
        },
    ),
).map(_merged)
_mirrors = st.fixed_dictionaries(
    {}, optional={"name": texts, "description": texts, "tags": st.lists(texts, max_size=2), "creatorcomment": texts}
)


def _envelope(parts: tuple[int, dict[str, Any], dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
    version, data, mirrors, rest = parts
    if version == 1:
        # With its name, or with a description beside fields of something else, it would be no card.
        return {"first_mes": "", **rest, **data}
    return {**rest, **mirrors, "spec": f"chara_card_v{version}", "spec_version": f"{version}.0", "data": data}


cards = st.tuples(st.sampled_from((1, 2, 3)), _data, _mirrors, unknown).map(_envelope)
"""Well-typed cards of all versions, with unknown fields at every level."""
