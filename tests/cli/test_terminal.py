import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.cli.output import Printer, plain, shorten, to_json_bytes
from tests.strategies import json_values, texts


@given(texts)
def test_plain_text_can_be_printed_anywhere(text: str) -> None:
    shown = plain(text)
    shown.encode()
    assert all(character in "\n\t" or character.isprintable() or ord(character) > 0x9F for character in shown)


def test_plain_text_keeps_what_people_write() -> None:
    assert plain("Grüße,\r\n\tmind the 🐈.") == "Grüße,\n\tmind the 🐈."


@given(texts | st.text("ab \n", max_size=200), st.integers(2, 40))
def test_a_shortened_text_is_one_short_line(text: str, width: int) -> None:
    line = shorten(text, width)
    assert len(line) <= width
    assert "\n" not in line


def test_a_short_text_stays_as_it_is() -> None:
    assert shorten("tick tock", 9) == "tick tock"
    assert shorten("tick tock", 8) == "tick to…"


@given(json_values)
def test_any_value_is_a_json_document_and_valid_utf_8(value: object) -> None:
    assert json.loads(to_json_bytes(value).decode()) == value


def test_what_json_cannot_say_becomes_null() -> None:
    assert json.loads(to_json_bytes({"a": [float("nan"), float("inf"), 1.5]})) == {"a": [None, None, 1.5]}


def test_lines_of_a_table_end_with_their_last_word(capsys: pytest.CaptureFixture[str]) -> None:
    Printer().table(("file", "what"), [("a.png", "short"), ("long name.png", "a much longer sentence")])
    assert capsys.readouterr().out.splitlines() == [
        "file           what",
        "a.png          short",
        "long name.png  a much longer sentence",
    ]
