"""Putting a reply together from pieces."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tavernkit.playground.edge.models_api.following import GrowingText

# Some of the letters take two code units.
TEXTS = st.text(alphabet="ab é😀𝄞", max_size=30)


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def cut(text: str, size: int) -> list[tuple[int, str]]:
    return [(units(text[:start]), text[start : start + size]) for start in range(0, len(text), size)]


@given(TEXTS, st.integers(1, 5), st.randoms(use_true_random=False))
def test_pieces_may_come_in_any_order_and_twice(text: str, size: int, random: Random) -> None:
    pieces = cut(text, size) * 2
    random.shuffle(pieces)
    growing, taken = GrowingText(), ""
    for offset, piece in pieces:
        growing.add(offset, piece)
        taken += growing.take()
        assert text.startswith(growing.text)
    assert (growing.text, taken, growing.has_hole) == (text, text, False)


@given(TEXTS, st.integers(1, 5), st.data())
def test_what_was_lost_is_learned(text: str, size: int, data: st.DataObject) -> None:
    growing = GrowingText()
    for offset, piece in cut(text, size):
        if data.draw(st.booleans()):
            growing.add(offset, piece)
        growing.learn(text[: data.draw(st.integers(0, len(text)))])
        assert text.startswith(growing.text)
    growing.learn(text)
    assert (growing.text, growing.take(), growing.has_hole) == (text, text, False)


def test_a_piece_behind_a_hole_waits() -> None:
    growing = GrowingText()
    growing.add(0, "One")
    growing.add(7, " three")
    assert (growing.take(), growing.has_hole) == ("One", True)
    growing.learn("One two")
    assert (growing.take(), growing.has_hole) == (" two three", False)


def test_what_contradicts_what_was_heard_is_left_alone() -> None:
    growing = GrowingText()
    growing.add(0, "Tea?")
    growing.learn("Coffee?")
    assert growing.text == "Tea?"
