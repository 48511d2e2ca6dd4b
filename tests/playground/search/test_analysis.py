"""What a query matches: case, accents and width make no difference, and languages without spaces are found by parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.playground.base.database.fulltext.analysis import SearchQuery
from tavernkit.text.words import FoldedText, fold, tokens_of
from tests.playground.search.texts import queries, texts


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("eclair", "Une ÉCLAIR"),
        ("Éclair", "e\u0301clair"),
        ("strasse", "Die Straße"),
        ("ключ", "Старые КЛЮЧИ"),
        ("елка", "Ёлка"),
        ("钥匙", "她把钥匙给了我"),
        ("钥", "一把钥"),
        ("図書館", "町の図書館へ"),
        ("カギ", "ｶｷﾞ"),
        ("서관", "도서관에서"),
        ("🔑", "the🔑!"),
        ("👩‍💻", "a 👩💻"),
        ("don't", "I don’t know"),
        ('"silver key"', "the Silver, key"),
        ("key silver", "a silver key"),
        ("istanbul", "İstanbul"),
        ("abc", "ＡＢＣ"),
    ],
)
def test_a_query_matches(query: str, text: str) -> None:
    assert SearchQuery(query).matches(fold(text))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("ke", "key"),
        ("ey", "key"),
        ('"silver key"', "a key of silver"),
        ('"silver ke"', "silver key"),
        ("图馆", "图书馆"),
        ("か", "が"),
        ("key lock", "key"),
        ("!?", "!?"),
        ("", "anything"),
    ],
)
def test_a_query_does_not_match(query: str, text: str) -> None:
    assert not SearchQuery(query).matches(fold(text))


@given(texts, queries)
def test_a_text_that_matches_has_the_tokens_of_the_query(text: str, query: str) -> None:
    asked = SearchQuery(query)
    if asked.matches(fold(text)):
        has = tokens_of(text)
        for token in asked.tokens:
            assert any(one.startswith(token.text) for one in has) if token.is_beginning else token.text in has


@given(texts | st.text(max_size=30), queries)
def test_what_is_marked_is_what_matches(text: str, query: str) -> None:
    asked, folded = SearchQuery(query), FoldedText(text)
    spans = asked.spans(folded)
    assert bool(spans) == any(term.pattern.search(folded.folded) for term in asked.terms)
    for start, end in spans:
        assert 0 <= start < end <= len(text)
        assert any(term.pattern.search(fold(text[start:end])) for term in asked.terms)


@given(st.text(max_size=300))
def test_no_query_fails(text: str) -> None:
    query = SearchQuery(text)
    assert query.matches(fold(text)) in (True, False)
    assert all(token.text.isalnum() or len(token.text) <= 2 for token in query.tokens)
