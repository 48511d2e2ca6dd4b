from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.prompt.tokens import CountCache, ModelTokenEstimator, TokenPiece

LONG = "a long message " * 500


class Words:
    """An encoding that remembers what it was asked."""

    name = "words"
    source = "test"

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def count(self, text: str) -> int:
        self.asked[text] += 1
        return len(text.split())

    def tokenize(self, text: str) -> list[TokenPiece]:
        return [TokenPiece(0, word) for word in text.split()]


@pytest.mark.parametrize("text", ["", "one two", LONG])
def test_the_same_content_is_counted_once(text: str) -> None:
    cache, words = CountCache(), Words()
    assert [cache.count(words, text), cache.count(words, "".join(list(text)))] == [len(text.split())] * 2
    assert words.asked[text] == 1


@pytest.mark.parametrize("text", ["one two", LONG])
def test_each_encoding_has_its_own_counts(text: str) -> None:
    cache, first, second = CountCache(), Words(), Words()
    cache.count(first, text)
    cache.count(second, text)
    assert first.asked == second.asked == {text: 1}


def test_long_texts_that_differ_in_one_character_are_told_apart() -> None:
    cache, words = CountCache(), Words()
    assert cache.count(words, LONG + "x") == cache.count(words, LONG) + 1


def test_what_was_not_asked_for_longest_is_forgotten_first() -> None:
    cache, words = CountCache(max_entries=2), Words()
    for text in ("a", "b", "a", "c", "a", "b"):
        cache.count(words, text)
    assert words.asked == {"a": 1, "b": 2, "c": 1}


def test_a_cache_without_room_still_counts() -> None:
    cache, words = CountCache(max_entries=0), Words()
    assert cache.count(words, "one two") == 2
    assert len(cache) == 0


@given(texts=st.lists(st.text(st.characters(), max_size=5) | st.sampled_from([LONG, "a" * 500]), max_size=30))
def test_it_never_grows_over_its_limits(texts: list[str]) -> None:
    cache, words = CountCache(max_entries=5, max_bytes=2_000), Words()
    for text in texts:
        assert cache.count(words, text) == cache.count(words, text)
        assert len(cache) <= 5
        assert 0 <= cache.bytes_used <= 2_000


def test_long_texts_are_not_kept_alive() -> None:
    cache = CountCache()
    cache.count(Words(), "word " * 200_000)
    assert len(cache) == 1
    assert cache.bytes_used < 1_000


def test_an_estimator_keeps_its_counts_in_the_cache_it_is_given() -> None:
    cache = CountCache()
    estimator = ModelTokenEstimator(cache=cache)
    for hint in ("gpt-4", "gpt-4-turbo", "gpt-4o", "unknown"):
        estimator.estimate("one two", hint)
    assert len(cache) == 2
