"""RisuAI's data as files: parts of its database, and what lies beside it."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

from tavernkit.errors import ParseError, TavernKitError
from tavernkit.migration.files import Application, FileKind, RefusedFile, SourceFile
from tavernkit.migration.risuai.parts import DatabasePart, encode_part, parts_of
from tavernkit.migration.risuai.stores import COLD, REMOTES, Store, open_store
from tavernkit.migration.risuai.unpacking import Workspace, is_compressed, read_database
from tavernkit.reading import parse_json
from tavernkit.values import Json, JsonObject

COLD_MARK = "\uef01COLDSTORAGE\uef01"
COLD_FIELDS = ("message", "hypaV2Data", "hypaV3Data", "scriptstate", "localLore")
"""What of a chat RisuAI moves out of the database, and how it says so in the only message that is left."""
MAX_COLD_BYTES = 256 * 1024 * 1024
MAX_COLD_VALUES = 5_000_000
MAX_INLAYS = 1000
INLAYS = "inlays/"
_INLAY = re.compile(rb"\{\{inlay(?:ed|eddata)?::([^{}\"\\]{1,200})\}\}")
_ASSET = re.compile(r"assets/[^/\x00-\x1f]{1,200}")


def open_risuai(place: Path) -> RisuaiSource | None:
    """A backup, a folder or a database file of RisuAI; None for anything else. Raises TavernKitError for one that
    cannot be read."""
    try:
        store = open_store(place)
    except OSError as error:
        raise ParseError(f"{place.name} cannot be read: {error.strerror}.") from None
    return None if store is None else RisuaiSource(place.name, store)


class RisuaiSource:
    """What a place of RisuAI's holds. Secrets are blanked when a part is read; `files` names them."""

    def __init__(self, name: str, store: Store) -> None:
        self._name = name
        self._store = store
        self._parts: dict[str, DatabasePart] = {}
        self._missing: Mapping[str, str] = {}
        self._last: tuple[str, bytes] = ("", b"")
        if store.database is not None:
            with store.database.open() as file:
                database = read_database(file, lambda name: store.open(f"{REMOTES}{name}.local.bin"))
            self._parts = {part.path: part for part in parts_of(database)}
            self._missing = database.missing

    @property
    def application(self) -> Application:
        return "risuai"

    @property
    def name(self) -> str:
        return self._name

    def files(self) -> Iterator[SourceFile | RefusedFile]:
        """Every part and file once, then what is missing, and what is never read."""
        references: dict[str, str] = {}
        secrets: dict[str, None] = {}
        titles: dict[str, str] = {}
        missing = {f"database/{name}": sentence for name, sentence in self._missing.items()}
        modified = None if self._store.database is None else self._store.database.modified
        for path, part in self._parts.items():
            try:
                value, found = self._read(part)
                content = encode_part(value)
            except TavernKitError as error:
                yield RefusedFile(path=path, sentence=str(error))
                continue
            self._last = (path, content)
            secrets |= dict.fromkeys(f"{path}/{name}" for name in found)
            cold = cold_key(value) if part.kind == "risuai_chat" else None
            if part.kind == "risuai_chat":
                missing |= self._missing_of_chat(value, content, cold)
            else:
                references |= dict.fromkeys(_assets_in(value), _name_of(value))
            titles[path] = _title(value)
            # Characters come before their chats.
            owner = titles.get(f"characters/{path.split('/')[1]}.json", "") if part.kind == "risuai_chat" else ""
            yield SourceFile(
                path=path,
                size=len(content),
                modified=modified,
                kind=part.kind if cold is None else "kept",
                detail=part.detail,
                title=": ".join(filter(None, (owner, titles[path]))),
            )
        for path, file in self._store.files.items():
            if not path.startswith((COLD, REMOTES)):
                kind: FileKind = "risuai_asset" if path in references else "kept"
                yield SourceFile(path=path, size=file.size, modified=file.modified, kind=kind)
        missing |= {
            path: f"{user} uses this file, which is not there. RisuAI leaves some files out of its backups."
            for path, user in references.items()
            if path not in self._store.files
        }
        for path, sentence in {**missing, **self._store.refused}.items():
            yield RefusedFile(path=path, sentence=sentence)
        for path, size in {**dict.fromkeys(secrets, 0), **self._store.secret}.items():
            yield SourceFile(path=path, size=size, modified=None, kind="secret")

    def open(self, path: str) -> IO[bytes]:
        """The bytes of a file. Raises TavernKitError where they cannot be read, and for what is never read."""
        if path in self._store.files:
            return self._store.files[path].open()
        if path not in self._parts:
            raise ParseError(f"There is no file {path!r} that can be read.")
        last, content = self._last
        return io.BytesIO(content if last == path else encode_part(self._read(self._parts[path])[0]))

    def close(self) -> None:
        self._parts = {}
        self._last = ("", b"")

    def _read(self, part: DatabasePart) -> tuple[dict[str, Json], tuple[str, ...]]:
        value, secrets = part.read()
        key = cold_key(value) if part.kind == "risuai_chat" else None
        file = None if key is None else self._store.open(f"{COLD}{key}")
        if file is not None:
            with file:
                value = _warmed(value, _read_cold(file))
        return value, secrets

    def _missing_of_chat(self, chat: JsonObject, content: bytes, cold: str | None) -> dict[str, str]:
        """Messages in cold storage, and pictures inside messages, that are not there."""
        if cold is not None:
            return {
                f"{COLD}{cold}.json": (
                    f"The messages of the chat {_name_of(chat)} were moved out of the database, and this file with "
                    "them is not there. Open the chat in RisuAI once, and make a new backup."
                )
            }
        names = dict.fromkeys(name.decode("utf-8", "replace") for name in _INLAY.findall(content)[:MAX_INLAYS])
        there = [path for path in self._store.files if "inlay" in path] if names else []
        return {
            f"{INLAYS}{name}": (
                f"A picture in the chat {_name_of(chat)}. RisuAI keeps such pictures in the browser, not in backups."
            )
            for name in names
            if not any(name in path for path in there)
        }


def cold_key(chat: JsonObject) -> str | None:
    """What the file is called that a chat was moved into; None for a chat that is where it belongs."""
    messages = chat.get("message")
    first = messages[0] if isinstance(messages, list) and messages else None
    data = first.get("data") if isinstance(first, dict) else None
    return data.removeprefix(COLD_MARK) if isinstance(data, str) and data.startswith(COLD_MARK) else None


def _read_cold(file: IO[bytes]) -> Json:
    is_packed = is_compressed(file.read(2))
    file.seek(0)
    with Workspace() as workspace:
        if is_packed:
            workspace.inflate(file)
        else:
            workspace.copy(file, MAX_COLD_BYTES)
        data = workspace.opened()
    what = "A chat that was moved out of the database"
    if len(data) > MAX_COLD_BYTES:
        raise ParseError(f"{what} has {len(data):,} bytes; at most {MAX_COLD_BYTES:,} are read.")
    return parse_json(bytes(data), what=what, max_bytes=MAX_COLD_BYTES, max_values=MAX_COLD_VALUES)


def _warmed(chat: dict[str, Json], cold: Json) -> dict[str, Json]:
    """A chat with what was moved out of it; older files have the messages alone."""
    if isinstance(cold, list):
        return {**chat, "message": cold}
    if not isinstance(cold, dict) or not isinstance(cold.get("message"), list):
        return chat
    return {**chat, **{key: cold[key] for key in COLD_FIELDS if key in cold}}


def _assets_in(value: Json) -> Iterator[str]:
    """The files that a part refers to."""
    match value:
        case str():
            if value.startswith("assets/") and _ASSET.fullmatch(value):
                yield value
        case dict():
            for item in value.values():
                yield from _assets_in(item)
        case list():
            for item in value:
                yield from _assets_in(item)


def _title(value: JsonObject) -> str:
    name = value.get("name")
    return name.strip()[:100] if isinstance(name, str) else ""


def _name_of(value: JsonObject) -> str:
    name = value.get("name") or value.get("username")
    return f"“{name[:100]}”" if isinstance(name, str) else "RisuAI"
