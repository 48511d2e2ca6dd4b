"""Content as it can stand on a page: JSON as words and numbers, Markdown as safe HTML, and never more than can be read.

Contents come from models and from other people's files. However large, deep or strange one is, drawing it takes a
moment and a bounded part of the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Literal, TypeAlias

from markupsafe import Markup

from tavernkit.artifacts import ContentType
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext
from tavernkit.playground.base.storable import storable
from tavernkit.playground.base.text.markdown import render_markdown
from tavernkit.playground.base.text.sanitising import without_overrides
from tavernkit.playground.story.artifacts.documents import in_words
from tavernkit.values import Json, JsonObject, Value

Mark: TypeAlias = Literal["", "new", "changed"]
"""What the last version has done to a part of the one before."""
Path: TypeAlias = tuple[str, ...]
Marks: TypeAlias = Mapping[Path, Mark]
"""What is to be marked as new or changed, by its place."""


class ValueView(Value, frozen=True, kw_only=True):
    """A JSON value to be read. `share` is how far a number has come between its bounds, in percent, where that means
    something; `fields` are keys in words with their values, and `more` is how much there is beside what is shown. What
    lies too deep is `cut` down to a few words."""

    kind: Literal["text", "number", "nothing", "chips", "list", "object", "cut"]
    text: str = ""
    share: float | None = None
    items: tuple[ValueView, ...] = ()
    fields: tuple[tuple[str, ValueView], ...] = ()
    more: int = 0
    mark: Mark = ""


class ContentView(Value, frozen=True, kw_only=True):
    """What a version holds; `html` has been through `render_markdown`, and `more` characters are not shown."""

    kind: Literal["json", "markdown", "text"]
    value: ValueView | None = None
    html: Markup = Markup()
    text: str = ""
    more: int = 0


class ContentLimits(Value, frozen=True, kw_only=True):
    """How much of a content is shown: so many characters of a text, and of JSON so many values, so deep."""

    characters: int
    values: int
    depth: int = 5
    entries: int = 40


IN_PANEL = ContentLimits(characters=12_000, values=300)
IN_FEED = ContentLimits(characters=4_000, values=60, depth=3)
IN_CHAT = ContentLimits(characters=8_000, values=150)
IN_OVERLAY = ContentLimits(characters=800, values=24, depth=2)

LONGEST_CHIP = 60
LONGEST_VALUE = 2_000
LONGEST_NUMBER = 40
NO_MARKS: Marks = {}

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


def on_one_line(text: str, limit: int) -> str:
    """The beginning of a text, where there is one line for it."""
    line = " ".join(plain_text(text[: limit * 4]).split())
    return line if len(line) <= limit and len(text) <= limit * 4 else f"{line[: limit - 1].rstrip()}…"


def short_words(value: Json, limit: int = LONGEST_CHIP) -> str:
    """Any JSON value in a few words."""
    match value:
        case bool():
            return _yes_or_no(value)
        case str():
            return on_one_line(value, limit) or _("empty")
        case int() | float():
            return _number(value)
        case list() if value:
            return ngettext("{count} item", "{count} items", len(value))
        case dict() if value:
            return ngettext("{count} field", "{count} fields", len(value))
        case _:
            return _("empty")


def content_view(
    content: Json,
    content_type: ContentType,
    limits: ContentLimits,
    marks: Marks = NO_MARKS,
    schema: JsonObject | None = None,
) -> ContentView:
    """What a version holds, within these limits; `schema` is what it was asked for by, and says how far numbers go."""
    if content_type == "json":
        bounds = _Bounds(schema or {})
        return ContentView(kind="json", value=_ContentBuilder(limits, marks).value(content, (), bounds, depth=0))
    text = content if isinstance(content, str) else ""
    shown, more = text[: limits.characters], max(0, len(text) - limits.characters)
    if content_type == "markdown":
        return ContentView(kind="markdown", html=render_markdown(shown), more=more)
    return ContentView(kind="text", text=plain_text(shown), more=more)


class _ContentBuilder:
    """One value on its way to the page, and how many more parts of it there is room for."""

    def __init__(self, limits: ContentLimits, marks: Marks) -> None:
        self._limits = limits
        self._marks = marks
        self._room = limits.values
        # A list says that something in it has changed, also where that is gone.
        self._around = {path[:length] for path in marks for length in range(len(path))}

    def value(self, value: Json, path: Path, bounds: _Bounds, *, depth: int, share: float | None = None) -> ValueView:
        self._room -= 1
        mark = self._marks.get(path, "")
        match value:
            case dict() if value:
                return self._object(value, path, bounds, depth, mark)
            case list() if value:
                return self._list(value, path, bounds, depth, mark)
            case bool():
                return ValueView(kind="text", text=_yes_or_no(value), mark=mark)
            case int() | float():
                return ValueView(kind="number", text=_number(value), share=share, mark=mark)
            case str() if value.strip():
                text, more = plain_text(value[:LONGEST_VALUE]), max(0, len(value) - LONGEST_VALUE)
                return ValueView(kind="text", text=text, more=more, mark=mark)
            case _:
                return ValueView(kind="nothing", mark=mark or self._mark_around(path))

    def _object(self, value: dict[str, Json], path: Path, bounds: _Bounds, depth: int, mark: Mark) -> ValueView:
        if depth >= self._limits.depth or self._room <= 0:
            return ValueView(kind="cut", text=short_words(value), mark=mark or self._mark_around(path))
        fields: list[tuple[str, ValueView]] = []
        numbers = _numbers_in(value)
        for key, item in value.items():
            if len(fields) >= self._limits.entries or self._room <= 0:
                break
            inner = bounds.of_key(key)
            drawn = self.value(item, (*path, key), inner, depth=depth + 1, share=_share_of(key, numbers, inner))
            fields.append((in_words(key), drawn))
        return ValueView(kind="object", fields=tuple(fields), more=len(value) - len(fields), mark=mark)

    def _list(self, value: list[Json], path: Path, bounds: _Bounds, depth: int, mark: Mark) -> ValueView:
        mark = mark or self._mark_around(path)
        if depth >= self._limits.depth or self._room <= 0:
            return ValueView(kind="cut", text=short_words(value), mark=mark)
        entries = value[: self._limits.entries]
        if all(_is_chip(item) for item in entries):
            entries = entries[: max(1, self._room)]
            self._room -= len(entries)
            items = tuple(
                ValueView(kind="text", text=short_words(item), mark=self._marks.get((*path, str(place)), ""))
                for place, item in enumerate(entries)
            )
            return ValueView(kind="chips", items=items, more=len(value) - len(items), mark=mark)
        drawn: list[ValueView] = []
        for place, item in enumerate(entries):
            if self._room <= 0:
                break
            drawn.append(self.value(item, (*path, str(place)), bounds.of_items(), depth=depth + 1))
        return ValueView(kind="list", items=tuple(drawn), more=len(value) - len(drawn), mark=mark)

    def _mark_around(self, path: Path) -> Mark:
        return "changed" if path in self._around else ""


def _is_chip(item: Json) -> bool:
    return not isinstance(item, dict | list) and not (isinstance(item, str) and len(item) > LONGEST_CHIP)


def _number(number: float) -> str:
    text = f"{number:g}" if isinstance(number, float) else str(number)
    return text if len(text) <= LONGEST_NUMBER else f"{text[: LONGEST_NUMBER - 1]}…"


def _yes_or_no(value: bool) -> str:
    return _("Yes") if value else _("No")


def plain_text(text: str) -> str:
    """A text that turns nothing round and that every reader takes."""
    return without_overrides(storable(text))


class _Bounds:
    """A part of a JSON schema, as far as it says between which bounds numbers are; whatever is strange says nothing."""

    def __init__(self, schema: Json, definitions: Json = None) -> None:
        root = schema if isinstance(schema, dict) else {}
        self._definitions = root.get("$defs") if definitions is None else definitions
        self._schema = self._resolved(root)

    def of_key(self, key: str) -> _Bounds:
        """The part about what an object has under a key."""
        properties = self._schema.get("properties")
        return _Bounds(properties.get(key) if isinstance(properties, dict) else None, self._definitions or {})

    def of_items(self) -> _Bounds:
        """The part about what a list holds."""
        return _Bounds(self._schema.get("items"), self._definitions or {})

    @property
    def low(self) -> float | None:
        return _finite(self._schema.get("minimum"))

    @property
    def high(self) -> float | None:
        return _finite(self._schema.get("maximum"))

    def _resolved(self, schema: JsonObject) -> JsonObject:
        for _step in range(_MOST_REFERENCES):
            name = schema.get("$ref")
            if not isinstance(name, str) or not isinstance(self._definitions, dict):
                return schema
            found = self._definitions.get(name.removeprefix(_REFERENCE))
            schema = found if isinstance(found, dict) else {}
        return {}


def _numbers_in(values: Mapping[str, Json]) -> dict[str, float]:
    """The numbers that an object has, by their keys in words; of a very large one only those at its beginning."""
    found = ((key, _finite(value)) for key, value in islice(values.items(), _MOST_NUMBERS))
    return {in_words(key).lower(): number for key, number in found if number is not None}


def _share_of(key: str, numbers: Mapping[str, float], bounds: _Bounds) -> float | None:
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
