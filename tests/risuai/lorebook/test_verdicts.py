"""Why an entry is in the prompt, and why not."""

from __future__ import annotations

import pytest
from tests.risuai.lorebook.builders import entry, scanned

from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.lorebook import LorebookCause, LorebookPlace, LorebookReason, LorebookVerdict


def verdict_on(lore: LoreEntry, *others: LoreEntry, chat: list[str] | None = None, **given: object) -> LorebookVerdict:
    chat = ["old news", "the sea"] if chat is None else chat
    return scanned(*others, lore, chat=chat, depth=len(chat), **given).verdicts[len(others)]


def test_an_entry_tells_which_key_woke_it_up_and_where() -> None:
    verdict = verdict_on(entry("moon, news", "N"))

    assert (verdict.reason, verdict.cause, verdict.key) == (LorebookReason.ACTIVATED, LorebookCause.KEY, "news")
    assert verdict.place == LorebookPlace(message=1)
    assert str(verdict) == "“news” was found in the message 1 before the newest"


def test_an_entry_tells_who_called_it() -> None:
    verdict = verdict_on(entry("trident", "T"), entry("sea", "a trident", comment="The sea"))

    assert verdict.place == LorebookPlace(lore="The sea")
    assert str(verdict) == "“trident” was found in the entry “The sea”"


@pytest.mark.parametrize(
    ("lore", "reason", "sentence"),
    [
        (entry("", "x"), "no_keys", "has no keys and is not always active"),
        (entry("moon", "x"), "no_key", "none of its keys was found"),
        (
            entry("sea", "@@additional_keys moon\nx"),
            "no_additional_key",
            "“sea” was found in message 1, but not “moon”",
        ),
        (
            entry("sea", "x", secondary_key="moon", selective=True),
            "no_secondary_key",
            "“sea” was found in message 1, but not “moon”",
        ),
        (
            entry("sea", "@@exclude_keys moon, old\nx"),
            "excluded",
            "“old” was found in message 0, which excludes it",
        ),
        (entry("sea", "@@exclude_keys_all e\nx"), "excluded_all", "all of its excluded keys are in every text"),
        (entry("sea", "@@activate_only_after 9\nx"), "too_early", "delayed for 6 more messages"),
        (entry("moon", "@@activate_only_after 9\nx"), "too_early", "delayed for 6 more messages"),
        (entry("sea", "@@activate_only_every 2\nx"), "not_this_turn", "its turn is in 1 more message"),
        (entry("sea", "@@is_greeting 2\nx"), "other_greeting", "only for chats that began with greeting 2"),
        (entry("sea", "@@probability 20\nx"), "probability", "probability: 20 of 100, rolled 50"),
        (entry("sea", "@@dont_activate\nx"), "decorator", "@@dont_activate"),
        (entry("moon", "@@dont_activate\nx"), "decorator", "@@dont_activate"),
        (entry("sea", "x", mode="child", id="c"), "no_parent", "no entry before it has the same id"),
        (entry("moon", "@@activate\nx"), "activated", "@@activate"),
        (entry("", "x", always_active=True), "activated", "always active"),
    ],
)
def test_every_reason_is_a_sentence(lore: LoreEntry, reason: str, sentence: str) -> None:
    verdict = verdict_on(lore)

    assert (verdict.reason, str(verdict)) == (reason, sentence)


def test_a_child_tells_of_its_parent() -> None:
    child = entry("x", mode="child", id="p")

    assert str(verdict_on(child, entry("moon", "P", id="p"))) == "stands in for the entry of the same id"
    assert str(verdict_on(child, entry("sea", "P", id="p"))) == "the entry of the same id is active itself"


def test_what_did_not_fit_still_tells_why_it_woke_up() -> None:
    verdict = verdict_on(entry("sea", "too many words"), budget=2)

    assert verdict.reason == LorebookReason.BUDGET
    assert not verdict.is_activated
    assert str(verdict) == "budget short by 1 token"


def test_memory_is_a_reason() -> None:
    kept = entry("moon", "@@keep_activate_after_match\nx", id="k")
    ended = entry("sea", "@@dont_activate_after_match\nx", id="d")

    assert str(verdict_on(kept, variables={"__internal_ka_k": "true"})) == "has matched before, and is kept"
    assert verdict_on(ended, variables={"__internal_da_d": "true"}).reason == LorebookReason.ALREADY_MATCHED


def test_what_is_injected_tells_into_what() -> None:
    verdict = verdict_on(entry("sea", "@@inject_lore Target\nx"), entry("sea", "body", comment="Target"))

    assert str(verdict) == "“sea” was found in the newest message; injected into “Target”"
