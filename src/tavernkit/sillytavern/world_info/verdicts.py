"""Why an entry is in the prompt, and why not: one verdict for every entry of every book."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

from tavernkit.lore.book import Entry
from tavernkit.lore.verdicts import LazyVerdicts
from tavernkit.sillytavern.world_info.fields import Logic, Source
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


class NearMiss(Value, frozen=True, kw_only=True):
    """What would have made a key match: a greater scan depth, or not asking for whole words."""

    kind: Literal["depth", "whole_words"]
    key: str
    depth: int | None = None

    def __str__(self) -> str:
        if self.kind == "depth":
            return f"“{self.key}” would match at scan depth {self.depth}"
        return f"“{self.key}” was found inside a longer word"


class WorldInfoVerdict(Value, frozen=True, kw_only=True):
    """What became of one entry. `cause` says why it woke up, also where it was turned down afterwards; `key`
    and `place` by which key and where; `logic` the condition of its secondary keys that was not met;
    `lost_to` who had the better claim to the `group`; `roll` the number that was drawn, out of 100."""

    world: str
    entry: Entry
    reason: WorldInfoReason
    cause: WorldInfoCause | None = None
    key: str | None = None
    place: WorldInfoPlace | None = None
    logic: int | None = None
    group: str | None = None
    lost_to: str | None = None
    roll: float | None = None
    near_miss: NearMiss | None = None

    @property
    def is_activated(self) -> bool:
        return self.reason == "activated"

    def __str__(self) -> str:
        return _SENTENCES[self.reason](self)


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
    match verdict.cause:
        case "key":
            return f"“{verdict.key}” was found {_where(verdict)}"
        case "constant":
            return "always on"
        case "sticky":
            return "still sticky"
        case "decorator":
            return "@@activate"
        case _:
            return "activated from outside"


def _with_near_miss(sentence: str) -> Callable[[WorldInfoVerdict], str]:
    return lambda verdict: f"{sentence}; {verdict.near_miss}" if verdict.near_miss else sentence


def _group_lost(verdict: WorldInfoVerdict) -> str:
    return f"lost the group “{verdict.group}”" + (f" to {verdict.lost_to}" if verdict.lost_to else "")


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
    "no_key": _with_near_miss("none of its keys was found"),
    "regex_timeout": lambda verdict: f"{verdict.key} took too long and was skipped",
    "secondary_logic": _secondary,
    "group_lost": _group_lost,
    "probability": lambda verdict: f"rolled {verdict.roll:.0f}, which is above its probability",
    "budget": lambda _: "did not fit into the budget",
}
