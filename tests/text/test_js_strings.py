"""Text in UTF-16 units, and what JavaScript trims."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.text.js_strings import (
    JS_WHITESPACE,
    from_units,
    join_halves,
    js_trim,
    python_offsets,
    replace_all,
    replace_first,
    split_halves,
    utf16_length,
    utf16_units,
    well_formed,
)

from .javascript import javascript

ANY_TEXT = st.text(st.characters(codec=None, categories=None))  # lone surrogates and NUL too


def test_white_space_is_what_javascript_says_it_is() -> None:
    everything = "".join(map(chr, range(0x10000)))
    assert "".join(javascript("x.match(/\\s/g)", everything)) == "".join(sorted(JS_WHITESPACE))


@pytest.mark.parametrize(
    ("text", "trimmed"),
    [(" \ufeffMira\u3000\n", "Mira"), ("\x1cMira\x85", "\x1cMira\x85"), ("\u200bMira", "\u200bMira"), (" \t ", "")],
)
def test_only_javascripts_white_space_is_trimmed(text: str, trimmed: str) -> None:
    assert js_trim(text) == trimmed == javascript("x.trim()", text)


@given(ANY_TEXT)
def test_lengths_and_units_are_those_of_javascript(text: str) -> None:
    assert utf16_length(text) == javascript("x.length", text)
    assert list(utf16_units(text)) == javascript("Array.from({length: x.length}, (_, i) => x.charCodeAt(i))", text)


@given(ANY_TEXT)
def test_the_offset_of_every_character_is_its_place(text: str) -> None:
    offsets = [utf16_length(text[:place]) for place in range(len(text) + 1)]
    assert python_offsets(text, offsets) == list(range(len(text) + 1))


def test_an_offset_between_two_surrogates_is_the_place_of_their_character() -> None:
    assert python_offsets("a🙂b🙂", [0, 1, 2, 3, 4, 5, 6]) == [0, 1, 1, 2, 3, 3, 4]


def test_the_last_character_of_one_unit_and_the_first_of_two() -> None:
    assert utf16_length("\uffff") == 1
    assert utf16_length("\U00010000" + chr(sys.maxunicode)) == 4


def test_halves_of_a_character_that_meet_become_one() -> None:
    assert join_halves("a\ud83d" + "\ude42b") == "a🙂b"
    assert join_halves("\ude42\ud83d") == "\ude42\ud83d"


@given(ANY_TEXT, ANY_TEXT)
def test_joined_texts_are_what_javascript_joins(left: str, right: str) -> None:
    assert join_halves(left + right) == javascript("x[0] + x[1]", [left, right])


@given(ANY_TEXT)
def test_units_make_the_text_again(text: str) -> None:
    assert from_units(utf16_units(text)) == join_halves(split_halves(text)) == join_halves(text)
    assert len(split_halves(text)) == utf16_length(text)


@given(ANY_TEXT)
def test_what_is_sent_out_has_no_lone_halves(text: str) -> None:
    assert well_formed(text) == javascript("x.toWellFormed()", text)


SHORT = st.text("ab$&`'1😀", max_size=6)


@given(SHORT, SHORT.map(lambda text: text[:2]), SHORT)
def test_replacing_fills_in_what_was_found(text: str, searched: str, replacement: str) -> None:
    given = [text, searched, replacement]
    everywhere, once = (javascript(f"x[0].{name}(x[1], x[2])", given) for name in ("replaceAll", "replace"))
    assert replace_all(*given) == join_halves(everywhere)
    assert replace_first(*given) == join_halves(once)


@pytest.mark.parametrize("replacement", ["x" * 100, "$`" * 3, "$&" * 100])
def test_replacing_stops_before_the_text_grows_too_long(replacement: str) -> None:
    with pytest.raises(OverflowError):
        replace_all("a" * 100, "a", replacement, longest=1_000)
