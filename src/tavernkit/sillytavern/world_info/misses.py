"""How near entries came that are not activated: worked out when somebody asks, and for so many entries at most."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property

from tavernkit.prompt.reasons import MissKind, NearMiss
from tavernkit.sillytavern.world_info.fields import Logic, WorldEntry
from tavernkit.sillytavern.world_info.keys import LiteralKey
from tavernkit.sillytavern.world_info.matching import WorldInfoHaystack, WorldInfoPlace
from tavernkit.sillytavern.world_info.plan import WorldInfoPlan
from tavernkit.sillytavern.world_info.result import WorldInfoVerdict
from tavernkit.sillytavern.world_info.scan_input import WorldInfoInput
from tavernkit.sillytavern.world_info.timed import Timers

MOST_SEARCHES = 2_000
"""How many keys are looked for in texts in which the scan did not look for them."""

MOST_COUNTED = 100
"""Of how many entries the tokens are counted that did not fit any more."""

MOST_SAID = 50_000
"""In how many characters of activated entries keys are looked for."""


class NearMisses:
    """The near misses of one scan; `said` is what the activated entries say, `turned_down` the verdicts so far."""

    def __init__(
        self,
        plan: WorldInfoPlan,
        scan_input: WorldInfoInput,
        haystack: WorldInfoHaystack,
        timers: Timers,
        *,
        said: Collection[str],
        turned_down: Mapping[int, WorldInfoVerdict],
    ) -> None:
        self._plan = plan
        self._input = scan_input
        self._haystack = haystack
        self._timers = timers
        self._said = said
        self._turned_down = turned_down
        self._searches = MOST_SEARCHES
        self._counted = MOST_COUNTED

    def of(self, place: int, verdict: WorldInfoVerdict) -> NearMiss | None:
        """How near an entry came, as far as that can be said."""
        entry = self._plan.entries[place]
        match verdict.reason:
            case "no_key":
                return self._by_key(place, entry)
            case "recursion_excluded":
                return self._by_recursion(place, "recursion_excluded")
            case "disabled":
                return self._switched_off(place, entry)
            case "secondary_logic":
                kind: MissKind = (
                    "secondary_found" if verdict.logic in (Logic.NOT_ALL, Logic.NOT_ANY) else "secondary_missing"
                )
                found_at = self._message_at(verdict.place)
                return NearMiss(kind=kind, key=verdict.key or "", keys=verdict.unmet, message=found_at)
            case "delay":
                return NearMiss(kind="delay", messages=entry.delay - self._input.length)
            case "cooldown":
                return NearMiss(kind="cooldown", messages=self._timers.remaining("cooldown", place))
            case "probability":
                return NearMiss(kind="probability", probability=entry.probability, roll=verdict.roll)
            case "budget":
                short_by = self._short_by(entry, verdict)
                return None if short_by is None else NearMiss(kind="budget", tokens=short_by)
            case "group_lost":
                return NearMiss(kind="group", group=verdict.group or "", lost_to=self._winner(verdict.lost_to))
            case "filtered_trigger":
                return NearMiss(kind="trigger", wanted=entry.triggers)
            case "filtered_character" | "filtered_tag":
                return _filtered(entry, by_tag=verdict.reason == "filtered_tag")
            case _:
                return None

    def _by_key(self, place: int, entry: WorldEntry) -> NearMiss | None:
        visible = self._haystack.visible_depth(entry)
        nearest: NearMiss | None = None
        for key in self._literal_keys(place):
            inside = self._haystack.inside_a_word(key, visible)
            if inside is not None:
                return NearMiss(kind="whole_words", key=key.raw, message=self._message(inside))
            other = self._search(key, visible) if key.case_sensitive else None
            if other is not None:
                return NearMiss(kind="case", key=key.raw, message=self._message(other))
            depth = self._haystack.depth_needed(key)
            if depth is not None and depth > visible and (nearest is None or depth < (nearest.depth or 0)):
                nearest = NearMiss(kind="depth", key=key.raw, depth=depth, message=self._message(depth - 1))
        return nearest or self._by_recursion(place, "recursion")

    def _by_secondary(self, verdict: WorldInfoVerdict) -> NearMiss:
        is_excluded = verdict.logic in (Logic.NOT_ALL, Logic.NOT_ANY)
        return NearMiss(
            kind="secondary_found" if is_excluded else "secondary_missing",
            key=verdict.key or "",
            keys=verdict.unmet,
            message=self._message_at(verdict.place),
        )

    def _by_recursion(self, place: int, kind: MissKind) -> NearMiss | None:
        for key in self._literal_keys(place) if self._contents else ():
            if self._may_search() and key.text.lower() in self._contents:
                return NearMiss(kind=kind, key=key.raw)
        return None

    def _switched_off(self, place: int, entry: WorldEntry) -> NearMiss | None:
        visible = self._haystack.visible_depth(entry)
        for key in self._literal_keys(place):
            found = self._search(key, visible)
            if found is not None:
                return NearMiss(kind="switched_off", key=key.raw, message=self._message(found))
        return None

    def _literal_keys(self, place: int) -> list[LiteralKey]:
        return [key for key in self._plan.table.primary(place) if isinstance(key, LiteralKey) and key.text]

    @cached_property
    def _contents(self) -> str:
        """What the activated entries say, in lower case."""
        return "\n".join(map(str, self._said))[:MOST_SAID].lower()

    def _search(self, key: LiteralKey, depth: int) -> int | None:
        return self._haystack.said_in_any_case(key.text.lower(), depth) if self._may_search() else None

    def _may_search(self) -> bool:
        self._searches -= 1
        return self._searches >= 0

    def _short_by(self, entry: WorldEntry, verdict: WorldInfoVerdict) -> int | None:
        """How many tokens were missing; for one that was not even tried, with those of the one that was too much."""
        if verdict.short_by is not None:
            return verdict.short_by
        self._counted -= 1
        return self._first_excess + self._input.count_tokens(entry.content) if self._counted >= 0 else None

    @cached_property
    def _first_excess(self) -> int:
        return next((one.short_by for one in self._turned_down.values() if one.short_by is not None), 0)

    def _winner(self, reference: str | None) -> str:
        place = None if reference is None else self._plan.places.get(reference)
        source = None if place is None else self._plan.entries[place].source
        return (source and (source.name or source.comment)) or reference or ""

    def _message(self, number: int) -> int | None:
        """The place in the chat of a message that is counted from the newest."""
        return self._input.places[number] if number < len(self._input.places) else None

    def _message_at(self, place: WorldInfoPlace | None) -> int | None:
        return None if place is None or place.message is None else self._message(place.message)


def _filtered(entry: WorldEntry, *, by_tag: bool) -> NearMiss | None:
    wanted = entry.character_filter
    if wanted is None:
        return None
    if by_tag:
        return NearMiss(kind="tag", wanted=wanted.tags, excludes=wanted.excludes)
    return NearMiss(kind="character", wanted=wanted.names, excludes=wanted.excludes)
