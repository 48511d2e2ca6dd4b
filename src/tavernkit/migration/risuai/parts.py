"""The database as parts, each a JSON file: the database itself, and every character, chat, module, preset and persona.

Where a list of parts stood, a list of their names stands in what is left, so that they can be put back in their places.
An item that is no object stays there, in an object of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias
from urllib.parse import quote

from tavernkit.migration.files import FileKind
from tavernkit.migration.risuai.branches import MARK, branch_link, parents_first
from tavernkit.migration.risuai.nodes import DatabaseNode
from tavernkit.migration.risuai.secrets import without_secrets
from tavernkit.migration.risuai.unpacking import UnpackedDatabase
from tavernkit.text.js_json import to_json
from tavernkit.values import Json, JsonObject, Value

ROOT = "database.json"
KEPT = "kept"
"""Where an item of a list of names has what is no part."""
MAX_STEM = 150
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_MARK = re.compile(re.escape(MARK.encode()))


class PartList(Value, frozen=True, kw_only=True):
    """A list of the database whose items are parts: their folder, their kind, and the field that names each; without
    one, they are numbered."""

    folder: str
    kind: FileKind
    id: str = ""


LISTS: Mapping[str, PartList] = {
    "modules": PartList(folder="modules", kind="risuai_module", id="id"),
    "botPresets": PartList(folder="presets", kind="risuai_preset"),
    "personas": PartList(folder="personas", kind="risuai_persona", id="id"),
    "characters": PartList(folder="characters", kind="risuai_character", id="chaId"),
}
CHATS = PartList(folder="chats", kind="risuai_chat", id="id")
Names: TypeAlias = list[Json]


class DatabasePart(Value, frozen=True, kw_only=True):
    """A part of the database: its fields, those that have been replaced by names of parts, and what is said of it."""

    path: str
    kind: FileKind
    fields: Mapping[str, DatabaseNode]
    names: Mapping[str, Names] = {}
    detail: str = ""

    def read(self) -> tuple[dict[str, Json], tuple[str, ...]]:
        """The content as JSON, and the names of secrets that were in it. Raises ParseError."""
        found = {key: self.names[key] if key in self.names else node.value() for key, node in self.fields.items()}
        found |= {key: names for key, names in self.names.items() if key not in found}
        return without_secrets(found) if self.kind in ("risuai_root", "risuai_preset") else (found, ())


def parts_of(database: UnpackedDatabase) -> Iterator[DatabasePart]:
    """All parts: characters before groups, and a chat before those that were branched from it."""
    lists: dict[str, list[tuple[str, DatabaseNode]]] = {}
    names: dict[str, Names] = {}
    for key, kind in LISTS.items():
        nodes = database.lists.get(key)
        if nodes is None and key in database.fields:
            nodes = database.fields[key].items()
        if nodes is not None:
            lists[key], names[key] = _named(nodes, kind)
    yield DatabasePart(path=ROOT, kind="risuai_root", fields=database.fields, names=names)
    for key, kind in LISTS.items():
        found = lists.get(key, [])
        if key == "characters":
            yield from _characters(found)
        else:
            yield from (
                DatabasePart(path=f"{kind.folder}/{name}.json", kind=kind.kind, fields=node.fields() or {})
                for name, node in found
            )


def _characters(found: Iterable[tuple[str, DatabaseNode]]) -> Iterator[DatabasePart]:
    characters: list[DatabasePart] = []
    chats: list[DatabasePart] = []
    for name, node in found:
        fields = node.fields() or {}
        nodes = fields["chats"].items() if "chats" in fields else None
        names: dict[str, Names] = {}
        if nodes is not None:
            own, names["chats"] = _named(nodes, CHATS)
            chats += _chats(name, own)
        is_group = "type" in fields and fields["type"].value() == "group"
        characters.append(
            DatabasePart(
                path=f"characters/{name}.json",
                kind="risuai_character",
                fields=fields,
                names=names,
                detail="group" if is_group else "",
            )
        )
    yield from sorted(characters, key=lambda part: part.detail == "group")
    yield from chats


def _chats(character: str, found: Sequence[tuple[str, DatabaseNode]]) -> Iterator[DatabasePart]:
    parts: dict[str, DatabasePart] = {}
    names: dict[str, str] = {}
    origins: dict[str, str] = {}
    for name, node in found:
        fields = node.fields() or {}
        id = fields["id"].value() if "id" in fields else None
        names.setdefault(id if isinstance(id, str) else name, name)
        messages = fields.get("message")
        if messages is not None and has_text(messages, _MARK):
            link = branch_link({"message": messages.value()})
            origins |= {} if link is None else {name: link.chat_id}
        parts[name] = DatabasePart(path=f"chats/{character}/{name}.json", kind="risuai_chat", fields=fields)
    links = {name: names[id] for name, id in origins.items() if id in names}
    yield from (parts[name] for name in parents_first(list(parts), links))


def has_text(node: DatabaseNode, pattern: re.Pattern[bytes]) -> bool:
    """Whether a text may be in a value; looks without reading the value."""
    encoded = node.encoded()
    return not len(encoded) or pattern.search(encoded) is not None


def _named(nodes: Sequence[DatabaseNode], kind: PartList) -> tuple[list[tuple[str, DatabaseNode]], Names]:
    """The objects of a list with a name for each, and the list with their names in their places."""
    parts: list[tuple[str, DatabaseNode]] = []
    names: Names = []
    taken: set[str] = set()
    for place, node in enumerate(nodes):
        fields = node.fields()
        if fields is None:
            names.append({KEPT: node.value()})
            continue
        id = fields[kind.id].value() if kind.id in fields else None
        name = stem_of(id if isinstance(id, str) else "", place if not kind.id else None, taken)
        taken.add(name)
        parts.append((name, node))
        names.append(name)
    return parts, names


def stem_of(id: str, number: int | None, taken: set[str]) -> str:
    """The name of the file for a part with this id, or with this number, which no other has."""
    stem = str(number) if number is not None else id if _PLAIN.fullmatch(id) else quote(id, safe="")
    if not stem or len(stem) > MAX_STEM or stem.startswith("."):
        stem = "unnamed"
    unique, count = stem, 1
    while unique in taken:
        count += 1
        unique = f"{stem}~{count}"
    return unique


def encode_part(value: JsonObject) -> bytes:
    """The file of a part."""
    return to_json(value).encode()


def lists_of(path: str) -> Mapping[str, PartList]:
    """Which lists of parts a part may have, by its path."""
    if path == ROOT:
        return LISTS
    return {"chats": CHATS} if path.startswith("characters/") else {}


def part_path(list_name: str, id: str) -> str:
    """Where the part of a list of the database is that has this id, unless several have it."""
    return listed_path(ROOT, list_name, stem_of(id, None, set()))


def chat_path(character: str, id: str) -> str:
    """Where the chat of a character, which is called so in paths, is that has this id, unless several have it."""
    return listed_path(f"characters/{character}.json", "chats", stem_of(id, None, set()))


def listed_path(path: str, list_name: str, name: str) -> str:
    """The path of a part that another one names in a list."""
    if path == ROOT:
        return f"{LISTS[list_name].folder}/{name}.json"
    character = path.removeprefix("characters/").removesuffix(".json")
    return f"chats/{character}/{name}.json"
