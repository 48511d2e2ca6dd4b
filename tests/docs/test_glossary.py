"""The glossary: its terms are on the pages, in the API and in the documentation."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from babel.messages.pofile import read_po

from tests.playground.api.routes import api_alone

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CATALOGUE = ROOT / "src/tavernkit/playground/base/languages/messages.pot"
NOTHING = "–"


class Term(NamedTuple):
    """A row of the glossary."""

    term: str
    meaning: str
    in_api: str
    sillytavern: str
    risuai: str


def terms() -> list[Term]:
    lines = (DOCS / "glossary.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return [Term(*row) for row in rows if row[0] != "on the page"]


def occurs(term: str, text: str) -> bool:
    """As whole words in any case, also in the plural."""
    singular = re.escape(term.removesuffix("s").removesuffix("y"))
    return re.search(rf"\b{singular}(y|s|ys|ies)?\b", text, re.IGNORECASE) is not None


def api_names() -> set[str]:
    document = api_alone().openapi()
    return {*found_names(document), *(word for path in document["paths"] for word in re.findall(r"[\w-]+", path))}


def found_names(part: Any) -> Iterator[str]:
    """Properties and the values of enumerations, at any depth of the OpenAPI document."""
    if isinstance(part, dict):
        yield from part.get("properties", {})
        yield from (str(value) for value in part.get("enum", []))
        yield from ([str(part["const"])] if "const" in part else [])
    for child in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from found_names(child)


def test_no_term_is_explained_twice() -> None:
    named = [term.term.lower() for term in terms()]
    assert len(named) > 60
    assert sorted(set(named)) == sorted(named)


def test_every_row_is_complete() -> None:
    assert [term.term for term in terms() if not all(term)] == []


def test_every_term_is_on_a_page_of_the_application() -> None:
    with CATALOGUE.open("rb") as file:
        sentences = [
            id for message in read_po(file) for id in ([message.id] if isinstance(message.id, str) else message.id)
        ]
    shown = "\n".join(sentences)
    assert [term.term for term in terms() if not occurs(term.term, shown)] == []


def test_every_name_in_the_api_column_is_in_the_api() -> None:
    known = api_names()
    named = {name for term in terms() for name in re.findall(r"`(\w+)`", term.in_api)}
    assert len(named) > 50
    assert sorted(named - known) == []
    assert [term.term for term in terms() if not re.fullmatch(rf"`\w+`|{NOTHING}", term.in_api)] == []


@pytest.mark.parametrize("term", [term.term for term in terms()])
def test_every_term_is_used_in_the_documentation(term: str) -> None:
    pages = [page.read_text() for page in DOCS.glob("*.md") if page.name != "glossary.md"]
    assert any(occurs(term, page) for page in pages)
