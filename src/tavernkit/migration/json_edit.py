"""Changing single values in the text of a JSON file, so that every other byte stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from tavernkit.errors import ParseError
from tavernkit.reading import parse_json
from tavernkit.text.js_json import to_json
from tavernkit.values import Json

JsonPath: TypeAlias = tuple[str | int, ...]
"""Keys of objects and places in lists, from the outside in."""


class _Removed(Enum):
    REMOVED = "removed"


REMOVED: Final = _Removed.REMOVED
"""The value of something that is to be taken out of its object or list."""

_TOKEN = re.compile(r'[ \t\r\n]*("[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],:]|[^{}\[\],:" \t\r\n]+)', re.DOTALL)


class JsonSpot:
    """A value in the text of a JSON file, with the spots that are in it. `key_start` is where its key begins, or the
    value itself where it has none."""

    __slots__ = ("children", "end", "key", "key_start", "start")

    def __init__(self, key: str | int, key_start: int, start: int) -> None:
        self.key = key
        self.key_start = key_start
        self.start = start
        self.end = start
        self.children: list[JsonSpot] = []

    def child(self, key: str | int) -> JsonSpot | None:
        """What is under a key; of several the last, as every reader has it."""
        return next((child for child in reversed(self.children) if child.key == key), None)


class EditableJson:
    """The text of a JSON file and where its values are; raises ParseError for what is no JSON in UTF-8."""

    def __init__(self, data: bytes, *, what: str) -> None:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise ParseError(f"{what} is UTF-16; it must be UTF-8.")
        # What is not UTF-8 stands in strings, and comes out again as it was.
        self.text = data.decode("utf-8", "surrogateescape")
        self.value = parse_json(self.text, what=what)
        self.root = _spots(self.text)

    def walk(self, spot: JsonSpot | None = None, path: JsonPath = ()) -> Iterator[tuple[JsonPath, JsonSpot]]:
        """Every value, also those of keys that are there twice; an object comes before what is in it."""
        waiting = [(path, spot or self.root)]
        while waiting:
            path, current = waiting.pop()
            yield path, current
            waiting += [((*path, child.key), child) for child in reversed(current.children)]

    def kind(self, spot: JsonSpot) -> str:
        """The first character of a value: a quotation mark, a bracket or something else."""
        return self.text[spot.start]

    def replaced(self, pieces: list[Piece]) -> bytes:
        """The file with other texts in some places, none of which overlap."""
        parts: list[str] = []
        done = 0
        for start, end, text in sorted(pieces):
            parts += (self.text[done:start], text)
            done = end
        return "".join([*parts, self.text[done:]]).encode("utf-8", "surrogateescape")


class Piece(NamedTuple):
    """A part of the text, and what stands there afterwards."""

    start: int
    end: int
    text: str


def edit_json(data: bytes, changes: Mapping[JsonPath, Json], *, what: str = "The file") -> bytes:
    """The file with other values at some paths.

    What is missing or null on the way there is made; a list grows by its next place. `REMOVED` takes something out. A
    value that is there already stays as it is written. Raises ParseError for a file that is no JSON, and ValueError for
    paths that lead through a text or a number, past the end of a list, or of which one is within another.
    """
    if not changes:
        return data
    source = EditableJson(data, what=what)
    wanted = _Wish()
    for path, value in changes.items():
        wanted.add(path, value)
    return source.replaced(list(_Editor(source.text).pieces(source.root, source.value, wanted, 0)))


class _Wish:
    """What is wanted of a value: another one, or changes inside it."""

    def __init__(self) -> None:
        self.value: Json = _Wish
        self.inside: dict[str | int, _Wish] = {}

    def add(self, path: JsonPath, value: Json) -> None:
        wish = self
        for key in path:
            if wish.value is not _Wish:
                raise ValueError(f"The path {path} leads through a value that is changed itself.")
            wish = wish.inside.setdefault(key, _Wish())
        if wish.inside:
            raise ValueError(f"The path {path} leads to a value of which a part is changed, too.")
        wish.value = value

    def built(self) -> Json:
        """The value where nothing stands yet; REMOVED for one that nothing is wanted of."""
        if self.value is not _Wish:
            return self.value
        if any(isinstance(key, int) for key in self.inside):
            raise ValueError("A path leads into a list that is not there.")
        fields = {str(key): wish.built() for key, wish in self.inside.items()}
        fields = {key: value for key, value in fields.items() if value is not REMOVED}
        return fields or REMOVED


class _Editor:
    """Finds what has to be written where, in the style of the file."""

    def __init__(self, text: str) -> None:
        self._text = text
        first = re.match(r"\ufeff?\s*[\[{]\s*?\n([ \t]*)", text)
        self._step = first[1] if first else ""
        self._has_lines = first is not None

    def pieces(self, spot: JsonSpot, value: Json, wish: _Wish, depth: int) -> Iterator[Piece]:
        if wish.value is not _Wish:
            if not _is_same(value, wish.value):
                yield Piece(spot.start, spot.end, self._written(wish.value, depth))
            return
        if value is None:
            if (built := wish.built()) is not REMOVED:
                yield Piece(spot.start, spot.end, self._written(built, depth))
            return
        if not isinstance(value, dict | list):
            raise ValueError("A path leads through a value that is no object and no list.")
        added: dict[str | int, Json] = {}
        gone: set[str | int] = set()
        for key, inside in wish.inside.items():
            found = _child(spot, value, key)
            if found is None:
                added[key] = inside.built()
            elif inside.value is REMOVED:
                gone.add(found[0].key)
            else:
                yield from self.pieces(*found, inside, depth + 1)
        added = {key: item for key, item in added.items() if item is not REMOVED}
        if isinstance(value, list):
            for place, key in enumerate(added, start=len(value)):
                if key != place:
                    raise ValueError(f"A path leads to the place {key} of a list that has {len(value)}.")
        yield from self._shaped(spot, added, gone, depth)

    def _shaped(
        self, spot: JsonSpot, added: Mapping[str | int, Json], gone: set[str | int], depth: int
    ) -> Iterator[Piece]:
        """Members that go and members that come, with the commas between them."""
        stays = [child for child in spot.children if child.key not in gone]
        texts = [self._member(spot, key, item, depth + 1) for key, item in added.items()]
        if stays:
            if texts:
                comma = self._comma(spot)
                yield Piece(stays[-1].end, stays[-1].end, comma + comma.join(texts))
            yield from _cuts(spot, stays, gone)
        elif texts:
            before, after = self._inside(spot, depth)
            yield Piece(spot.start + 1, spot.end - 1, before + f",{before}".join(texts) + after)
        elif gone:
            yield Piece(spot.start + 1, spot.end - 1, "")

    def _comma(self, spot: JsonSpot) -> str:
        """What stands between two members: as between the last two, or with the space before the only one."""
        if len(spot.children) > 1:
            return self._text[spot.children[-2].end : spot.children[-1].key_start]
        return "," + self._text[spot.start + 1 : spot.children[0].key_start]

    def _inside(self, spot: JsonSpot, depth: int) -> tuple[str, str]:
        """What stands before the first member, and behind the last."""
        if spot.children:
            first, last = spot.children[0], spot.children[-1]
            return self._text[spot.start + 1 : first.key_start], self._text[last.end : spot.end - 1]
        if not self._has_lines:
            return "", ""
        return "\n" + self._step * (depth + 1), "\n" + self._step * depth

    def _member(self, spot: JsonSpot, key: str | int, value: Json, depth: int) -> str:
        written = self._written(value, depth)
        if self._text[spot.start] == "[":
            return written
        colon = ": " if self._has_lines else ":"
        if spot.children:
            first = spot.children[0]
            colon = _TOKEN.sub("", self._text[first.key_start : first.start], count=1)
        return f"{to_json(key)}{colon}{written}"

    def _written(self, value: Json, depth: int) -> str:
        if not self._step:
            return to_json(value)
        return _reindented(to_json(value, indent=1), lambda level: self._step * (depth + level))


def _reindented(text: str, margin: Callable[[int], str]) -> str:
    """Indented by one space per level as it is, by something else."""
    lines = text.split("\n")
    return "\n".join([lines[0], *(margin(len(line) - len(line.lstrip(" "))) + line.lstrip(" ") for line in lines[1:])])


def _cuts(spot: JsonSpot, stays: list[JsonSpot], gone: set[str | int]) -> Iterator[Piece]:
    """Take members out, each with one comma and the space before it."""
    if not gone:
        return
    first = spot.children[0]
    if first is not stays[0]:
        yield Piece(first.key_start, stays[0].key_start, "")
    start = spot.children.index(stays[0])
    for previous, child in pairwise(spot.children[start:]):
        if child.key in gone:
            yield Piece(previous.end, child.end, "")


def _child(spot: JsonSpot, value: dict[str, Json] | list[Json], key: str | int) -> tuple[JsonSpot, Json] | None:
    if isinstance(value, list):
        if not isinstance(key, int) or key < 0:
            raise ValueError(f"A path asks for {key!r} of a list.")
        return (spot.children[key], value[key]) if key < len(value) else None
    if not isinstance(key, str):
        raise ValueError(f"A path asks for the place {key} of an object.")
    found = spot.child(key)
    return None if found is None else (found, value[key])


def _is_same(one: Json, other: Json) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _spots(text: str) -> JsonSpot:
    """All values of a text that is known to be JSON."""
    outer = JsonSpot("", 0, 0)
    open_spots = [outer]
    key, key_start = "", -1
    position = 1 if text.startswith("\ufeff") else 0
    while match := _TOKEN.match(text, position):
        start, position = match.span(1)
        first = text[start]
        inside = open_spots[-1]
        if first in "}]":
            open_spots.pop().end = position
            continue
        if first in ",:":
            continue
        is_object = inside is not outer and text[inside.start] == "{"
        if is_object and key_start < 0:
            key, key_start = json.loads(match[1]), start
            continue
        spot = JsonSpot(key, key_start, start) if is_object else JsonSpot(len(inside.children), start, start)
        key_start = -1
        spot.end = position
        inside.children.append(spot)
        if first in "{[":
            open_spots.append(spot)
    return outer.children[0]
