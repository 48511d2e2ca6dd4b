"""Patterns that remember where they matched, and texts split by them."""

from __future__ import annotations

import pytest

from tavernkit.text.js_regex import JsRegex


@pytest.mark.parametrize(("flags", "start", "found"), [("g", 1, [1, 2]), ("y", 1, [1]), ("", 1, [0]), ("y", 3, [])])
def test_a_search_begins_where_the_pattern_left_off_if_it_heeds_that(flags: str, start: int, found: list[int]) -> None:
    assert [match.start for match in JsRegex(source="a", flags=flags).find_all("aaa", start=start)] == found


@pytest.mark.parametrize(("flags", "replaced"), [("y", "aba"), ("gy", "bbb"), ("", "baa")])
def test_only_a_sticky_pattern_replaces_from_there(flags: str, replaced: str) -> None:
    assert JsRegex(source="a", flags=flags).replace("aaa", "b", start=1) == replaced


@pytest.mark.parametrize(
    ("source", "text", "parts"),
    [("[,;]", "a,b;c", ("a", "b", "c")), ("", "ab", ("a", "b")), ("(,)|(;)", "a;b", ("a", None, ";", "b"))],
)
def test_splitting(source: str, text: str, parts: tuple[str | None, ...]) -> None:
    assert JsRegex(source=source).split(text) == parts
