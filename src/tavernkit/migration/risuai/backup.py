"""Writing a backup that RisuAI restores: files first, and the database, put together from its parts, last."""

from __future__ import annotations

import gzip
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, TypeAlias

from tavernkit.errors import ParseError
from tavernkit.migration.risuai.nodes import LARGEST_EXACT, MAX_PART_BYTES, MAX_PART_VALUES
from tavernkit.migration.risuai.parts import KEPT, LISTS, ROOT, listed_path, lists_of
from tavernkit.migration.risuai.records import write_head
from tavernkit.migration.risuai.secrets import without_secrets
from tavernkit.migration.risuai.stores import ASSETS, BACKED_UP_DATABASE
from tavernkit.migration.risuai.unpacking import COMPRESSED, MAGIC
from tavernkit.reading import parse_json
from tavernkit.risuai.files.message_pack import write_message_pack
from tavernkit.values import Json

Read: TypeAlias = Callable[[str], bytes]
MAX_SHORT = 2**32
"""JavaScript writes larger whole numbers as numbers with a fraction, and reads no others back as numbers."""


def write_backup(file: IO[bytes], paths: Iterable[str], read: Read) -> None:
    """Write a `.bin` backup of parts and files, named as a source names them; `read` gives the bytes of each.

    A part that its database or its character does not list is added behind the others, and one that is listed and not
    there is left out. What is secret in the database is not written.
    """
    parts: dict[str, None] = {}
    for path in paths:
        if _is_part(path):
            parts[path] = None
        else:
            data = read(path)
            write_head(file, path.removeprefix(ASSETS), len(data))
            file.write(data)
    with tempfile.TemporaryFile() as packed:
        packed.write(MAGIC + bytes([COMPRESSED]))
        with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, filename="") as stream:
            for piece in _database(parts, read):
                stream.write(piece)
        write_head(file, BACKED_UP_DATABASE, packed.tell())
        packed.seek(0)
        shutil.copyfileobj(packed, file)


def _is_part(path: str) -> bool:
    folders = tuple(f"{one.folder}/" for one in LISTS.values())
    return path == ROOT or path.startswith((*folders, "chats/"))


def _database(parts: Mapping[str, None], read: Read) -> Iterator[bytes]:
    root = _object(read(ROOT), ROOT) if ROOT in parts else {}
    yield from _written(ROOT, {"characters": [], **root} if "characters" not in root else root, _Parts(parts), read)


class _Parts:
    """The parts that there are, by what they belong to."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = dict.fromkeys(paths)
        self._inside: dict[str, list[str]] = {}
        for path in self._paths:
            folder, _, name = path.rpartition("/")
            self._inside.setdefault(folder, []).append(name.removesuffix(".json"))

    def ordered(self, owner: str, list_name: str, listed: list[Json]) -> list[Json]:
        """The names of the parts of a list that are there: those that are listed in their order, then the others."""
        kept = [one for one in listed if not isinstance(one, str) or listed_path(owner, list_name, one) in self._paths]
        known = {one for one in kept if isinstance(one, str)}
        folder = listed_path(owner, list_name, "").rpartition("/")[0]
        return [*kept, *(name for name in self._inside.get(folder, ()) if name not in known)]


def _written(path: str, fields: Mapping[str, Json], parts: _Parts, read: Read) -> Iterator[bytes]:
    """A part as MessagePack, with the parts that it lists in their places, one at a time."""
    lists = lists_of(path)
    unlisted: dict[str, Json] = {key: [] for key in lists if key not in fields and parts.ordered(path, key, [])}
    fields = without_secrets(fields)[0] if path == ROOT or path.startswith("presets/") else fields
    yield _head(0x80, 0xDE, len(fields) + len(unlisted))
    for key, value in (*fields.items(), *unlisted.items()):
        yield write_message_pack(key)
        if key not in lists or not isinstance(value, list):
            yield write_message_pack(_as_in_javascript(value))
            continue
        names = parts.ordered(path, key, value)
        yield _head(0x90, 0xDC, len(names))
        for name in names:
            if isinstance(name, str):
                below = listed_path(path, key, name)
                yield from _written(below, _object(read(below), below), parts, read)
            else:
                kept = name.get(KEPT) if isinstance(name, dict) else name
                yield write_message_pack(_as_in_javascript(kept))


def _head(short: int, long: int, count: int) -> bytes:
    """What stands before the fields of an object or the items of a list."""
    if count < 16:
        return bytes([short | count])
    return bytes([long]) + count.to_bytes(2, "big") if count < 2**16 else bytes([long + 1]) + count.to_bytes(4, "big")


def _as_in_javascript(value: Json) -> Json:
    match value:
        case bool():
            return value
        case int() if not -(MAX_SHORT // 2) <= value < MAX_SHORT:
            return float(value) if abs(value) <= LARGEST_EXACT else value
        case dict():
            return {key: _as_in_javascript(item) for key, item in value.items()}
        case list():
            return [_as_in_javascript(item) for item in value]
        case _:
            return value


def _object(data: bytes, path: str) -> dict[str, Json]:
    found = parse_json(data, what=path, max_bytes=MAX_PART_BYTES, max_values=MAX_PART_VALUES)
    if not isinstance(found, dict):
        raise ParseError(f"{path} must be a JSON object.")
    return found
