"""Every text of the interface is in the catalogue of every language."""

import re
from collections.abc import Iterable

import pytest
from scripts import translations

from tavernkit.playground.base.languages import LANGUAGES
from tests.docs.unmarked import FRONTEND, Found, in_python, in_scripts, in_templates

NAMES: dict[str, str] = {
    "TavernKit": "the name of the application",
}
"""Texts that are the same in every language, and why."""


def expect_none(found: Iterable[Found | str]) -> None:
    problems = [str(text) for text in found if isinstance(text, str) or text.text not in NAMES]
    if problems:
        # Without the limits that a comparison has.
        pytest.fail("\n".join([f"{len(problems)} texts:", *problems]), pytrace=False)


def test_every_sentence_is_in_every_catalogue_with_its_places() -> None:
    expect_none(translations.problems())


def test_every_text_of_a_template_is_marked() -> None:
    expect_none(in_templates())


def test_every_sentence_of_a_service_is_marked() -> None:
    expect_none(in_python())


def test_every_sentence_of_a_script_is_marked() -> None:
    expect_none(in_scripts())


def test_names_that_are_allowed_are_in_use() -> None:
    texts = {found.text for place in (in_templates, in_python, in_scripts) for found in place()}
    assert sorted(set(NAMES) - texts) == []


def test_the_collector_finds_whatever_the_scripts_have_marked() -> None:
    known = {
        message.id if isinstance(message.id, str) else message.id[0] for message in translations.source_catalogue()
    }
    marked = re.compile(r'(?<![\w.])(?:_|ngettext)\(\s*"((?:[^"\\]|\\.)+)"')
    sources = {file: file.read_text() for file in FRONTEND.rglob("*.ts")}
    texts = [(file.name, text) for file, source in sources.items() for text in marked.findall(source)]
    assert [(file, text) for file, text in texts if text not in known] == []


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != "en"])
def test_a_catalogue_has_nothing_that_nobody_shows(language: str) -> None:
    source = translations.source_catalogue()
    catalogue = translations.read(translations.catalogues()[language], language)
    assert [message.id for message in catalogue if message.id and message.id not in source] == []
