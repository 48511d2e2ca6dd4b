"""Every text of the interface is in the catalogue of every language."""

import re
from collections.abc import Callable, Iterable
from functools import cache

import pytest
from scripts import translations

from tavernkit.playground.base.languages import LANGUAGES
from tests.docs.unmarked import FRONTEND, Found, in_python, in_scripts, in_templates

RECORD = "the records of steps are in English, as the library writes them"
OWN = "what a new profile begins with; it is the person's own text from then on"
NAMES = {
    "TavernKit": "the name of the application",
    "settings.json": "the name of a file",
    **dict.fromkeys(("SillyTavern", "RisuAI"), "the name of another application"),
    "Aa": "letters that show a colour scheme",
    "Ottoline": "the name of a bundled character",
    **dict.fromkeys(("Notes", "Note down what was said last"), OWN),
    "Say one word": "what a model is asked to find out whether it answers",
    "Shorten the memory or the prompts, or raise the context size": "part of an error of the library",
    "The body of the request": "part of an error of the library",
    "The run was interrupted and is not taken up again": RECORD,
    "Chosen manually": "kept in a row in English, with the cause by which a page says it",
    "The provider  does not exist. Add it, or remove it from the step": RECORD,
    "The run was taken over or has ended in the meantime. Nothing was written": "for the log",
    "The server answered": "caught by the script that throws it",
    "auto px": "a size",
    **dict.fromkeys(("CSV", "JSON"), "the name of a format"),
    "world_info.depth=5": "a setting, as it is typed",
}
"""Texts that are the same in every language, without the marks around them, and why."""


PLACES = (in_templates, in_python, in_scripts)
source_catalogue = cache(translations.source_catalogue)


@cache
def all_in(place: Callable[[], Iterable[Found]]) -> tuple[Found, ...]:
    return tuple(place())


def expect_none(found: Iterable[Found | str]) -> None:
    problems = [str(text) for text in found if isinstance(text, str) or text.words not in NAMES]
    if problems:
        # Without the limits that a comparison has.
        pytest.fail("\n".join([f"{len(problems)} texts:", *problems]), pytrace=False)


def test_every_sentence_is_in_every_catalogue_with_its_places() -> None:
    expect_none(translations.problems())


def test_every_text_of_a_template_is_marked() -> None:
    expect_none(all_in(in_templates))


def test_every_sentence_of_a_service_is_marked() -> None:
    expect_none(all_in(in_python))


def test_every_sentence_of_a_script_is_marked() -> None:
    expect_none(all_in(in_scripts))


def test_names_that_are_allowed_are_in_use() -> None:
    texts = {found.words for place in PLACES for found in all_in(place)}
    assert sorted(set(NAMES) - texts) == []


def test_the_collector_finds_whatever_the_scripts_have_marked() -> None:
    known = {message.id if isinstance(message.id, str) else message.id[0] for message in source_catalogue()}
    marked = re.compile(r'(?<![\w.])(?:_|ngettext)\(\s*"((?:[^"\\]|\\.)+)"')
    sources = {file: file.read_text() for file in FRONTEND.rglob("*.ts")}
    texts = [(file.name, text) for file, source in sources.items() for text in marked.findall(source)]
    assert [(file, text) for file, text in texts if text not in known] == []


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != "en"])
def test_a_catalogue_has_nothing_that_nobody_shows(language: str) -> None:
    source = source_catalogue()
    catalogue = translations.read(translations.catalogues()[language], language)
    assert [message.id for message in catalogue if message.id and message.id not in source] == []
