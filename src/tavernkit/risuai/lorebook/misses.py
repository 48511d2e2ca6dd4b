"""How near entries came that are not activated: worked out when somebody asks, and for so many entries at most."""

from __future__ import annotations

from collections.abc import Mapping

from tavernkit.prompt.reasons import NearMiss
from tavernkit.risuai.lorebook.decorators import ChatCondition, Decorators, QueryKind
from tavernkit.risuai.lorebook.matching import LorebookHaystack, Search, Sight
from tavernkit.risuai.lorebook.plan import LorebookPlan
from tavernkit.risuai.lorebook.result import LorebookReason, LorebookVerdict

MOST_SEARCHES = 2_000
"""How many keys are looked for in texts in which the scan did not look for them."""

MOST_SEARCHED_CHARACTERS = 50_000
"""In how much of a chat they are looked for."""

_QUERIES = {
    LorebookReason.NO_SECONDARY_KEY: QueryKind.SECONDARY,
    LorebookReason.NO_ADDITIONAL_KEY: QueryKind.ADDITIONAL,
}


class LorebookMisses:
    """The near misses of one scan of a chat of this `length`; `short_by` are the tokens that entries lack."""

    def __init__(
        self, plan: LorebookPlan, haystack: LorebookHaystack, *, length: int, short_by: Mapping[int, int]
    ) -> None:
        self._plan = plan
        self._haystack = haystack
        self._length = length
        self._short_by = short_by
        self._searches = MOST_SEARCHES
        self._lowered: dict[int, str] = {}

    def of(self, verdict: LorebookVerdict, told: Decorators, sight: Sight, place: int | None) -> NearMiss | None:
        """How near an entry came, as far as that can be said; `place` is that of the key in the chat."""
        reason, index = verdict.reason, verdict.index
        message = place if place is not None and place < self._length else None
        match reason:
            case LorebookReason.NO_KEY:
                return None if self._plan.entries[index].use_regex else self._by_key(index, sight)
            case LorebookReason.NO_SECONDARY_KEY | LorebookReason.NO_ADDITIONAL_KEY:
                return self._missing(index, _QUERIES[reason], sight)
            case LorebookReason.EXCLUDED:
                return NearMiss(kind="secondary_found", keys=(verdict.key or "",), message=message)
            case LorebookReason.TOO_EARLY | LorebookReason.NOT_THIS_TURN | LorebookReason.OTHER_GREETING:
                return self._unmet(reason, told.conditions)
            case LorebookReason.PROBABILITY:
                return NearMiss(kind="probability", probability=min(told.probabilities, default=0), roll=verdict.roll)
            case LorebookReason.BUDGET:
                return NearMiss(kind="budget", tokens=self._short_by.get(index))
            case _:
                return None

    def _by_key(self, index: int, sight: Sight) -> NearMiss | None:
        for search in self._plan.searches(index):
            if search.kind != QueryKind.KEYS:
                continue
            for key, wanted in zip(search.keys, search.wanted, strict=True):
                miss = self._inside_a_word(key, wanted, search, sight) or self._too_old(key, wanted, search, sight)
                if miss is not None:
                    return miss
        return None

    def _inside_a_word(self, key: str, wanted: str, search: Search, sight: Sight) -> NearMiss | None:
        place = self._newest(wanted, range(sight.start, self._length)) if search.full_words else None
        return None if place is None else NearMiss(kind="whole_words", key=key, message=place)

    def _too_old(self, key: str, wanted: str, search: Search, sight: Sight) -> NearMiss | None:
        place = self._newest(wanted, range(sight.start), as_word=search.full_words, squeezed=not search.full_words)
        return None if place is None else NearMiss(kind="depth", key=key, message=place, depth=self._length - place)

    def _newest(self, wanted: str, places: range, *, as_word: bool = False, squeezed: bool = False) -> int | None:
        """The newest of these messages that has a key, as far as they are searched."""
        if not places or self._searches <= 0:
            return None
        self._searches -= 1
        left = MOST_SEARCHED_CHARACTERS
        for place in reversed(places):
            if left <= 0:
                break
            text = self._lowered.get(place)
            if text is None:
                text = self._lowered[place] = self._haystack.text(place).lower()
            left -= len(text)
            if wanted in (text.split(" ") if as_word else text.replace(" ", "") if squeezed else text):
                return place
        return None

    def _missing(self, index: int, kind: QueryKind, sight: Sight) -> NearMiss:
        keys = next((query.keys for query in self._plan.queries(index) if query.kind == kind), ())
        found: tuple[str, int] | None = None
        if not self._plan.entries[index].use_regex:
            own = next(search for search in self._plan.searches(index) if search.kind == QueryKind.KEYS)
            found = self._haystack.find(own, sight)
        key, place = found or ("", self._length)
        return NearMiss(kind="secondary_missing", key=key, keys=keys, message=place if place < self._length else None)

    def _unmet(self, reason: LorebookReason, conditions: tuple[ChatCondition, ...]) -> NearMiss | None:
        length = self._length + 1  # the greeting counts
        for condition in conditions:
            number = condition.number
            match condition.kind, reason:
                case "activate_only_after", LorebookReason.TOO_EARLY if length < number:
                    return NearMiss(kind="delay", messages=number - length)
                case "activate_only_every", LorebookReason.NOT_THIS_TURN if number > 0 and length % number:
                    return NearMiss(kind="turn", messages=number - length % number)
                case "is_greeting", LorebookReason.OTHER_GREETING:
                    return NearMiss(kind="greeting", wanted=(str(number),))
        return None
