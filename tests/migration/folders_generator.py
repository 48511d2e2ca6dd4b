"""Folders of SillyTavern for tests: in every documented layout, of any size, with everything that goes wrong in them.

The same seed writes the same bytes. Each function returns a manifest of what it wrote.
"""

from __future__ import annotations

import stat
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random
from time import gmtime
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from tavernkit.values import Value
from tests.migration.generator.branches import write_trees
from tests.migration.generator.characters import write_characters
from tests.migration.generator.chats import (
    ChatWriter,
    write_damaged_chats,
    write_long_chat,
    write_orphan_chats,
    write_plain_chat,
    write_unusual_chats,
)
from tests.migration.generator.groups import write_groups
from tests.migration.generator.manifest import KEPT, REFUSED, FolderWriter, Manifest
from tests.migration.generator.others import write_extension, write_hostile_files, write_others
from tests.migration.generator.presets import write_presets
from tests.migration.generator.scripts import write_quick_replies
from tests.migration.generator.settings import PERSONAS, write_personas, write_secrets, write_settings
from tests.migration.generator.worlds import write_worlds

MIB = 1024 * 1024


class FolderSize(Value, frozen=True, kw_only=True):
    """At least how many of each are written. The unusual ones are always there, so a folder is never empty."""

    characters: int = 0
    chats: int = 0
    groups: int = 0
    worlds: int = 0
    presets: int = 0
    long_chat_bytes: int = 0
    has_hostile_files: bool = True


SMALL = FolderSize()
FULL = FolderSize(characters=60, chats=260, groups=5, worlds=25, presets=40)


def write_user_folder(place: Path, random: Random, size: FolderSize = SMALL) -> Manifest:
    """The folder of one user, as versions 1.12 to 1.18 have it."""
    folder = FolderWriter(place, "", random)
    place.mkdir(parents=True)
    (place.parent / "outside.json").write_text(folder.secret())
    _write(folder, size, outside="../../outside.json")
    return folder.manifest()


def write_data_folder(place: Path, random: Random, size: FolderSize = SMALL) -> Manifest:
    """An installation of 1.12 or later: the folder of its only user, and what lies beside it."""
    beside = {name: f"data/{name}" for name in ("cookie-secret.txt", "_storage", "_css")}
    folder = FolderWriter(place, "data/default-user", random, beside)
    folder.add_outside("config.yaml", f"basicAuthUser: {folder.secret()}\n")
    folder.add("cookie-secret.txt", folder.secret().encode(), "secret", REFUSED)
    account = {"key": "user:default-user", "value": {"password": folder.secret()}}
    folder.add_json("_storage/0123", account, "secret", REFUSED)
    folder.add("_css/user.css", b"body { color: red }", "kept", KEPT)
    _write(folder, size, outside="../../../config.yaml")
    return folder.manifest()


def write_public_folder(place: Path, random: Random, size: FolderSize = SMALL) -> Manifest:
    """An installation before 1.12: the user's folders among those of the page, some of them beside these."""
    moved = {name: name for name in ("thumbnails", "vectors", "secrets.json", "backups")}
    moved["extensions"] = "public/scripts/extensions/third-party"
    folder = FolderWriter(place, "public", random, moved)
    folder.add_outside("server.js", "// the application")
    folder.add_outside("config.yaml", f"basicAuthUser: {folder.secret()}\n")
    folder.add_outside("public/index.html", "<!DOCTYPE html>")
    folder.add_outside("public/script.js", "// the page")
    _write(folder, size, outside="../../config.yaml")
    return folder.manifest()


def _write(folder: FolderWriter, size: FolderSize, *, outside: str) -> None:
    worlds = write_worlds(folder, size.worlds)
    avatars = write_characters(folder, size.characters, worlds)
    write_presets(folder, size.presets)
    write_quick_replies(folder)
    write_personas(folder)
    chats = ChatWriter(folder, worlds, PERSONAS)
    talking = [avatar for avatar in avatars if avatar.chats is not None]
    write_unusual_chats(chats, talking[0])
    write_damaged_chats(chats, talking[1])
    write_orphan_chats(chats)
    for number, avatar in enumerate(talking[:3]):
        write_trees(chats, avatar, number)
    for avatar in talking:
        write_plain_chat(chats, avatar)
    while chats.count < size.chats:
        write_plain_chat(chats, folder.random.choice(talking))
    if size.long_chat_bytes:
        write_long_chat(chats, talking[0], size.long_chat_bytes)
    groups = write_groups(chats, avatars, size.groups)
    write_settings(folder, avatars, groups)
    write_secrets(folder)
    write_others(folder, avatars)
    write_extension(folder)
    if size.has_hostile_files:
        write_hostile_files(folder, outside)


HOSTILE_ENTRIES = (
    "../outside.json",
    "worlds/../../outside.json",
    "/worlds/Absolute.json",
    "C:\\worlds\\Drive.json",
    "worlds\\..\\..\\Backslash.json",
)
TWICE = "worlds/Twice.json"
BOMB = "worlds/Bomb.json"


def write_zip(written: Manifest, target: Path, *, prefix: str = "", bomb_bytes: int = 0) -> Manifest:
    """A user's folder as an archive, whose entries begin with `prefix`; with `bomb_bytes`, also entries that nobody
    should unpack: names that leave the folder, one name twice, and so many zeros."""
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for file in written.files:
            _add_entry(archive, written.place, file.path, prefix, file.modified)
        if not bomb_bytes:
            return written.with_(place=target)
        for name in HOSTILE_ENTRIES:
            archive.writestr(_entry(name, 0), '{"entries": {}}')
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            for text in ('{"entries": {}}', '{"entries": {}, "name": "another"}'):
                archive.writestr(_entry(prefix + TWICE, 0), text)
        with archive.open(_entry(prefix + BOMB, 0), "w", force_zip64=True) as bomb:
            for piece in _zeros(bomb_bytes):
                bomb.write(piece)
    return written.with_(place=target, entries=(*HOSTILE_ENTRIES, TWICE, BOMB))


def _add_entry(archive: ZipFile, place: Path, path: str, prefix: str, modified: int) -> None:
    source = place / path
    entry = _entry(prefix + path, modified)
    if source.is_symlink():
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, str(source.readlink()))
        return
    with source.open("rb") as file, archive.open(entry, "w") as packed:
        while piece := file.read(MIB):
            packed.write(piece)


def _entry(name: str, modified: int) -> ZipInfo:
    year, month, day, hour, minute, second, *_ = gmtime(max(modified, 315_532_800))
    entry = ZipInfo(name, (year, month, day, hour, minute, second))
    entry.compress_type = ZIP_DEFLATED
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    # Some names are there to be refused, so they must not be corrected here.
    entry.filename = name
    return entry


def _zeros(size: int) -> Iterator[bytes]:
    for _ in range(0, size, MIB):
        yield b"0" * MIB
