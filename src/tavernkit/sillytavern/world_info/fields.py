"""One entry as World Info means it: every field typed, decoded once from an `Entry` and its extensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum, IntFlag
from operator import itemgetter
from typing import Any, TypeVar

import msgspec

from tavernkit.lore.book import Entry, Spelling
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.text.js_strings import JS_WHITESPACE
from tavernkit.values import Json, JsonObject, Value

ACTIVATE = "@@activate"
DONT_ACTIVATE = "@@dont_activate"

_KNOWN = (ACTIVATE, DONT_ACTIVATE)


def split_decorators(content: str) -> tuple[tuple[str, ...], str]:
    """The decorators that were recognised, and the content behind them.

    `@@@name` is tried only when the decorator before it was not known. A content of nothing but decorators is kept
    whole, as SillyTavern does.
    """
    if not content.startswith("@@"):
        return (), content
    decorators: list[str] = []
    was_unknown = False
    lines = content.split("\n")
    for number, line in enumerate(lines):
        if not line.startswith("@@"):
            return tuple(decorators), "\n".join(lines[number:])
        is_fallback = line.startswith("@@@")
        if is_fallback and not was_unknown:
            continue
        decorator = line[1:] if is_fallback else line
        # A line that only begins like a known decorator is recognised, too, but no exact match will find it.
        was_unknown = not decorator.startswith(_KNOWN)
        if not was_unknown:
            decorators.append(decorator)
    return tuple(decorators), content


DEFAULT_WEIGHT = 100
DEFAULT_DEPTH = 4
NOWHERE = -1


class Position(IntEnum):
    """Where an entry goes."""

    BEFORE_CHARACTER = 0
    AFTER_CHARACTER = 1
    NOTE_TOP = 2
    NOTE_BOTTOM = 3
    AT_DEPTH = 4
    EXAMPLES_TOP = 5
    EXAMPLES_BOTTOM = 6
    OUTLET = 7


class Logic(IntEnum):
    """What the secondary keys must do once a primary key was found."""

    AND_ANY = 0
    NOT_ALL = 1
    NOT_ANY = 2
    AND_ALL = 3


class Source(IntFlag):
    """What is scanned beside the messages. The first six are up to each entry, in the order they are joined."""

    PERSONA_DESCRIPTION = 1
    CHARACTER_DESCRIPTION = 2
    CHARACTER_PERSONALITY = 4
    CHARACTER_DEPTH_PROMPT = 8
    SCENARIO = 16
    CREATOR_NOTES = 32
    INJECTION = 64
    RECURSION = 128


ENTRY_SOURCES = {name.lower(): int(source) for name, source in Source.__members__.items() if source < Source.INJECTION}
"""Those that are up to each entry, as plain numbers, since they are joined for every entry."""


class CharacterFilter(Value, frozen=True, kw_only=True):
    """The characters, by the file name of their card or by tag, that an entry is for, or is not for."""

    names: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    excludes: bool = False


class WorldEntry(Value, frozen=True, kw_only=True):
    """An entry of the book `world`. `content` is without its decorators; None leaves a choice to the settings, and in
    `depth` is the null of a world file.

    `position` and `logic` are numbers because files hold others than SillyTavern knows: such an entry wakes up and goes
    nowhere, or never meets its condition.
    """

    world: str
    uid: str
    source: Entry
    keys: tuple[str, ...] = ()
    secondary_keys: tuple[str, ...] = ()
    logic: int = Logic.AND_ANY
    content: str = ""
    decorators: tuple[str, ...] = ()
    enabled: bool = True
    constant: bool = False
    order: int = 100
    position: int = Position.BEFORE_CHARACTER
    depth: int | None = DEFAULT_DEPTH
    role: int = 0
    outlet: str = ""
    probability: float = 100
    use_probability: bool = True
    groups: tuple[str, ...] = ()
    group_text: str = ""
    group_override: bool = False
    group_weight: float = DEFAULT_WEIGHT
    use_group_scoring: bool | None = None
    scan_depth: int | None = None
    case_sensitive: bool | None = None
    match_whole_words: bool | None = None
    match_sources: int = 0
    exclude_recursion: bool = False
    prevent_recursion: bool = False
    delay_until_recursion: float = 0
    sticky: int = 0
    cooldown: int = 0
    delay: int = 0
    triggers: tuple[str, ...] = ()
    character_filter: CharacterFilter | None = None
    ignore_budget: bool = False

    @property
    def reference(self) -> str:
        return reference(self.world, self.uid)

    @property
    def chat_depth(self) -> int:
        """Where it goes in the chat; no depth is the default one."""
        return DEFAULT_DEPTH if self.depth is None else self.depth


def reference(world: str, uid: str) -> str:
    """The name of an entry among all books, as SillyTavern keeps timed effects under it."""
    return f"{world}.{uid}"


class Wishes(Value, frozen=True, kw_only=True):
    """What the extensions of an entry say about when to look at it, and how to look for its keys; None where they say
    nothing, or nothing that can be read."""

    scan_depth: int | None = None
    case_sensitive: bool | None = None
    match_whole_words: bool | None = None
    match_persona_description: bool | None = None
    match_character_description: bool | None = None
    match_character_personality: bool | None = None
    match_character_depth_prompt: bool | None = None
    match_scenario: bool | None = None
    match_creator_notes: bool | None = None
    delay_until_recursion: Json = None

    @property
    def match_sources(self) -> int:
        return sum(number for name, number in ENTRY_SOURCES.items() if getattr(self, f"match_{name}"))

    @property
    def level(self) -> float:
        """At which level of recursion an entry may wake up first; older files say `true` for the first."""
        level = self.delay_until_recursion
        return 0 if not level else 1 if level is True else _number(level)


class _Extensions(Wishes, frozen=True, kw_only=True):
    """All that the extensions of an entry say."""

    logic: int | None = msgspec.field(name="selectiveLogic", default=None)
    position: int | None = None
    depth: int | None = None
    role: int | None = None
    outlet: str | None = msgspec.field(name="outlet_name", default=None)
    probability: Json = None
    use_probability: bool | None = msgspec.field(name="useProbability", default=None)
    group: str | None = None
    group_override: bool | None = None
    group_weight: Json = None
    use_group_scoring: bool | None = None
    exclude_recursion: bool | None = None
    prevent_recursion: bool | None = None
    sticky: int | None = None
    cooldown: int | None = None
    delay: int | None = None
    triggers: Json = None
    ignore_budget: bool | None = None

    @property
    def depth_or_default(self) -> int:
        return DEFAULT_DEPTH if self.depth is None else self.depth


F = TypeVar("F", bound=Wishes)

_READERS: Mapping[Any, Callable[[LooseObject, str], Json]] = {
    int | None: LooseObject.optional_integer,
    bool | None: LooseObject.optional_flag,
    str | None: LooseObject.optional_text,
    Json: LooseObject.raw,
}


class Sketch(Value, frozen=True, kw_only=True):
    """As much of an entry as must be known before a scan; the rest is decoded when the entry is first looked at."""

    world: str
    source: Entry
    wishes: Wishes

    @property
    def secondary_keys(self) -> tuple[str, ...]:
        return self.source.secondary_keys if self.source.selective else ()


_NO_WISHES = Wishes()
_outline_of = itemgetter(*Wishes.__struct_fields__)
_LEAVES_ALL = (*[None] * 3, *[False] * 7)
"""What most entries of a world file say: everything is left to the settings. To see that, nothing has to be decoded."""


def wishes_of(entry: Entry) -> Wishes:
    try:
        if _outline_of(entry.extensions) == _LEAVES_ALL and entry.spelling is not None:
            return _NO_WISHES
    except KeyError:
        pass
    wishes = _read_extensions(entry.extensions, Wishes)
    return wishes if entry.spelling is not None else wishes.with_(case_sensitive=_case_sensitive(entry, wishes))


def decode_entry(entry: Entry, world: str) -> WorldEntry:
    """Decode an entry, whatever file it came from, with the defaults that SillyTavern gives when it imports it."""
    fields = _read_extensions(entry.extensions, _Extensions)
    decorators, content = split_decorators(entry.content)
    # A null of a world file is taken as it stands: no probability, position or depth. From a card they have defaults.
    in_world_file = entry.spelling is not None and entry.spelling.format == "world_info"
    group = fields.group or ""
    position: int | None = fields.position
    if position is None and in_world_file and "position" in entry.extensions:
        position = NOWHERE
    elif position is None:
        position = Position.BEFORE_CHARACTER if entry.position == "before_char" else Position.AFTER_CHARACTER
    return WorldEntry(
        world=world,
        uid=entry.id,
        source=entry,
        keys=entry.keys,
        secondary_keys=entry.secondary_keys if entry.selective else (),
        logic=fields.logic or 0,
        content=content,
        decorators=decorators,
        enabled=entry.enabled,
        constant=entry.constant,
        order=entry.insertion_order,
        position=position,
        depth=None if in_world_file and _says_null(entry.spelling, "depth") else fields.depth_or_default,
        role=fields.role or 0,
        outlet=fields.outlet or "",
        probability=_number(fields.probability, default=0 if in_world_file else 100),
        use_probability=fields.use_probability is not False,
        groups=_groups(group) if group else (),
        group_text=group,
        group_override=fields.group_override is True,
        group_weight=_number(fields.group_weight, default=DEFAULT_WEIGHT),
        use_group_scoring=_group_scoring(entry.spelling)
        if entry.spelling and in_world_file
        else fields.use_group_scoring,
        scan_depth=fields.scan_depth,
        case_sensitive=_case_sensitive(entry, fields),
        match_whole_words=fields.match_whole_words,
        match_sources=fields.match_sources,
        exclude_recursion=fields.exclude_recursion is True,
        prevent_recursion=fields.prevent_recursion is True,
        delay_until_recursion=fields.level,
        sticky=fields.sticky or 0,
        cooldown=fields.cooldown or 0,
        delay=fields.delay or 0,
        triggers=_loose(fields.triggers).texts("value") if fields.triggers else (),
        character_filter=_character_filter(entry.unknown) if "characterFilter" in entry.unknown else None,
        ignore_budget=fields.ignore_budget is True,
    )


def _read_extensions(extensions: JsonObject, kind: type[F]) -> F:
    """At once where every field has its own type, as in files that SillyTavern wrote; else one by one, tolerantly."""
    try:
        return msgspec.convert(extensions, kind)
    except (msgspec.ValidationError, UnicodeEncodeError):  # the latter: a name with a lone surrogate
        source = LooseObject(extensions, ReportBuilder())
        fields = msgspec.structs.fields(kind)
        read = {field.encode_name: _READERS[field.type](source, field.encode_name) for field in fields}
        return msgspec.convert(read, kind)


def _case_sensitive(entry: Entry, fields: Wishes) -> bool | None:
    if fields.case_sensitive is None and entry.spelling is None:
        return entry.case_sensitive
    return fields.case_sensitive


def _loose(value: Json) -> LooseObject:
    return LooseObject({"value": value}, ReportBuilder())


def _number(value: Json, *, default: float = 0) -> float:
    if value is None or isinstance(value, bool):
        return default
    return value if type(value) is int else _loose(value).number("value", default=default)


def _groups(text: str) -> tuple[str, ...]:
    names = (name.lstrip(JS_WHITESPACE) if place else name for place, name in enumerate(text.split(",")))
    return tuple(name for name in names if name)


def _group_scoring(spelling: Spelling) -> bool | None:
    # A card has no way to leave this to the settings, so reading a world file turned its null into false.
    value = spelling.fields.get("useGroupScoring")
    return value if value is None or value is True else _loose(value).optional_flag("value")


def _says_null(spelling: Spelling | None, key: str) -> bool:
    """Whether the file has a null there, which reading it as a card has replaced by a default."""
    return spelling is not None and spelling.fields.get(key, "") is None


def _character_filter(unknown: JsonObject) -> CharacterFilter | None:
    given = LooseObject(unknown, ReportBuilder()).nested("characterFilter")
    names, tags = given.texts("names"), given.texts("tags")
    if not names and not tags:
        return None
    return CharacterFilter(names=names, tags=tags, excludes=given.flag("isExclude"))
