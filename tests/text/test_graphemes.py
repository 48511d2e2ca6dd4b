"""What a reader takes for one character."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.text.graphemes import split_graphemes


@pytest.mark.parametrize(
    "clusters",
    [
        ["a", "b"],
        ["e\u0301", "x"],
        ["👍🏽", "!"],
        ["👩‍👩‍👧", "👩"],
        ["❤️", "a"],
        ["🇰🇷", "🇯🇵", "🇫"],
        ["\r\n", "\n", "\r", "a"],
        ["\u1112\u1161\u11ab", "가\u11a8", "각", "가"],
        ["한", "글"],
    ],
)
def test_what_belongs_together_stays_together(clusters: list[str]) -> None:
    assert split_graphemes("".join(clusters)) == clusters


@given(st.text(st.characters(codec=None, categories=None)))
def test_nothing_is_lost(text: str) -> None:
    clusters = split_graphemes(text)
    assert "".join(clusters) == text
    assert all(clusters)
