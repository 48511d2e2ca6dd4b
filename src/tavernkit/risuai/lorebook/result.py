"""What a scan gives back: what is active, and for every entry one verdict that says why it is in the prompt or not."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from operator import itemgetter
from typing import TypeAlias

from tavernkit.lore.verdicts import LazyVerdicts
from tavernkit.prompt.parts import LoreCause, Part, PartKind, SourcedText, from_source
from tavernkit.prompt.reasons import NearMiss, with_near_miss
from tavernkit.prompt.warning import BuildWarning
from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.lorebook.decorators import LoreInjection
from tavernkit.values import Value

Books: TypeAlias = Sequence[tuple[int, str]]
"""The names of books, each with the place in the scene's lore behind its last entry."""


class LorebookReason(StrEnum):
    """What became of an entry."""

    ACTIVATED = "activated"
    INJECTED = "injected"
    NO_KEYS = "no_keys"
    PARENT_ACTIVE = "parent_active"
    NO_PARENT = "no_parent"
    TOO_EARLY = "too_early"
    NOT_THIS_TURN = "not_this_turn"
    OTHER_GREETING = "other_greeting"
    PROBABILITY = "probability"
    DECORATOR = "decorator"
    ALREADY_MATCHED = "already_matched"
    NO_KEY = "no_key"
    NO_ADDITIONAL_KEY = "no_additional_key"
    NO_SECONDARY_KEY = "no_secondary_key"
    EXCLUDED = "excluded"
    EXCLUDED_ALL = "excluded_all"
    REGEX_TIMEOUT = "regex_timeout"
    NO_TARGET = "no_target"
    BUDGET = "budget"
    CUT_SHORT = "cut_short"


class LorebookCause(StrEnum):
    """What woke an entry up."""

    KEY = "key"
    ALWAYS = "always"
    DECORATOR = "decorator"
    KEPT = "kept"
    CHILD = "child"


class LorebookPlace(Value, frozen=True, kw_only=True):
    """Where a key was found: in a message, counted from the newest, or in what the entry named `lore` says."""

    message: int | None = None
    lore: str | None = None

    def __str__(self) -> str:
        if self.message is None:
            return f"in the entry “{self.lore}”"
        return "in the newest message" if self.message == 0 else f"in the message {self.message} before the newest"


_LORE_CAUSES: Mapping[LorebookCause, LoreCause] = {
    LorebookCause.KEY: "key",
    LorebookCause.ALWAYS: "constant",
    LorebookCause.DECORATOR: "decorator",
    LorebookCause.KEPT: "kept",
    LorebookCause.CHILD: "child",
}


def lore_cause(cause: LorebookCause | None, *, is_said_by_lore: bool) -> LoreCause | None:
    """The cause as all platforms name it, where a key that another entry mentions is told from one of the chat."""
    if cause == LorebookCause.KEY and is_said_by_lore:
        return "recursion"
    return None if cause is None else _LORE_CAUSES[cause]


class LorebookVerdict(Value, frozen=True, kw_only=True):
    """What became of one entry. `book` is the name of its book. `cause` says why it woke up, also where it was left out
    afterwards; `key` and `place` by which key and where, or which excluded key stood in its way; `roll` is the number
    that was drawn, out of 100; `into` the name of the entry that it was to be injected into. `near_miss` says how near
    an entry came that is not activated."""

    entry: LoreEntry
    index: int
    book: str
    reason: LorebookReason
    cause: LorebookCause | None = None
    key: str | None = None
    place: LorebookPlace | None = None
    roll: float | None = None
    into: str | None = None
    near_miss: NearMiss | None = None

    @property
    def is_activated(self) -> bool:
        """Whether what it says is in the prompt."""
        return self.reason in (LorebookReason.ACTIVATED, LorebookReason.INJECTED)

    @property
    def lore_cause(self) -> LoreCause | None:
        """The cause as all platforms name it."""
        return lore_cause(self.cause, is_said_by_lore=self.place is not None and self.place.lore is not None)

    def __str__(self) -> str:
        return with_near_miss(_SENTENCES[self.reason](self), self.near_miss)


class LorebookVerdicts(LazyVerdicts[LorebookVerdict]):
    """The verdicts of a scan, in the order of the entries, worked out when they are first asked for."""


_CAUSES: Mapping[LorebookCause | None, str] = {
    LorebookCause.ALWAYS: "always active",
    LorebookCause.DECORATOR: "@@activate",
    LorebookCause.KEPT: "has matched before, and is kept",
    LorebookCause.CHILD: "stands in for the entry of the same id",
}


def _woken(verdict: LorebookVerdict) -> str:
    return (
        f"“{verdict.key}” was found {verdict.place}" if verdict.cause == LorebookCause.KEY else _CAUSES[verdict.cause]
    )


_SENTENCES: Mapping[LorebookReason, Callable[[LorebookVerdict], str]] = {
    LorebookReason.ACTIVATED: _woken,
    LorebookReason.INJECTED: lambda verdict: f"{_woken(verdict)}; injected into “{verdict.into}”",
    LorebookReason.NO_KEYS: lambda _: "has no keys and is not always active",
    LorebookReason.PARENT_ACTIVE: lambda _: "the entry of the same id is active itself",
    LorebookReason.NO_PARENT: lambda _: "no entry before it has the same id",
    LorebookReason.TOO_EARLY: lambda _: "the chat is not long enough yet",
    LorebookReason.NOT_THIS_TURN: lambda _: "not its turn",
    LorebookReason.OTHER_GREETING: lambda _: "the chat began with another greeting",
    LorebookReason.PROBABILITY: lambda verdict: f"rolled {verdict.roll:.0f}, which is above its probability",
    LorebookReason.DECORATOR: lambda _: "@@dont_activate",
    LorebookReason.ALREADY_MATCHED: lambda _: "has matched before, and is not to do so again",
    LorebookReason.NO_KEY: lambda _: "none of its keys was found",
    LorebookReason.NO_ADDITIONAL_KEY: lambda _: "none of its additional keys was found",
    LorebookReason.NO_SECONDARY_KEY: lambda _: "none of its secondary keys was found",
    LorebookReason.EXCLUDED: lambda verdict: f"the excluded key “{verdict.key}” was found {verdict.place}",
    LorebookReason.EXCLUDED_ALL: lambda _: "all of its excluded keys are in every text",
    LorebookReason.REGEX_TIMEOUT: lambda verdict: f"{verdict.key} took too long and was skipped",
    LorebookReason.NO_TARGET: lambda verdict: f"{_woken(verdict)}, but no “{verdict.into}” is there to inject it into",
    LorebookReason.BUDGET: lambda verdict: f"{_woken(verdict)}, but it did not fit into the budget",
    LorebookReason.CUT_SHORT: lambda _: "the scan took too many steps and was cut short",
}


class ActiveLore(Value, frozen=True, kw_only=True):
    """An entry that is in the prompt. `prompt` has no decorators and its macros are still to be expanded; `depth`
    counts where `pos` is `depth` or `reverse_depth`; a `priority` that is not a number was written so. `source` is
    the name that others inject into; `index` is the place of the entry in the scene's lore. `cause`, `key` and
    `is_said_by_lore` say why it woke up, `found_at` in which message or, behind them, in which lore, and `books` are
    those of the scene's lore."""

    entry: LoreEntry
    index: int
    prompt: str
    depth: int = 0
    pos: str = ""
    role: str = "system"
    order: float = 100
    priority: float = 100
    tokens: int = 0
    source: str = ""
    inject: LoreInjection | None = None
    cause: LorebookCause | None = None
    key: str | None = None
    is_said_by_lore: bool = False
    found_at: int | None = None
    books: Books = ()

    @property
    def kind(self) -> PartKind:
        """What comes from an entry is lore."""
        return "lore"

    @property
    def sourced_prompt(self) -> str:
        """The prompt, which knows of which entries it is."""
        return self.prompt if isinstance(self.prompt, SourcedText) else from_source(self.prompt, self)

    def at(self, start: int, end: int) -> Part:
        """The part of a content that comes from the entry."""
        return Part(
            start=start,
            end=end,
            kind=self.kind,
            source=self.entry.id or str(self.index),
            book=self.books[bisect_right(self.books, self.index, key=itemgetter(0))][1],
            name=self.entry.comment or self.entry.key,
            cause=lore_cause(self.cause, is_said_by_lore=self.is_said_by_lore),
            key=self.key,
        )


class LorebookResult(Value, frozen=True, kw_only=True):
    """`active` is in the order of the prompt; lore that was injected into other lore is inside it, and not listed.

    `left_out` woke up and did not fit; `total_tokens` is what was taken from the `budget`, `passes` how often the
    entries were gone through, `warnings` what could not be read or took too long.
    """

    active: tuple[ActiveLore, ...]
    left_out: tuple[ActiveLore, ...]
    verdicts: LorebookVerdicts
    total_tokens: int
    budget: int
    passes: int
    warnings: tuple[BuildWarning, ...] = ()
