"""How one entry of a SillyTavern world file and one entry of a `character_book` correspond, field by field.

SillyTavern converts with JavaScript's rules, and both directions follow them: a field that is left out stays out, and
`null` gives way to a default only where the application says so. Values are passed on as they stand, whatever their
type; making sense of them is the reader's work.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import msgspec

from tavernkit.reading import LooseObject
from tavernkit.text.js_values import is_truthy, to_number
from tavernkit.values import Json, JsonObject

BEFORE_CHARACTER, AFTER_CHARACTER = 0, 1


class SharedField(NamedTuple):
    """A field that stands beside the others in a world file and inside `extensions` in a `character_book`."""

    world: str
    extension: str
    template: Json
    """What a new entry in SillyTavern has."""
    exported: Json
    """What null or nothing becomes in a `character_book`."""
    imported: Json
    """What null or nothing becomes in a world file."""


SHARED = (
    SharedField("probability", "probability", 100, None, 100),
    SharedField("useProbability", "useProbability", True, False, True),
    SharedField("depth", "depth", 4, 4, 4),
    SharedField("selectiveLogic", "selectiveLogic", 0, 0, 0),
    SharedField("outletName", "outlet_name", "", "", ""),
    SharedField("group", "group", "", "", ""),
    SharedField("groupOverride", "group_override", False, False, False),
    SharedField("groupWeight", "group_weight", 100, None, 100),
    SharedField("preventRecursion", "prevent_recursion", False, False, False),
    SharedField("delayUntilRecursion", "delay_until_recursion", 0, False, False),
    SharedField("scanDepth", "scan_depth", None, None, None),
    SharedField("matchWholeWords", "match_whole_words", None, None, None),
    SharedField("useGroupScoring", "use_group_scoring", None, False, None),
    SharedField("caseSensitive", "case_sensitive", None, None, None),
    SharedField("automationId", "automation_id", "", "", ""),
    SharedField("role", "role", 0, 0, 0),
    SharedField("vectorized", "vectorized", False, False, False),
    SharedField("sticky", "sticky", None, None, None),
    SharedField("cooldown", "cooldown", None, None, None),
    SharedField("delay", "delay", None, None, None),
    SharedField("matchPersonaDescription", "match_persona_description", False, False, False),
    SharedField("matchCharacterDescription", "match_character_description", False, False, False),
    SharedField("matchCharacterPersonality", "match_character_personality", False, False, False),
    SharedField("matchCharacterDepthPrompt", "match_character_depth_prompt", False, False, False),
    SharedField("matchScenario", "match_scenario", False, False, False),
    SharedField("matchCreatorNotes", "match_creator_notes", False, False, False),
    SharedField("triggers", "triggers", [], [], []),
    SharedField("ignoreBudget", "ignore_budget", False, False, False),
)

EXTENSION_NAMES = {field.world: field.extension for field in SHARED}
EXPORTED = {field.extension: field.exported for field in SHARED}

# These three are exported as they stand, null and all, and have rules of their own on the way back.
PASSED_ON = {"position": "position", "excludeRecursion": "exclude_recursion", "displayIndex": "display_index"}

# World name → `character_book` name, where the value is the same.
RENAMED = {
    "uid": "id",
    "key": "keys",
    "keysecondary": "secondary_keys",
    "comment": "comment",
    "content": "content",
    "constant": "constant",
    "selective": "selective",
    "order": "insertion_order",
}

ENTRY_TEMPLATE: JsonObject = {
    "key": [],
    "keysecondary": [],
    "comment": "",
    "content": "",
    "constant": False,
    "selective": True,
    "addMemo": False,
    "order": 100,
    "position": BEFORE_CHARACTER,
    "disable": False,
    "excludeRecursion": False,
    **{field.world: field.template for field in SHARED},
}
"""A new entry as SillyTavern makes it."""

WORLD_FIELDS = frozenset(
    {
        *RENAMED,
        *EXTENSION_NAMES,
        *PASSED_ON,
        *("disable", "extensions"),
    }
)
"""The fields of a world entry that `character_entry` carries over."""

_WORLD_NAMES = {theirs: ours for ours, theirs in (*RENAMED.items(), *EXTENSION_NAMES.items(), *PASSED_ON.items())}
_WORLD_NAMES["enabled"] = "disable"

WORLD_ONLY = frozenset(
    {"addMemo", "characterFilter", "characterFilterNames", "characterFilterTags", "characterFilterExclude"}
)
"""The fields of a world entry that SillyTavern itself does not put into a `character_book`."""


_NUMBERS = ("probability", "depth", "group_weight", "scan_depth", "sticky", "cooldown", "delay")
_TEXTS = ("outlet_name", "group", "automation_id")
_FLAGS = (
    *("useProbability", "group_override", "prevent_recursion", "match_whole_words", "use_group_scoring"),
    *("case_sensitive", "vectorized", "match_persona_description", "match_character_description"),
    *("match_character_personality", "match_character_depth_prompt", "match_scenario", "match_creator_notes"),
    *("ignore_budget", "exclude_recursion"),
)
_HIGHEST = {"position": 7, "selectiveLogic": 3, "role": 2}
"""The fields that are one of several numbers, counted from 0."""
_Usual = msgspec.defstruct(
    "_Usual",
    [
        *((name, float | None, None) for name in _NUMBERS),
        *((name, str | None, None) for name in _TEXTS),
        *((name, bool | None, None) for name in _FLAGS),
        *((name, Annotated[int, msgspec.Meta(ge=0, le=highest)] | None, None) for name, highest in _HIGHEST.items()),
        ("delay_until_recursion", bool | float | None, None),
        ("triggers", list[str] | None, None),
    ],
)
"""What SillyTavern keeps in the `extensions` of an entry, of the types that it writes."""


def read_extensions(entry: LooseObject) -> JsonObject:
    """The extensions of an entry; the fields of SillyTavern's that are of no use as they stand are noted, and kept."""
    found = entry.object("extensions")
    try:
        msgspec.convert(found, _Usual)
    except (msgspec.ValidationError, UnicodeEncodeError):
        extensions = entry.nested("extensions")
        for name in _NUMBERS:
            extensions.optional_number(name)
        for name in _TEXTS:
            extensions.optional_text(name)
        for name in _FLAGS:
            extensions.optional_flag(name)
        for name, highest in _HIGHEST.items():
            if extensions.raw(name) is not None:
                extensions.one_of(name, range(highest + 1))
        if not isinstance(extensions.raw("delay_until_recursion"), bool):
            extensions.optional_number("delay_until_recursion")
        extensions.texts("triggers")
    return found


class WorldObject(LooseObject):
    """A world entry that is read as one of a `character_book`; its notes name the fields as the world file does."""

    def at(self, key: str) -> str:
        return super().at(_WORLD_NAMES.get(key, key))

    def nested(self, *keys: str) -> LooseObject:
        return WorldObject(self.object(*keys), self.report, self.path if keys == ("extensions",) else self.at(keys[0]))


def character_entry(world: JsonObject) -> dict[str, Json]:
    """A world entry as an entry of a `character_book`."""
    entry = {theirs: world[ours] for ours, theirs in RENAMED.items() if ours in world}
    entry["enabled"] = not is_truthy(world.get("disable"))
    entry["position"] = "before_char" if _equals_zero(world.get("position")) else "after_char"
    # SillyTavern looks at every key for the form /pattern/flags.
    entry["use_regex"] = True
    extensions: dict[str, Json] = {**_object(world.get("extensions")), **EXPORTED, "triggers": []}
    for theirs in PASSED_ON.values():
        extensions.pop(theirs, None)
    for ours, value in world.items():
        if ours in PASSED_ON:
            extensions[PASSED_ON[ours]] = value
        elif value is not None and ours in EXTENSION_NAMES:
            extensions[EXTENSION_NAMES[ours]] = value
    entry["extensions"] = extensions
    return entry


def world_entry(entry: JsonObject, *, place: int) -> dict[str, Json]:
    """An entry of a `character_book` as a world entry; its `place` in the book stands in for a missing id."""
    extensions = _object(entry.get("extensions"))
    world: dict[str, Json] = {ours: entry[theirs] for ours, theirs in RENAMED.items() if theirs in entry}
    if world.get("uid") is None:
        world["uid"] = place
    for ours, blank in (("keysecondary", []), ("comment", ""), ("constant", False), ("selective", False)):
        if not is_truthy(world.get(ours)):
            world[ours] = blank
    for field in SHARED:
        value = extensions.get(field.extension)
        world[field.world] = field.imported if value is None else value
    if not is_truthy(world["triggers"]):
        world["triggers"] = []
    world["addMemo"] = is_truthy(world["comment"])
    world["disable"] = not is_truthy(entry.get("enabled"))
    by_name = BEFORE_CHARACTER if entry.get("position") == "before_char" else AFTER_CHARACTER
    world["position"] = _or_else(extensions.get("position"), by_name)
    world["excludeRecursion"] = _or_else(extensions.get("exclude_recursion"), False)
    world["displayIndex"] = _or_else(extensions.get("display_index"), place)
    world["extensions"] = _or_else(entry.get("extensions"), {})
    return world


def _or_else(value: Json, default: Json) -> Json:
    return default if value is None else value


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _equals_zero(value: Json) -> bool:
    """What JavaScript's `value == 0` says of a JSON value."""
    return value is not None and to_number(value) == 0
