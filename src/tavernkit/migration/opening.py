"""One door for everything that can be imported: what is at a place is seen from what it holds."""

from __future__ import annotations

import configparser
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, TypeAlias
from urllib.parse import urlsplit

from tavernkit import characters
from tavernkit.characters.ingest.png import needs_password
from tavernkit.characters.limits import DEFAULT_LIMITS
from tavernkit.chats.chat import DEFAULT_LIMITS as CHAT_LIMITS
from tavernkit.chats.foreign import find_format
from tavernkit.chats.jsonl import parse_line
from tavernkit.errors import ParseError, TavernKitError
from tavernkit.lore import read_book
from tavernkit.migration.files import Application, FileKind, FileSource, RefusedFile, SourceFile
from tavernkit.migration.folders import FolderTree, Tree, joined, node_at
from tavernkit.migration.layout import PRESET_FOLDERS, Layout, find_layout, kind_of
from tavernkit.migration.zips import ZipTree
from tavernkit.reading import parse_json
from tavernkit.risuai.files import is_preset_file, is_risum
from tavernkit.sillytavern.presets import read_preset
from tavernkit.values import Json, JsonObject

EXPECTED = (
    "This is nothing that can be imported. Expected the folder of SillyTavern, its data folder or the folder of one "
    "user (with characters, chats and settings.json in it), a ZIP archive of one of these, a backup (.bin) or the save "
    "folder of RisuAI, or a single file: a character card, a lorebook, a preset, a chat, or a module or preset of "
    "RisuAI."
)
_ARCHIVE = (b"PK\x03\x04", b"PK\x05\x06")
_HEAD_BYTES = 64 * 1024
_LINES_OF_CHAT = 100


def open_source(place: Path) -> FileSource:
    """Open a folder, an archive, a backup or a single file, and find out which it is.

    Raises ParseError, with a sentence, for what is none of these, and for a folder with the files of several users.
    """
    real = place.resolve()
    return _open(place.name or real.name, real)


def _open(name: str, place: Path) -> FileSource:
    if place.is_dir():
        return _open_folder(name, place)
    if not place.is_file():
        raise ParseError(f"There is no file and no folder at {place}.")
    with _opened(place) as file:
        is_archive = file.read(4) in _ARCHIVE
    if is_archive:
        archive = ZipTree(place)
        layout: Layout | None = None
        try:
            layout = find_layout(archive, name)
        finally:
            if layout is None:
                archive.close()
        if layout is not None:
            return SillyTavernSource(name, archive, layout)
    return _open_risuai(place) or _open_file(name, place)


def _open_folder(name: str, place: Path) -> FileSource:
    tree = FolderTree(place)
    layout = find_layout(tree, name)
    if layout is not None:
        return SillyTavernSource(name, tree, layout)
    found = _open_risuai(place)
    if found is not None:
        return found
    # What was uploaded alone lies alone in its folder.
    inside = list(islice(tree.children(""), 2))
    if len(inside) == 1 and not inside[0].is_folder and not inside[0].problem:
        return _open(inside[0].name, place / inside[0].name)
    raise ParseError(EXPECTED)


def _open_risuai(place: Path) -> FileSource | None:
    # Its modules stand on the values of this package.
    from tavernkit.migration.risuai import open_risuai

    return open_risuai(place)


def _opened(place: Path) -> IO[bytes]:
    return FolderTree(place.parent).open(place.name)


class SillyTavernSource:
    """The folder of one user of SillyTavern, on disk or in an archive."""

    def __init__(self, name: str, tree: Tree, layout: Layout) -> None:
        self._name = name
        self._tree = tree
        self._layout = layout

    @property
    def application(self) -> Application:
        return "sillytavern"

    @property
    def name(self) -> str:
        return self._name

    def files(self) -> Iterator[SourceFile | RefusedFile]:
        """Every file, once, in a fixed order; paths are those that SillyTavern has had since 1.12. `detail` of the code
        of an extension is where that came from."""
        extension, address = "", ""
        for path, node in self._layout.files(self._tree):
            if node.problem:
                yield RefusedFile(path=path, sentence=node.problem)
                continue
            kind, detail = kind_of(path)
            if kind == "extension":
                folder = "/".join(path.split("/")[:2])
                if folder != extension:
                    extension, address = folder, self._address(folder)
                detail = address
            yield SourceFile(path=path, size=node.size, modified=node.modified, kind=kind, detail=detail)
        for path, sentence in self._tree.strays():
            yield RefusedFile(path=path, sentence=sentence)

    def open(self, path: str) -> IO[bytes]:
        """The bytes of a file; ParseError for what cannot be read, and for secrets and code, which are never read."""
        if kind_of(path)[0] in ("secret", "extension"):
            raise ParseError(f"{path} is never read.")
        return self._tree.open(self._layout.place_of(path))

    def close(self) -> None:
        self._tree.close()

    def _address(self, folder: str) -> str:
        """Where an extension came from, as far as its files say."""
        for name, find in (("manifest.json", _home_page), (".git/config", _remote)):
            try:
                with self._tree.open(self._layout.place_of(joined(folder, name))) as file:
                    found = find(file.read(_HEAD_BYTES))
            except ParseError:
                continue
            if found:
                return found
        return ""


def _home_page(manifest: bytes) -> str:
    document = parse_json(manifest, what="The manifest")
    return _plain_address(document.get("homePage")) if isinstance(document, dict) else ""


def _remote(config: bytes) -> str:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(config.decode(errors="replace"))
    except configparser.Error:
        return ""
    sections = [name for name in parser.sections() if name.startswith("remote ")]
    return next(filter(None, (_plain_address(parser.get(name, "url", fallback="")) for name in sections)), "")


def _plain_address(address: Json) -> str:
    """An address without the name and password of whoever fetched from it."""
    if not isinstance(address, str):
        return ""
    try:
        parts = urlsplit(address.strip())
        found = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
    except ValueError:
        return ""
    return found[:100] if parts.scheme in ("http", "https") else ""


class SingleFile:
    """One file alone, under the path that it would have in the folder of its application."""

    def __init__(self, name: str, place: Path, kind: FileKind, folder: str, detail: str = "") -> None:
        self._name = name
        self._place = place
        self._path = "settings.json" if kind == "settings" else joined(folder, name)
        self._kind = kind
        self._detail = detail

    @property
    def application(self) -> Application:
        return "risuai" if self._kind.startswith("risuai") else "sillytavern"

    @property
    def name(self) -> str:
        return self._name

    def files(self) -> Iterator[SourceFile | RefusedFile]:
        """The file."""
        node = node_at(str(self._place.parent), self._place.name)
        if node.problem:
            yield RefusedFile(path=self._path, sentence=node.problem)
        else:
            yield SourceFile(
                path=self._path, size=node.size, modified=node.modified, kind=self._kind, detail=self._detail
            )

    def open(self, path: str) -> IO[bytes]:
        """The bytes of the file; ParseError where they cannot be read."""
        if path != self._path:
            raise ParseError(f"There is no file {path!r}.")
        return _opened(self._place)

    def close(self) -> None:
        """Nothing is held open."""


def _open_file(name: str, place: Path) -> SingleFile:
    with _opened(place) as file:
        data = file.read(DEFAULT_LIMITS.file_bytes + 1)
    if len(data) <= DEFAULT_LIMITS.file_bytes:
        return SingleFile(name, place, *_recognised(data))
    if _begins_as_chat(data):
        return SingleFile(name, place, "chat", "chats", "sillytavern")
    raise ParseError(EXPECTED)


_Found: TypeAlias = tuple[FileKind, str, str]
"""A kind of files, the folder where such files are, and more about the kind."""

_PRESETS: Mapping[str, str] = {
    "chat_preset": "OpenAI Settings",
    "text_preset": "TextGen Settings",
    "instruct": "instruct",
    "context": "context",
    "system_prompt": "sysprompt",
    "reasoning": "reasoning",
}


def _recognised(data: bytes) -> _Found:
    """What a file is; raises ParseError where no reader takes it."""
    if is_risum(data):
        return "risuai_module", "modules", "risum"
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"{", b"["):
        return _recognised_picture(data)
    try:
        document = parse_json(data, what="The file", max_bytes=DEFAULT_LIMITS.file_bytes)
    except ParseError:
        return _read_as_chat(data)
    found = _by_fields(document) if isinstance(document, dict) else None
    readers = (_read_as_card, _read_as_book, _read_as_preset, _read_as_risuai_preset, _read_as_chat)
    return found or next(filter(None, (reader(data) for reader in readers)))


def _recognised_picture(data: bytes) -> _Found:
    """What a file is that is no JSON: a picture or an archive, YAML, or a chat whose first line is damaged."""
    if is_preset_file(data):
        return "risuai_preset", "presets", "risup"
    try:
        return "character", "characters", characters.load(data).format
    except TavernKitError as error:
        if needs_password(data):
            return "character", "characters", "png"
        if _begins_as_chat(data):
            return "chat", "chats", "sillytavern"
        raise ParseError(f"{EXPECTED} {error}") from None


def _by_fields(document: JsonObject) -> _Found | None:
    """What one field tells."""
    if isinstance(document.get("power_user"), dict):
        return "settings", "", ""
    if isinstance(document.get("qrList"), list) or isinstance(document.get("quickReplySlots"), list):
        return "quick_replies", "QuickReplies", ""
    if document.get("type") == "risuModule":
        return "risuai_module", "modules", "json"
    format = find_format(document)
    return None if format is None else ("chat", "chats", format)


def _read_as_card(data: bytes) -> _Found | None:
    try:
        return "character", "characters", characters.load(data).format
    except TavernKitError:
        return None


def _read_as_book(data: bytes) -> _Found | None:
    try:
        return "world", "worlds", read_book(data).report.format
    except TavernKitError:
        return None


def _read_as_preset(data: bytes) -> _Found | None:
    try:
        format = read_preset(data).report.format
    except TavernKitError:
        return None
    folder = _PRESETS.get(format, "presets")
    return "preset", folder, PRESET_FOLDERS.get(folder, format)


def _read_as_risuai_preset(data: bytes) -> _Found | None:
    return ("risuai_preset", "presets", "json") if is_preset_file(data) else None


def _read_as_chat(data: bytes) -> _Found:
    if not _begins_as_chat(data):
        raise ParseError(EXPECTED)
    return "chat", "chats", "sillytavern"


def _begins_as_chat(data: bytes) -> bool:
    """Whether a line near the beginning is one of a chat of SillyTavern."""
    lines = data.split(b"\n", _LINES_OF_CHAT)[:_LINES_OF_CHAT]
    records = (parse_line(line.decode(errors="replace").removeprefix("\ufeff"), CHAT_LIMITS) for line in lines)
    return any(isinstance(record, dict) and ("mes" in record or "chat_metadata" in record) for record in records)
