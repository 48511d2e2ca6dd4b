"""What holds for any entries and any chat."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from tests.risuai.lorebook.builders import entry, scene_with

from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.lorebook import Decorators, LorebookReason, LorebookResult, read_decorators, scan

WORDS = ("gull", "Gull", "gullible", "owl", "old owl", "ς", "ΟΔΟΣ", "İ", "夜", "{{// owl}}", "\ud800", "😀", " ", "")
DECORATORS = (
    "@@match_full_word",
    "@@match_partial_word",
    "@@scan_depth 1",
    "@@scan_depth x",
    "@@additional_keys owl, gull",
    "@@exclude_keys 夜",
    "@@exclude_keys_all gull",
    "@@exclude_keys_all",
    "@@no_recursive_search",
    "@@unrecursive",
    "@@recursive",
    "@@probability 50",
    "@@activate",
    "@@dont_activate",
    "@@priority 3",
    "@@priority x",
    "@@activate_only_every 2",
    "@@inject_lore L",
)
texts = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
keys = st.lists(st.sampled_from(WORDS), max_size=2).map(",".join)
contents = st.builds(
    lambda told, text: "\n".join([*told, text]), st.lists(st.sampled_from(DECORATORS), max_size=3), texts
)
literal = st.builds(
    entry,
    keys,
    contents,
    secondary_key=keys,
    selective=st.booleans(),
    always_active=st.sampled_from([False, False, True]),
    comment=st.sampled_from(["", "L"]),
    insert_order=st.integers(0, 3),
)
any_entry = literal | st.builds(
    entry,
    keys | st.sampled_from(["/g.l/i", "/owl/", "/i/i,/x/g", "owl,/g/i", "/(/i"]),
    contents.map(lambda content: f"@@keep_activate_after_match\n{content}") | contents,
    mode=st.sampled_from(["normal", "child", "multiple", "folder"]),
    id=st.sampled_from([None, "a", "b"]),
    use_regex=st.booleans(),
)


class Situation(NamedTuple):
    lore: list[LoreEntry]
    chat: list[str]
    depth: int
    budget: int
    recursive: bool
    full_words: bool
    random: list[float]

    def scan(self) -> LorebookResult:
        return scan(
            scene_with(
                *self.lore,
                chat=self.chat,
                depth=self.depth,
                budget=self.budget,
                recursive=self.recursive,
                full_words=self.full_words,
                random=self.random,
            )
        )


def situations(entries: st.SearchStrategy[LoreEntry]) -> st.SearchStrategy[Situation]:
    return st.builds(
        Situation,
        st.lists(entries, max_size=6),
        st.lists(texts, max_size=4),
        st.integers(-1, 6),
        st.integers(0, 12),
        st.booleans(),
        st.booleans(),
        st.lists(st.sampled_from([0.1, 0.9]), min_size=1, max_size=3),
    )


@given(situations(literal))
def test_a_scan_wakes_what_looking_for_each_key_in_each_text_wakes(situation: Situation) -> None:
    woken = {verdict.index for verdict in situation.scan().verdicts if verdict.cause is not None}

    assert woken == one_by_one(situation)


@given(situations(any_entry))
def test_a_scan_ends_and_stays_within_its_budget(situation: Situation) -> None:
    result = situation.scan()

    assert sum(lore.tokens for lore in result.active) <= result.total_tokens <= situation.budget
    assert result.passes <= len(situation.lore) + 1


@given(situations(any_entry))
def test_every_entry_has_a_verdict_and_those_in_the_prompt_say_so(situation: Situation) -> None:
    result = situation.scan()

    assert [verdict.entry for verdict in result.verdicts] == situation.lore
    in_prompt = {lore.index for lore in result.active}
    assert in_prompt == {verdict.index for verdict in result.verdicts if verdict.reason == LorebookReason.ACTIVATED}
    assert all(str(verdict) for verdict in result.verdicts)


@given(situations(any_entry))
def test_the_same_scene_gives_the_same_result(situation: Situation) -> None:
    assert situation.scan() == situation.scan()


# The same scan without any index: every pass asks every entry, and every key is looked for in every text.


def one_by_one(situation: Situation) -> set[int]:
    rolls = itertools.cycle(situation.random)
    spoken: list[str] = []
    awake: set[int] = set()
    while True:
        said_before = len(spoken)
        for index, lore in enumerate(situation.lore):
            if index in awake or not (lore.always_active or lore.key):
                continue
            told = read_decorators(lore.content)
            misses = sum(next(rolls) * 100 > probability for probability in told.probabilities)
            is_due = all((len(situation.chat) + 1) % condition.number == 0 for condition in told.conditions)
            if told.forces:
                wakes_up = told.forces[-1] == "activate"
            else:
                wakes_up = not misses and is_due and (lore.always_active or is_called(situation, lore, told, spoken))
            if wakes_up:
                awake.add(index)
                if situation.recursive if told.recursive is None else told.recursive:
                    spoken.append(told.content)
        if len(spoken) == said_before:
            return awake


def is_called(situation: Situation, lore: LoreEntry, told: Decorators, spoken: Sequence[str]) -> bool:
    depth = situation.depth if told.scan_depth is None else told.scan_depth
    whole = situation.full_words if told.full_words is None else told.full_words
    seen = [searched(text, whole) for text in visible(situation.chat, depth)]
    seen += [] if told.ignores_recursion else [searched(text, whole) for text in spoken]

    def any_of(keys: Sequence[str]) -> bool:
        return any(wanted(key, whole) in text for text in seen for key in keys if key.strip())

    def all_of(keys: Sequence[str]) -> bool:
        return all(wanted(key, whole) in text for text in seen for key in keys)

    asked: dict[str, Callable[[Sequence[str]], bool]] = {
        "additional": any_of,
        "exclude": lambda keys: not any_of(keys),
        "exclude_all": lambda keys: not all_of(keys),
    }
    if not all(asked[query.kind](query.keys) for query in told.queries):
        return False
    needs_secondary = lore.selective and bool(lore.secondary_key)
    return any_of(lore.key.split(",")) and (not needs_secondary or any_of(lore.secondary_key.split(",")))


def visible(chat: list[str], depth: float) -> list[str]:
    if math.isnan(depth):
        return chat
    start = len(chat) - int(depth)
    return chat[start:] if start >= 0 else chat[max(start, -len(chat)) :]


def searched(text: str, whole: bool) -> Sequence[str] | str:
    lowered = re.sub(r"\{\{//.+?\}\}", "", text.lower())
    return lowered.split(" ") if whole else lowered.replace(" ", "")


def wanted(key: str, whole: bool) -> str:
    return key.strip().lower() if whole else key.strip().lower().replace(" ", "")
