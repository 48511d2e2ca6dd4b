"""Names of files by SillyTavern's rules."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.migration import Names, chat_folder, file_name, match_folder, sanitised
from tests.strategies import texts


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Anna", "Anna"),
        ('a/b?c<d>e\\f:g*h|i"j', "abcdefghij"),
        ("tab\tnew\nline\x7f\x80", "tabnewline\x7f"),
        ("...", ""),
        ("CON", ""),
        ("nul.txt", ""),
        ("lpt1.a.b", ""),
        ("com10", "com10"),
        ("console", "console"),
        ("Anna. . .", "Anna"),
        (" Anna", " Anna"),
        ("", ""),
        ("half \ud83e", "half \ufffd"),
        ("ä" * 200, "ä" * 127),
    ],
)
def test_a_name_is_made_fit_for_file_systems(name: str, expected: str) -> None:
    assert sanitised(name) == expected


@given(name=st.text(st.characters()) | texts)
def test_a_sanitised_name_is_fit_for_every_file_system_and_stays_as_it_is(name: str) -> None:
    found = sanitised(name)
    assert not set('/?<>\\:*|"\0\n') & set(found)
    assert len(found.encode()) <= 255
    assert found not in (".", "..")
    assert sanitised(found) == found.rstrip(". ")


@given(names=st.lists(st.sampled_from(("Anna", "anna", "Zoë", "Zoe\u0308", "", "com", "a/b")) | texts, max_size=12))
def test_names_of_new_files_never_meet(names: list[str]) -> None:
    taken = Names()
    given_names = []
    for name in names:
        found = file_name(name, taken, ".png")
        assert found.endswith(".png")
        assert len(found.encode()) <= 255
        given_names.append(unicodedata.normalize("NFC", found).casefold())
        taken.add(found)
    assert len(set(given_names)) == len(given_names)


def test_a_taken_name_gets_a_number() -> None:
    assert file_name("Anna", Names(), ".png") == "Anna.png"
    assert file_name("Anna", Names(["anna.PNG"]), ".png") == "Anna1.png"
    assert file_name("Anna", Names(["Anna.png", "Anna1.png"]), ".png") == "Anna2.png"
    assert file_name("Anna", {"Anna.json"}, ".png") == "Anna.png"
    assert file_name("???", Names(), ".json") == "Unnamed.json"
    assert file_name("com", Names(["com.png"]), ".png") == "com10.png"


def test_v05_the_folder_of_chats_is_the_file_of_the_card_without_its_first_png() -> None:
    assert chat_folder("Anna.png") == "Anna"
    assert chat_folder("Anna.png.png") == "Anna.png"
    assert chat_folder("Anna.v2.png") == "Anna.v2"
    assert chat_folder("Anna.PNG") == "Anna.PNG"


def test_v05_a_folder_is_found_by_its_name_then_by_the_only_one_that_differs_in_case_or_accents() -> None:
    decomposed = unicodedata.normalize("NFD", "Zoë")
    assert match_folder("Anna", ["anna", "Anna"]) == "Anna"
    assert match_folder("Anna", ["anna", "Bob"]) == "anna"
    assert match_folder("Anna", ["anna", "ANNA"]) is None
    assert match_folder("Anna", ["Bob"]) is None
    assert match_folder("Zoë", [decomposed]) == decomposed
    assert match_folder(decomposed, Names([decomposed, "Zoë"])) == decomposed
    assert match_folder("ZOË", Names([decomposed, "Zoë"])) is None
