"""Lorebooks of other applications as RisuAI takes them in: what it has no field for becomes a decorator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from tavernkit.lore.book import Book
from tavernkit.lore.files.character_book import write_character_book
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.module import Module
from tavernkit.text.js_json import in_property_order
from tavernkit.text.js_values import is_truthy, join, to_text
from tavernkit.values import Json, JsonObject

AT_DEPTH = 4
"""SillyTavern's position of entries that stand in the chat."""

ROLES = ("system", "user", "assistant")
DECORATED_SINCE = 2
"""The version of entries that say everything in decorators."""

NOT_ALL, NOT_ANY, AND_ALL = 1, 2, 3
"""SillyTavern's logics of secondary keys that RisuAI has decorators for."""


def module_of_book(book: Book) -> Module:
    """A book that belongs to nobody is lore like that of a module, which comes behind all other."""
    return Module(name=book.name or "", lore=entries_from_book(book))


def entries_from_book(book: Book) -> tuple[LoreEntry, ...]:
    """The entries of a book as RisuAI would import them; it does not know of entries that are switched off."""
    written = _list(write_character_book(book)["entries"])
    opened = (opened_entry(import_entry(object_of(entry))) for entry in written)
    return tuple(LoreEntry.read(LooseObject(entry, ReportBuilder())) for entry in opened)


def import_entry(entry: JsonObject) -> dict[str, Json]:
    """What RisuAI stores for one entry of a card's `character_book`."""
    keys, secondary = _list(entry.get("keys")), _list(entry.get("secondary_keys"))
    extensions: dict[str, Json] = dict(object_of(entry.get("extensions")))
    decorators: list[str] = []
    is_selective = _decorate(extensions, secondary, decorators)
    lines = [*reversed(decorators), to_text(or_else(entry.get("content"), ""))]
    others = {name: value for name, value in extensions.items() if name != "risu_case_sensitive"}
    return {
        "key": join(keys, ", "),
        "secondkey": join(secondary, ", "),
        **_renamed(entry, "insertion_order", "insertorder"),
        "comment": or_else(entry.get("name"), entry.get("comment"), ""),
        "content": "\n".join(lines),
        "mode": or_else(entry.get("mode"), "normal"),
        "alwaysActive": or_else(entry.get("constant"), False),
        "selective": or_else(is_selective, entry.get("selective"), False),
        "extentions": others | _renamed(entry, "case_sensitive", "risu_case_sensitive"),
        **_renamed(extensions, "risu_activationPercent", "activationPercent"),
        "loreCache": extensions.get("risu_loreCache"),
        "useRegex": _uses_regex(entry, keys),
        **_renamed(entry, "folder", "folder"),
    }


def opened_entry(entry: JsonObject) -> JsonObject:
    """The entry as it is once RisuAI has opened its book: the chance that older entries have becomes a decorator."""
    percent, version = entry.get("activationPercent"), or_else(entry.get("bookVersion"), 1)
    if not is_truthy(percent) or (_is_number(version) and version >= DECORATED_SINCE):
        return entry
    content = f"@@probability {to_text(percent)}\n{to_text(or_else(entry.get('content'), ''))}"
    return {**entry, "content": content, "activationPercent": None, "bookVersion": DECORATED_SINCE}


def _decorate(extensions: dict[str, Json], secondary: Sequence[Json], decorators: list[str]) -> bool | None:
    """Move what has a decorator out of the extensions; the last decorator comes first in the entry. Gives whether the
    entry is selective, where a decorator has decided that."""
    if is_truthy(extensions.get("useProbability")) and extensions.get("probability", 100) != 100:
        decorators.append(f"@@probability {to_text(extensions['probability'])}")
        del extensions["useProbability"], extensions["probability"]
    depth, role = extensions.get("depth"), extensions.get("role")
    if extensions.get("position") == AT_DEPTH and _is_number(depth) and _is_number(role):
        named = ROLES[int(role)] if role in range(len(ROLES)) else "undefined"
        decorators.append(f"@@depth {to_text(depth)}\n@@role {named}")
        del extensions["position"], extensions["depth"], extensions["role"]
    is_selective = None
    logic = extensions.get("selectiveLogic")
    if secondary and _is_number(logic) and logic in (NOT_ALL, NOT_ANY, AND_ALL):
        is_selective = False
        decorators += _of_logic(int(logic), secondary)
    delay = extensions.get("delay")
    if _is_number(delay) and delay > 0:
        decorators.append(f"@@activate_only_after {to_text(delay)}")
        del extensions["delay"]
    if isinstance(whole := extensions.get("match_whole_words"), bool):
        decorators.append("@@match_full_word" if whole else "@@match_partial_word")
        del extensions["match_whole_words"]
    return is_selective


def _of_logic(logic: int, secondary: Sequence[Json]) -> list[str]:
    if logic == NOT_ALL:
        return [f"@@exclude_keys_all {join(list(secondary), ',')}"]
    name = "exclude_keys" if logic == NOT_ANY else "additional_keys"
    return [f"@@{name} {to_text(key)}" for key in secondary]


def _uses_regex(entry: JsonObject, keys: Sequence[Json]) -> Json:
    """A book whose first key is not written as an expression has none."""
    wanted = or_else(entry.get("use_regex"), False)
    is_written_so = bool(keys) and isinstance(keys[0], str) and keys[0].startswith("/")
    return wanted if is_written_so or not is_truthy(wanted) else False


def import_external(entries: JsonObject | Sequence[Json]) -> list[dict[str, Json]]:
    """What RisuAI stores for the `entries` of a lorebook file of another application."""
    # JavaScript goes through an object in an order of its own.
    listed = in_property_order(dict(entries)).values() if isinstance(entries, Mapping) else entries
    return [_external(object_of(entry)) for entry in listed]


def _external(entry: JsonObject) -> dict[str, Json]:
    priority = object_of(entry.get("contextConfig")).get("budgetPriority")
    return {
        "key": _joined(_first_said(entry, "key", "keys", "keywords")),
        "insertorder": or_else(entry.get("order"), entry.get("priority"), priority, 0),
        "comment": _first_said(entry, "comment", "name", "displayName"),
        "content": _first_said(entry, "content", "entry", "text"),
        "mode": "normal",
        "alwaysActive": or_else(entry.get("constant"), entry.get("forceActivation"), False),
        "secondkey": _joined(entry.get("secondary_keys")),
        "selective": or_else(entry.get("selective"), False),
    }


def _first_said(entry: JsonObject, *names: str) -> Json:
    return next((entry[name] for name in names if is_truthy(entry.get(name))), "")


def _joined(keys: Json) -> str:
    return join(keys, ", ") if isinstance(keys, list | tuple) else to_text(or_else(keys, ""))


def or_else(*values: Json) -> Json:
    """The first that is there, as `??` chooses."""
    return next((value for value in values if value is not None), None)


def _renamed(source: JsonObject, name: str, wanted: str) -> dict[str, Json]:
    """A field under another name, if it is there; null is a value like others."""
    return {wanted: source[name]} if name in source else {}


def _list(value: Json) -> list[Json]:
    if isinstance(value, list | tuple):
        return list(value)
    return [value] if isinstance(value, str) and value else []


def object_of(value: Json) -> JsonObject:
    """The object that the value is, or an empty one."""
    return value if isinstance(value, Mapping) else {}


def _is_number(value: Json) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
