"""The parts of the cleaning that are of use on their own."""

import pytest

from tavernkit.sillytavern.cleanup import (
    collapse_newlines,
    fix_markdown,
    trim_to_end_sentence,
    trim_to_start_sentence,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two. Thr", "One. Two."),
        ("*waves* and", "*waves*"),
        ("終わり。続き", "終わり。"),
        ("Yes ❤️ and", "Yes ❤"),
        ("flag 🇫🇷 then", "flag 🇫🇷"),
        ("word . next", "word"),
        (". start", "."),
        (" .", ""),
        ("no end in 3 ~ here; ", "no end in 3 ~ here;"),
        ("", ""),
    ],
)
def test_a_text_ends_with_its_last_sentence(text: str, expected: str) -> None:
    assert trim_to_end_sentence(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("end of it. Next. Last.", "Next. Last."),
        ("Hm? ok. yes", "ok. yes"),
        ("title\nNext. Last", "Next. Last"),
        ("a!b.c", ".c"),
        ("! x", "! x"),
        (". a", ". a"),
        ("End.", ""),
        ("never ends", "never ends"),
        ("", ""),
    ],
)
def test_a_text_begins_with_its_first_whole_sentence(text: str, expected: str) -> None:
    assert trim_to_start_sentence(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("* waves * hi", "*waves* hi"),
        ("** bold ** _ it _ __ x __", "**bold** _it_ __x__"),
        ("* a *b* c *", "*a*b*c*"),
        ("2 * 3 * 4", "2 *3* 4"),
        ("*a\nb *", "*a\nb*"),
        ("* x\u3000*", "*x*"),
        ("unpaired * star", "unpaired * star"),
        ('odd "quote', 'odd "quote'),
    ],
)
def test_emphasis_loses_the_spaces_beside_its_marks(text: str, expected: str) -> None:
    assert fix_markdown(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("unpaired * star", "unpaired * star*"),
        ('odd "quote  \nfine', 'odd "quote"\nfine'),
        ("*a\nb *", "*a*\nb**"),
        ('*a "b', '*a "b"'),
    ],
)
def test_for_display_the_marks_of_a_line_are_closed(text: str, expected: str) -> None:
    assert fix_markdown(text, for_display=True) == expected


def test_several_line_breaks_become_one() -> None:
    assert collapse_newlines("\n\na\n\n\nb\r\n\r\nc") == "\na\nb\r\n\r\nc"
