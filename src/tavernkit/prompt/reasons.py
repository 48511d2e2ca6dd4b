"""Why something is not in a prompt: lore entries that came near, blocks that did not fit, prompts that were off."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from tavernkit.values import Value

LoreCause: TypeAlias = Literal[
    "key", "recursion", "constant", "sticky", "decorator", "forced", "kept", "child", "frozen"
]
"""Why a lore entry is activated. `recursion` is a key that another entry mentions."""

EntryReason: TypeAlias = Literal[
    "activated",
    "injected",
    "shadowed",
    "disabled",
    "filtered_trigger",
    "filtered_character",
    "filtered_tag",
    "delay",
    "too_early",
    "not_this_turn",
    "other_greeting",
    "cooldown",
    "already_matched",
    "recursion_delayed",
    "recursion_excluded",
    "decorator",
    "no_keys",
    "no_key",
    "no_additional_key",
    "no_secondary_key",
    "secondary_logic",
    "excluded",
    "excluded_all",
    "regex_timeout",
    "parent_active",
    "no_parent",
    "no_target",
    "group_lost",
    "probability",
    "budget",
    "cut_short",
]
"""What became of a lore entry, on any platform."""

IN_PROMPT: frozenset[EntryReason] = frozenset(("activated", "injected"))

MissKind: TypeAlias = Literal[
    "depth",
    "case",
    "whole_words",
    "recursion",
    "recursion_excluded",
    "switched_off",
    "secondary_missing",
    "secondary_found",
    "delay",
    "cooldown",
    "turn",
    "greeting",
    "probability",
    "budget",
    "group",
    "trigger",
    "character",
    "tag",
]
"""What kept an entry out, or what would have let it in."""

BY_KEY: frozenset[MissKind] = frozenset(("depth", "case", "whole_words"))
"""Near misses of keys: the text was there, but not as it was looked for."""


class NearMiss(Value, frozen=True, kw_only=True, omit_defaults=True):
    """How near an entry came to being activated; which fields are set depends on the `kind`.

    `key` was found, in the `message` of that place in the chat, or at the scan `depth`; `keys` are the secondary keys
    that are missing, or stand in the way. `tokens` are missing in the budget, `messages` until it may be activated.
    `roll` was drawn against a `probability`, both out of 100. `lost_to` has the `group`. `wanted` are the kinds of
    generation, the characters or the tags that it is for.
    """

    kind: MissKind
    key: str = ""
    message: int | None = None
    depth: int | None = None
    keys: tuple[str, ...] = ()
    tokens: int | None = None
    messages: int | None = None
    probability: float | None = None
    roll: float | None = None
    group: str = ""
    lost_to: str = ""
    wanted: tuple[str, ...] = ()
    excludes: bool = False

    def __str__(self) -> str:
        return _MISSES[self.kind](self)


def _place(miss: NearMiss) -> str:
    return "" if miss.message is None else f" in message {miss.message}"


def _quoted(keys: Iterable[str]) -> str:
    return ", ".join(f"“{key}”" for key in keys)


def _more_messages(miss: NearMiss) -> str:
    return "1 more message" if miss.messages == 1 else f"{miss.messages} more messages"


def _percent(number: float | None) -> str:
    return f"{number or 0:g}" if number == round(number or 0) else f"{number:.1f}"


def _group(miss: NearMiss) -> str:
    return f"lost the group “{miss.group}”" + (f" to {miss.lost_to}" if miss.lost_to else "")


def _only_for(miss: NearMiss) -> str:
    return f"{'not' if miss.excludes else 'only'} for {', '.join(miss.wanted)}"


_MISSES: Mapping[MissKind, Callable[[NearMiss], str]] = {
    "depth": lambda miss: f"would activate with scan depth {miss.depth} (“{miss.key}”{_place(miss)})",
    "case": lambda miss: f"“{miss.key}” was found{_place(miss)} in another case",
    "whole_words": lambda miss: f"“{miss.key}” was found{_place(miss)} inside a longer word",
    "recursion": lambda miss: f"would activate with recursion: “{miss.key}” is in another activated entry",
    "recursion_excluded": lambda miss: f"only another entry mentions “{miss.key}”, and it does not listen to others",
    "switched_off": lambda miss: f"switched off; “{miss.key}” was found{_place(miss)}",
    "secondary_missing": lambda miss: (
        f"“{miss.key}” was found{_place(miss)}, but not {_quoted(miss.keys)}"
        if miss.key
        else f"{_quoted(miss.keys)} was not found"
    ),
    "secondary_found": lambda miss: (
        f"“{miss.key}” was found{_place(miss)}, and so was {_quoted(miss.keys)}, which excludes it"
        if miss.key
        else f"{_quoted(miss.keys)} was found{_place(miss)}, which excludes it"
    ),
    "delay": lambda miss: f"delayed for {_more_messages(miss)}",
    "cooldown": lambda miss: f"cooldown for {_more_messages(miss)}",
    "turn": lambda miss: f"its turn is in {_more_messages(miss)}",
    "greeting": lambda miss: f"only for chats that began with greeting {', '.join(miss.wanted)}",
    "probability": lambda miss: f"probability: {_percent(miss.probability)} of 100, rolled {_percent(miss.roll)}",
    "budget": lambda miss: f"budget short by {miss.tokens} token{'' if miss.tokens == 1 else 's'}",
    "group": _group,
    "trigger": _only_for,
    "character": lambda miss: f"{'not' if miss.excludes else 'only'} for characters {', '.join(miss.wanted)}",
    "tag": lambda miss: f"{'not' if miss.excludes else 'only'} for characters with the tags {', '.join(miss.wanted)}",
}

_AFTER_THE_REASON: frozenset[MissKind] = frozenset((*BY_KEY, "recursion"))


def with_near_miss(sentence: str, miss: NearMiss | None) -> str:
    """What became of an entry, with how near it came."""
    if miss is None:
        return sentence
    return f"{sentence}; {miss}" if miss.kind in _AFTER_THE_REASON else str(miss)


class ExplainedEntry(Value, frozen=True, kw_only=True, omit_defaults=True):
    """What became of an entry of a lorebook. `sentence` says it to people; `cause` and `key` say why it was activated,
    also where it was left out afterwards, and `message` where the key stood. `mark` changes with the entry."""

    book: str
    entry: str
    name: str
    reason: EntryReason
    sentence: str
    cause: LoreCause | None = None
    key: str | None = None
    message: int | None = None
    near_miss: NearMiss | None = None
    mark: str = ""

    @property
    def is_activated(self) -> bool:
        """Whether what it says is in the prompt."""
        return self.reason in IN_PROMPT

    @property
    def lore_cause(self) -> LoreCause | None:
        """The cause, as verdicts of platforms have it."""
        return self.cause

    @property
    def title(self) -> str:
        """What people call it."""
        return self.name or self.entry


EvictedReason: TypeAlias = Literal[
    "no_room",
    "behind",
    "out_of_reach",
    "required",
    "overflow",
    "oldest",
    "summed_up",
    "stripped",
    "format",
    "disabled",
]
"""Why a block is in the plan, but not in the prompt."""


class EvictedBlock(Value, frozen=True, kw_only=True, omit_defaults=True):
    """A block that is not sent: its `tokens`, and by how many it is too large for what was left of the budget
    (`short_by`), with all that had to fit before it. `source` says in words what it is, `text` how it begins;
    `message` is its place in the chat if it is a message."""

    id: str
    role: str
    source: str
    reason: EvictedReason
    sentence: str
    tokens: int
    short_by: int | None = None
    slot: str = ""
    message: int | None = None
    text: str = ""


class UnsentPrompt(Value, frozen=True, kw_only=True):
    """A prompt of a preset that is not sent; `reason` is a word for programs, `sentence` says it to people."""

    identifier: str
    name: str
    reason: str
    sentence: str


Facts: TypeAlias = Mapping[str, Mapping[str, str]]
"""What a prompt was built from, by kind and name, in few characters: a value, or the mark of a longer text."""


class FactGroup(Value, frozen=True, kw_only=True):
    """The facts of one kind, by name."""

    kind: str
    values: Mapping[str, str]


class EntryCount(Value, frozen=True, kw_only=True):
    """How many entries have met with the same."""

    reason: EntryReason
    count: int


class Findings(Value, frozen=True, kw_only=True):
    """What a build leaves for whoever asks why: a verdict for each lore entry (and how many more there are than are
    listed), the prompts that were off, and the facts. All of them are worked out when they are first asked for."""

    lore: Sequence[ExplainedEntry] = []
    lore_cut: Sequence[EntryCount] = []
    off: Sequence[UnsentPrompt] = []
    facts: Sequence[FactGroup] = []
