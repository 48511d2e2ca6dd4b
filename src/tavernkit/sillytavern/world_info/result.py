"""What a scan gives back: texts by position, the state for the next turn, and a verdict for every entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

from tavernkit.lore.book import Entry
from tavernkit.lore.engine import LoreResult
from tavernkit.lore.verdicts import LazyVerdicts, TimedState
from tavernkit.prompt.parts import LoreCause, Part, PartKind, from_source, joined
from tavernkit.prompt.reasons import NearMiss, with_near_miss
from tavernkit.prompt.warning import BuildWarning
from tavernkit.sillytavern.world_info.fields import Logic, Position, Source, WorldEntry
from tavernkit.sillytavern.world_info.matching import WorldInfoPlace
from tavernkit.values import Value

WorldInfoReason: TypeAlias = Literal[
    "activated",
    "shadowed",
    "disabled",
    "filtered_trigger",
    "filtered_character",
    "filtered_tag",
    "delay",
    "cooldown",
    "recursion_delayed",
    "recursion_excluded",
    "decorator",
    "no_keys",
    "no_key",
    "regex_timeout",
    "secondary_logic",
    "group_lost",
    "probability",
    "budget",
]

REASONS: tuple[WorldInfoReason, ...] = get_args(WorldInfoReason)

WorldInfoCause: TypeAlias = Literal["key", "constant", "sticky", "decorator", "forced"]
"""What woke an entry up."""


class WorldInfoVerdict(Value, frozen=True, kw_only=True):
    """What became of one entry. `cause` says why it woke up, also where it was turned down afterwards; `key`
    and `place` by which key and where; `logic` the condition of its secondary keys that was not met, and `unmet` those
    keys; `lost_to` who had the better claim to the `group`; `roll` the number that was drawn, out of 100; `short_by`
    how many tokens of the budget were missing. `near_miss` says how near an entry came that is not activated."""

    world: str
    entry: Entry
    reason: WorldInfoReason
    cause: WorldInfoCause | None = None
    key: str | None = None
    place: WorldInfoPlace | None = None
    logic: int | None = None
    unmet: tuple[str, ...] = ()
    group: str | None = None
    lost_to: str | None = None
    roll: float | None = None
    short_by: int | None = None
    near_miss: NearMiss | None = None

    @property
    def is_activated(self) -> bool:
        return self.reason == "activated"

    @property
    def lore_cause(self) -> LoreCause | None:
        """The cause, where a key that another entry mentions is told from one of the chat."""
        called = self.cause == "key" and self.place is not None and self.place.source == Source.RECURSION
        return "recursion" if called else self.cause

    def __str__(self) -> str:
        return with_near_miss(_SENTENCES[self.reason](self), self.near_miss)


class WorldInfoVerdicts(LazyVerdicts[WorldInfoVerdict]):
    """The verdicts of a scan, in the order of the entries, worked out when they are first asked for."""


_SOURCES = {
    Source.PERSONA_DESCRIPTION: "the persona",
    Source.CHARACTER_DESCRIPTION: "the character's description",
    Source.CHARACTER_PERSONALITY: "the character's personality",
    Source.CHARACTER_DEPTH_PROMPT: "the character's note",
    Source.SCENARIO: "the scenario",
    Source.CREATOR_NOTES: "the creator's notes",
    Source.INJECTION: "an injected text",
    Source.RECURSION: "another entry",
}

_CONDITIONS = {
    Logic.AND_ANY: "none of its secondary keys was found",
    Logic.NOT_ALL: "all of its secondary keys were found",
    Logic.NOT_ANY: "one of its secondary keys was found",
    Logic.AND_ALL: "not all of its secondary keys were found",
}


def _where(verdict: WorldInfoVerdict) -> str:
    place = verdict.place
    if place is not None and place.source is not None:
        return f"in {_SOURCES[place.source]}"
    if place is not None and place.message is not None:
        return "in the newest message" if place.message == 0 else f"in the message {place.message} before the newest"
    return "anywhere"


def _activated(verdict: WorldInfoVerdict) -> str:
    if verdict.cause == "key":
        return f"“{verdict.key}” was found {_where(verdict)}"
    awake = {"constant": "always on", "sticky": "still sticky", "decorator": "@@activate"}
    return awake.get(verdict.cause or "", "activated from outside")


def _secondary(verdict: WorldInfoVerdict) -> str:
    condition = next((text for logic, text in _CONDITIONS.items() if logic == verdict.logic), "unknown logic")
    return f"“{verdict.key}” was found {_where(verdict)}, but {condition}"


_SENTENCES: dict[WorldInfoReason, Callable[[WorldInfoVerdict], str]] = {
    "activated": _activated,
    "shadowed": lambda _: "another book of this name takes precedence",
    "disabled": lambda _: "switched off",
    "filtered_trigger": lambda _: "not for this kind of generation",
    "filtered_character": lambda _: "not for this character",
    "filtered_tag": lambda _: "not for characters with these tags",
    "delay": lambda _: "the chat is not long enough yet",
    "cooldown": lambda _: "cooling down",
    "recursion_delayed": lambda _: "waits for recursion, which did not come that far",
    "recursion_excluded": lambda _: "only other entries mention it, and it does not listen to them",
    "decorator": lambda _: "@@dont_activate",
    "no_keys": lambda _: "has no keys",
    "no_key": lambda _: "none of its keys was found",
    "regex_timeout": lambda verdict: f"{verdict.key} took too long and was skipped",
    "secondary_logic": _secondary,
    "group_lost": lambda verdict: (
        f"lost the group “{verdict.group}”" + (f" to {verdict.lost_to}" if verdict.lost_to else "")
    ),
    "probability": lambda verdict: f"rolled {verdict.roll:.0f}, which is above its probability",
    "budget": lambda _: "did not fit into the budget",
}


class ActivatedEntry(Value, frozen=True, kw_only=True):
    """An entry that woke up and fits; `content` has its macros expanded, `verdict` says why it woke up."""

    entry: WorldEntry
    content: str
    verdict: WorldInfoVerdict

    @property
    def kind(self) -> PartKind:
        """What comes from an entry is lore."""
        return "lore"

    def at(self, start: int, end: int) -> Part:
        """The part of a content that comes from the entry."""
        source, verdict = self.entry.source, self.verdict
        return Part(
            start=start,
            end=end,
            kind=self.kind,
            source=source.id,
            book=self.entry.world,
            name=source.name or source.comment,
            cause=verdict.lore_cause,
            key=verdict.key,
        )


class DepthInsertion(Value, frozen=True, kw_only=True):
    """What goes into the chat at one depth with one role: 0 system, 1 user, 2 assistant.

    `depth` is None for an entry whose file says null and that found no others at the default depth.
    """

    depth: int | None
    role: int
    entries: tuple[str, ...]


class ExampleInsertion(Value, frozen=True, kw_only=True):
    """Examples that go before or after the card's own."""

    placement: Literal["before", "after"]
    content: str


class Insertions(Value, frozen=True, kw_only=True):
    """Where everything goes; each in the order it stands in the prompt. The texts know which entries they are of."""

    before_character: str = ""
    after_character: str = ""
    note_top: tuple[str, ...] = ()
    note_bottom: tuple[str, ...] = ()
    at_depth: tuple[DepthInsertion, ...] = ()
    examples: tuple[ExampleInsertion, ...] = ()
    outlets: Mapping[str, tuple[str, ...]] = {}


class WorldInfoResult(LoreResult, frozen=True, kw_only=True):
    """`activations` are in the order they woke up, `activated_entries` in the order of the prompt.

    `timed` is the state to give to the next turn, `rolls` the random numbers that were drawn, `passes` how often the
    entries were gone through, `warnings` what had to be skipped.
    """

    activations: tuple[ActivatedEntry, ...]
    verdicts: WorldInfoVerdicts
    timed: TimedState
    rolls: tuple[float, ...]
    budget: int
    overflowed: bool
    passes: int
    warnings: tuple[BuildWarning, ...] = ()

    @property
    def insertions(self) -> Insertions:
        """Where everything goes, worked out when it is asked for."""
        return _arrange(in_prompt_order(self.activations))


class _Depth(NamedTuple):
    depth: int | None
    role: int
    contents: list[str]


def in_prompt_order(activations: Sequence[ActivatedEntry]) -> list[ActivatedEntry]:
    """The lowest order first; of equal ones, who woke up last."""
    return sorted(activations, key=lambda activation: -activation.entry.order)[::-1]


def _arrange(in_prompt: Sequence[ActivatedEntry]) -> Insertions:
    """Put contents in their places. In an outlet, the highest order comes first."""
    lists: dict[int, list[str]] = {position: [] for position in range(Position.AT_DEPTH)}
    examples: list[ExampleInsertion] = []
    depths: list[_Depth] = []
    outlets: dict[str, list[str]] = {}
    # Depths are listed by the highest order in them, so this goes from behind.
    for activation in reversed(in_prompt):
        entry, content = activation.entry, from_source(activation.content, activation)
        if not content:
            continue
        if entry.position in lists:
            lists[entry.position].append(content)
            continue
        match entry.position:
            case Position.AT_DEPTH:
                _put_at_depth(depths, entry, content)
            case Position.EXAMPLES_TOP:
                examples.append(ExampleInsertion(placement="before", content=content))
            case Position.EXAMPLES_BOTTOM:
                examples.append(ExampleInsertion(placement="after", content=content))
            case Position.OUTLET if entry.outlet:
                outlets.setdefault(entry.outlet, []).append(content)
    return Insertions(
        before_character=joined("\n", reversed(lists[Position.BEFORE_CHARACTER])),
        after_character=joined("\n", reversed(lists[Position.AFTER_CHARACTER])),
        note_top=tuple(reversed(lists[Position.NOTE_TOP])),
        note_bottom=tuple(reversed(lists[Position.NOTE_BOTTOM])),
        at_depth=tuple(
            DepthInsertion(depth=depth, role=role, entries=tuple(reversed(contents)))
            for depth, role, contents in depths
        ),
        examples=tuple(reversed(examples)),
        outlets={name: tuple(contents) for name, contents in outlets.items()},
    )


def _put_at_depth(depths: list[_Depth], entry: WorldEntry, content: str) -> None:
    """Add to the entries of the same depth and role. A null looks for the default depth, and else stands alone."""
    for place in depths:
        if (place.depth, place.role) == (entry.chat_depth, entry.role):
            place.contents.append(content)
            return
    depths.append(_Depth(entry.depth, entry.role, [content]))
