"""Small folders of SillyTavern, written by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from tavernkit.migration import FileSource, RefusedFile, SourceFile, open_source

USER: Mapping[str, bytes] = {
    "settings.json": b'{"power_user": {}, "username": "Sam"}',
    "characters/Anna.png": b"a picture",
    "chats/Anna/Anna - 2024.jsonl": b'{"user_name": "Sam"}',
}


def write(place: Path, files: Mapping[str, bytes] = USER, below: str = "") -> Path:
    for path, data in files.items():
        target = place / below / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return place


def pack(target: Path, files: Mapping[str, bytes] = USER, below: str = "") -> Path:
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(below + path, data)
    return target


def listed(place: Path) -> dict[str, str]:
    """The kind of every file of a place, by its path; of a refused one its sentence."""
    return kinds(opened_files(place))


def opened_files(place: Path) -> list[SourceFile | RefusedFile]:
    source = open_source(place)
    try:
        return list(source.files())
    finally:
        source.close()


def kinds(files: Iterable[SourceFile | RefusedFile]) -> dict[str, str]:
    return {file.path: file.sentence if isinstance(file, RefusedFile) else file.kind for file in files}


def contents(source: FileSource) -> dict[str, bytes]:
    """The bytes of every file that may be read."""
    found = {}
    for file in source.files():
        if isinstance(file, SourceFile) and file.kind not in ("secret", "extension"):
            with source.open(file.path) as opened:
                found[file.path] = opened.read()
    return found
