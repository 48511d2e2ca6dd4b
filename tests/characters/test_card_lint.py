"""Hints about what an author probably did not mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.card_lint import lint_card
from tavernkit.characters import Character
from tavernkit.lore import Book, Entry


def found(card: Character) -> list[tuple[str, str, str]]:
    return [(hint.path, hint.code, hint.value) for hint in lint_card(card)]


def entry(**fields: object) -> Character:
    made = Entry(id="1", content="Lore.", **fields)  # type: ignore[arg-type]
    return Character(name="", first_mes="Hi.", character_book=Book(entries=(made,)))


def test_a_card_that_says_what_it_means_has_no_hints() -> None:
    text = "{{char}} talks to {{user}}, {{random::a::b}}. {{// a comment}}"
    card = Character(name="Mira", description=text, first_mes="Hi.", alternate_greetings=("Ho.",))
    assert found(card) == []


@pytest.mark.parametrize("path", ["description", "scenario", "mes_example", "system_prompt"])
def test_macros_that_nobody_knows_are_named_with_their_place(path: str) -> None:
    card = Character(name="Mira", first_mes="Hi.", **{path: "A {{flower}} and {{user}} and {{flower}}."})
    assert found(card) == [(path, "unknown_macro", "{{flower}}")]


def test_empty_greetings_are_counted_from_zero() -> None:
    card = Character(name="Mira", alternate_greetings=("Ho.", " \n"), group_only_greetings=("",))
    assert [path for path, code, _value in found(card) if code == "empty_greeting"] == [
        "first_mes",
        "alternate_greetings[1]",
        "group_only_greetings[0]",
    ]


@pytest.mark.parametrize(
    ("name", "text", "is_found"),
    [
        ("Mira", "Mira mends clocks.", True),
        ("Mira", "Miracles happen.", False),
        ("Mira", "Admirals mend, and mira is somebody else.", False),
        ("雨宫", "我叫雨宫莲。", True),
        ("C-3PO", "I am C-3PO.", True),
        ("*", "A * and another.", False),
    ],
)
def test_names_are_found_as_words(name: str, text: str, is_found: bool) -> None:
    card = Character(name=name, first_mes="Hi.", description=text)
    assert found(card) == ([("description", "name_spelt_out", name)] if is_found else [])


@pytest.mark.parametrize(
    ("card", "hints"),
    [
        (entry(), [("never_matches", "")]),
        (entry(keys=(" ",)), [("never_matches", "")]),
        (entry(keys=("tea",)), []),
        (entry(constant=True), []),
        (entry(enabled=False), []),
        (entry(extensions={"vectorized": True}), []),
        (entry(keys=("/tea|coffee/i",)), []),
        (entry(keys=("/te(a/",)), [("bad_pattern", "/te(a/")]),
        (entry(keys=("te(a",), use_regex=True), [("bad_pattern", "te(a")]),
        (entry(keys=("te(a",)), []),
    ],
)
def test_keys_that_never_match_are_found(card: Character, hints: list[tuple[str, str]]) -> None:
    assert [(code, value) for _path, code, value in found(card)] == hints


@given(st.text(max_size=200), st.text(max_size=20), st.lists(st.text(max_size=50), max_size=3))
def test_every_card_can_be_looked_at(text: str, name: str, greetings: list[str]) -> None:
    card = Character(name=name, description=text, first_mes=text, alternate_greetings=tuple(greetings))
    assert all(hint.message for hint in lint_card(card))
