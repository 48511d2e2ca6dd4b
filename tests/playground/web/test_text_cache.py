"""Rendered texts are kept, within limits."""

from markupsafe import Markup

from tavernkit.playground.base.text.markdown import TextCache


def test_a_text_is_made_once() -> None:
    cache = TextCache(max_characters=80)
    made = [cache.get(b"a", lambda: Markup("words")) for _ in range(2)]
    assert made[0] is made[1]


def test_what_was_not_asked_for_longest_goes_first() -> None:
    cache = TextCache(max_characters=80)
    for number in range(8):
        cache.get(bytes([number]), lambda: Markup("tenletters"))
    cache.get(bytes([0]), lambda: Markup("never"))
    cache.get(b"new", lambda: Markup("tenletters"))
    assert cache.characters == 80
    assert cache.get(bytes([0]), lambda: Markup("again")) == "tenletters"
    assert cache.get(bytes([1]), lambda: Markup("again")) == "again"


def test_a_text_that_would_push_everything_out_is_not_kept() -> None:
    cache = TextCache(max_characters=80)
    cache.get(b"long", lambda: Markup("elevenletter"))
    assert cache.characters == 0
