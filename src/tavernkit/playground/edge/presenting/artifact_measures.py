"""How far a number has come: between which bounds, as its schema or the values beside it say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice

from tavernkit.playground.story.artifacts.documents import in_words
from tavernkit.values import Json, JsonObject

_REFERENCE = "#/$defs/"
_MOST_REFERENCES = 5
_MOST_NUMBERS = 200

# Of a number like these, people want to see how far it has come. An hour or a number of coins has come nowhere.
_MEASURE = re.compile(
    r"\b(?:affection|anger|arousal|calm|charge|condition|confidence|corruption|courage|energy|exhaustion|faith|"
    r"fatigue|fear|focus|fuel|happiness|health|heat|honor|honour|hp|hunger|integrity|joy|loyalty|luck|magic|"
    r"mana|mood|morale|mp|oxygen|pain|patience|percent|percentage|power|progress|rage|rapport|readiness|"
    r"relationship|reputation|respect|rest|sanity|shield|stamina|stealth|stress|suspicion|sympathy|tension|"
    r"thirst|threat|tiredness|trust|vigor|vigour|vitality|wellbeing|willpower)\b"
)

_BOUND = re.compile(r"\b(?:min|max|minimum|maximum)\b")
_CURRENT = ("current", "now", "value")
"""What the number itself is called in an object that has its bounds beside it."""


class Bounds:
    """A part of a JSON schema, as far as it says between which bounds numbers are; whatever is strange says nothing."""

    def __init__(self, schema: Json, definitions: Json = None) -> None:
        root = schema if isinstance(schema, dict) else {}
        self._definitions = root.get("$defs") if definitions is None else definitions
        self._schema = self._resolved(root)

    def of_key(self, key: str) -> Bounds:
        """The part about what an object has under a key."""
        properties = self._schema.get("properties")
        return Bounds(properties.get(key) if isinstance(properties, dict) else None, self._definitions or {})

    def of_items(self) -> Bounds:
        """The part about what a list holds."""
        return Bounds(self._schema.get("items"), self._definitions or {})

    @property
    def low(self) -> float | None:
        return _finite(self._schema.get("minimum"))

    @property
    def high(self) -> float | None:
        return _finite(self._schema.get("maximum"))

    def _resolved(self, schema: JsonObject) -> JsonObject:
        for _ in range(_MOST_REFERENCES):
            name = schema.get("$ref")
            if not isinstance(name, str) or not isinstance(self._definitions, dict):
                return schema
            found = self._definitions.get(name.removeprefix(_REFERENCE))
            schema = found if isinstance(found, dict) else {}
        return {}


def numbers_in(values: Mapping[str, Json]) -> dict[str, float]:
    """The numbers that an object has, by their keys in words; of a very large one only those at its beginning."""
    found = ((key, _finite(value)) for key, value in islice(values.items(), _MOST_NUMBERS))
    return {in_words(key).lower(): number for key, number in found if number is not None}


def share_of(key: str, numbers: Mapping[str, float], bounds: Bounds) -> float | None:
    """How far the number under a key has come, in percent; None for what is no measure.

    The values beside it come first (`maxHp`, `hp_max`, or `max` beside `current`), then the schema. Without either, a
    measure goes from 0 to 100. What is beyond a bound stands at it.
    """
    words = in_words(key).lower()
    number = numbers.get(words)
    if number is None or _BOUND.search(words):
        return None
    low, high = _beside(words, numbers, ("min", "minimum")), _beside(words, numbers, ("max", "maximum"))
    is_bounded = high is not None
    if not is_bounded:
        if _MEASURE.search(words) is None:
            return None
        low, high = bounds.low if low is None else low, bounds.high
        is_bounded = high is not None
    low, high = 0 if low is None else low, 100 if high is None else high
    if high <= low or (not is_bounded and not low <= number <= high):
        return None
    return round(100 * (min(max(number, low), high) - low) / (high - low), 1)


def _beside(words: str, numbers: Mapping[str, float], kinds: Iterable[str]) -> float | None:
    """A bound of a number that stands beside it."""
    for kind in kinds:
        names = (f"{kind} {words}", f"{words} {kind}", *([kind] if words in _CURRENT else []))
        for name in names:
            if name in numbers:
                return numbers[name]
    return None


def _finite(value: Json) -> float | None:
    """A number that can be compared; one too large to be drawn is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e15 else None
