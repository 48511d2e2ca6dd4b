"""What holds for any books and any chat."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.sillytavern.world_info.builders import awake, entry, world

from tavernkit.lore.book import Book
from tavernkit.sillytavern.world_info import WorldInfo, WorldInfoInput, WorldInfoSettings

WORDS = ("gull", "Gull", "gullible", "owl", "old owl", "ς", "ΟΔΟΣ", "İ", "夜", "a_b", "<x>", "{{k}}", "/g.l/i", " ", "")
texts = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
maybe = st.none() | st.booleans()

entries = st.builds(
    lambda keys, secondary, content, fields: entry(*keys, content=content, keysecondary=secondary, **fields),
    st.lists(st.sampled_from(WORDS), max_size=2),
    st.lists(st.sampled_from(WORDS), max_size=2),
    texts,
    st.fixed_dictionaries(
        {},
        optional={
            "selectiveLogic": st.integers(0, 4),
            "order": st.integers(0, 3),
            "scanDepth": st.integers(0, 3),
            "caseSensitive": maybe,
            "matchWholeWords": maybe,
            "constant": st.booleans(),
            "disable": st.booleans(),
            "probability": st.sampled_from([0, 50, 100]),
            "group": st.sampled_from(["", "g", "h", "g, h", "1"]),
            "groupOverride": st.booleans(),
            "useGroupScoring": maybe,
            "delayUntilRecursion": st.sampled_from([0, 1, 2, True]),
            "excludeRecursion": st.booleans(),
            "preventRecursion": st.booleans(),
            "ignoreBudget": st.booleans(),
            "sticky": st.integers(0, 2),
            "cooldown": st.integers(0, 2),
            "delay": st.integers(0, 2),
            "triggers": st.sampled_from([[], ["normal"], ["quiet"]]),
            "position": st.integers(0, 8),
        },
    ),
)
scan_settings = st.builds(
    WorldInfoSettings,
    depth=st.integers(0, 3),
    min_activations=st.integers(0, 3),
    recursive=st.booleans(),
    max_recursion_steps=st.integers(0, 3),
    case_sensitive=st.booleans(),
    match_whole_words=st.booleans(),
    use_group_scoring=st.booleans(),
)
scans = st.builds(
    lambda books, chat, chosen, budget: WorldInfoInput(
        messages=tuple(chat),
        books=tuple(world(*given, name=f"B{number}") for number, given in enumerate(books)),
        settings=chosen,
        budget=budget,
        count_tokens=len,
        random=fixed_random(),
        expand=lambda text: text.replace("{{k}}", "owl"),
    ),
    st.lists(st.lists(entries, max_size=4), max_size=3),
    st.lists(texts, max_size=4),
    scan_settings,
    st.sampled_from([10, 60, 1000]),
)


def fixed_random() -> Callable[[], float]:
    """Numbers that come in the same order each time they are begun anew."""
    return lambda: 0.37


@given(scans)
def test_every_entry_of_every_book_gets_one_verdict(scan_input: WorldInfoInput) -> None:
    result = WorldInfo().scan(scan_input)
    judged = [(verdict.world, verdict.entry.id) for verdict in result.verdicts]
    assert judged == [(book.name, one.id) for book in scan_input.books for one in book.entries]
    activated = {f"{verdict.world}.{verdict.entry.id}" for verdict in result.verdicts if verdict.is_activated}
    assert activated == set(awake(result))


@given(scans)
def test_scanning_is_deterministic(scan_input: WorldInfoInput) -> None:
    engine = WorldInfo()
    first = engine.scan(scan_input)
    assert engine.scan(scan_input) == first
    assert WorldInfo().scan(scan_input) == first


@given(scans, entries)
def test_a_disabled_entry_without_a_level_of_recursion_changes_nothing(
    scan_input: WorldInfoInput, extra: dict[str, Any]
) -> None:
    without = WorldInfo().scan(scan_input)
    disabled = world(extra | {"disable": True, "delayUntilRecursion": 0}, name="Extra")
    result = WorldInfo().scan(scan_input.with_(books=(*scan_input.books, disabled)))
    assert [*result.verdicts][:-1] == [*without.verdicts]
    assert result.with_(verdicts=without.verdicts) == without


@given(
    st.lists(st.sampled_from(["gull", "Gull", "owl", "old owl", "ς", "ΟΔΟΣ", "İ", "i̇", "夜", "a_b", "a"]), max_size=3),
    st.lists(texts, min_size=1, max_size=4),
    st.integers(0, 4),
    st.booleans(),
    st.booleans(),
)
def test_one_pass_finds_what_a_search_of_the_joined_text_finds(
    keys: list[str], chat: list[str], depth: int, case_sensitive: bool, whole: bool
) -> None:
    book = world(entry(*keys))
    chosen = WorldInfoSettings(depth=depth, case_sensitive=case_sensitive, match_whole_words=whole)
    given_input = WorldInfoInput(
        messages=tuple(chat), books=(book,), settings=chosen, count_tokens=len, random=lambda: 0.5
    )
    text = "\x01" + "\n\x01".join(message.strip() for message in chat[:depth]) if depth else ""
    expected = any(searched(text, key, case_sensitive, whole) for key in keys)
    assert bool(awake(WorldInfo().scan(given_input))) is expected


def searched(text: str, key: str, case_sensitive: bool, whole: bool) -> bool:
    if not case_sensitive:
        text, key = text.lower(), key.lower()
    if whole and " " not in key:
        return re.search(rf"(?:^|\W){re.escape(key)}(?:$|\W)", text, re.ASCII) is not None
    return key in text


@given(scans)
def test_state_goes_in_and_comes_out(scan_input: WorldInfoInput) -> None:
    state = WorldInfo().scan(scan_input).timed
    dry = WorldInfo().scan(scan_input.with_(timed=state, dry_run=True))
    assert dry.timed == state


def test_an_empty_book_gives_an_empty_result() -> None:
    result = WorldInfo().scan(WorldInfoInput(books=(Book(name="B"),), count_tokens=len, random=lambda: 0.5))
    assert (result.activations, result.total_tokens, len(result.verdicts)) == ((), 0, 0)
