"""One entry as World Info means it: every field typed, decoded once from an `Entry` and its extensions."""

from __future__ import annotations

from enum import IntEnum, IntFlag

from tavernkit.lore.entry import Entry
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.sillytavern.world_info.decorators import split_decorators
from tavernkit.text.js_strings import JS_WHITESPACE
from tavernkit.values import Value

__all__ = ["CharacterFilter", "Logic", "Position", "Source", "WorldEntry", "decode_entry", "reference"]

DEFAULT_WEIGHT = 100
DEFAULT_DEPTH = 4


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


_SOURCE_FIELDS = {
    Source.PERSONA_DESCRIPTION: "match_persona_description",
    Source.CHARACTER_DESCRIPTION: "match_character_description",
    Source.CHARACTER_PERSONALITY: "match_character_personality",
    Source.CHARACTER_DEPTH_PROMPT: "match_character_depth_prompt",
    Source.SCENARIO: "match_scenario",
    Source.CREATOR_NOTES: "match_creator_notes",
}


class CharacterFilter(Value, frozen=True, kw_only=True):
    """The characters, by the file name of their card or by tag, that an entry is for, or is not for."""

    names: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    excludes: bool = False


class WorldEntry(Value, frozen=True, kw_only=True):
    """An entry of the book `world`. `content` is without its decorators; None leaves a choice to the settings.

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
    depth: int = DEFAULT_DEPTH
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


def reference(world: str, uid: str) -> str:
    """The name of an entry among all books, as SillyTavern keeps timed effects under it."""
    return f"{world}.{uid}"


def decode_entry(entry: Entry, world: str) -> WorldEntry:
    """Decode an entry, whatever file it came from, with the defaults that SillyTavern gives when it imports it."""
    fields = LooseObject(entry.extensions, ReportBuilder())
    decorators, content = split_decorators(entry.content)
    # A world file is taken as it stands, where nothing is not a hundred; from a card it becomes a hundred.
    in_world_file = entry.spelling is not None and entry.spelling.format == "world_info"
    group = fields.text("group")
    case_sensitive = fields.optional_flag("case_sensitive")
    if case_sensitive is None and entry.spelling is None:
        case_sensitive = entry.case_sensitive
    by_name = Position.BEFORE_CHARACTER if entry.position == "before_char" else Position.AFTER_CHARACTER
    return WorldEntry(
        world=world,
        uid=entry.id,
        source=entry,
        keys=entry.keys,
        secondary_keys=entry.secondary_keys if entry.selective else (),
        logic=fields.integer("selectiveLogic"),
        content=content,
        decorators=decorators,
        enabled=entry.enabled,
        constant=entry.constant,
        order=entry.insertion_order,
        position=fields.integer("position", default=by_name),
        depth=fields.integer("depth", default=DEFAULT_DEPTH),
        role=fields.integer("role"),
        outlet=fields.text("outlet_name"),
        probability=fields.number("probability", default=0 if in_world_file else 100),
        use_probability=fields.flag("useProbability", default=True),
        groups=_groups(group),
        group_text=group,
        group_override=fields.flag("group_override"),
        group_weight=fields.number("group_weight", default=DEFAULT_WEIGHT),
        use_group_scoring=_group_scoring(entry, fields),
        scan_depth=fields.optional_integer("scan_depth"),
        case_sensitive=case_sensitive,
        match_whole_words=fields.optional_flag("match_whole_words"),
        match_sources=sum(int(source) for source, name in _SOURCE_FIELDS.items() if fields.flag(name)),
        exclude_recursion=fields.flag("exclude_recursion"),
        prevent_recursion=fields.flag("prevent_recursion"),
        delay_until_recursion=_level(fields),
        sticky=fields.integer("sticky"),
        cooldown=fields.integer("cooldown"),
        delay=fields.integer("delay"),
        triggers=fields.texts("triggers"),
        character_filter=_character_filter(entry),
        ignore_budget=fields.flag("ignore_budget"),
    )


def _groups(text: str) -> tuple[str, ...]:
    names = (name.lstrip(JS_WHITESPACE) if place else name for place, name in enumerate(text.split(",")))
    return tuple(name for name in names if name)


def _group_scoring(entry: Entry, fields: LooseObject) -> bool | None:
    # A card has no way to leave this to the settings, so reading a world file turned its null into false.
    if entry.spelling is not None and entry.spelling.format == "world_info":
        return LooseObject(entry.spelling.fields, ReportBuilder()).optional_flag("useGroupScoring")
    return fields.optional_flag("use_group_scoring")


def _level(fields: LooseObject) -> float:
    """At which level of recursion an entry may wake up first; older files say `true` for the first."""
    return 1 if fields.raw("delay_until_recursion") is True else fields.number("delay_until_recursion")


def _character_filter(entry: Entry) -> CharacterFilter | None:
    given = LooseObject(entry.unknown, ReportBuilder()).nested("characterFilter")
    names, tags = given.texts("names"), given.texts("tags")
    if not names and not tags:
        return None
    return CharacterFilter(names=names, tags=tags, excludes=given.flag("isExclude"))
