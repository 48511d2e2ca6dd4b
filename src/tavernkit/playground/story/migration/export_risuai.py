"""Exporting for RisuAI: a backup, where the export builds upon one that was imported, else a file for each thing.

A backup replaces everything that RisuAI has when it is restored, so it is written only for all of a person's things.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.characters.export import plain_picture
from tavernkit.characters.ingest.charx import embedded_path
from tavernkit.characters.png_chunks import put_texts
from tavernkit.errors import TavernKitError
from tavernkit.migration.files import FileKind
from tavernkit.migration.names import sanitised
from tavernkit.migration.risuai import encode_part, write_backup
from tavernkit.playground.base.blobs.store import NewBlob
from tavernkit.playground.base.database.models import (
    Character,
    CharacterAsset,
    ImportedFile,
    Lorebook,
    Message,
    MessagePicture,
    MessageSwipe,
    Preset,
    Space,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext, sentence_of
from tavernkit.playground.base.private_files import make_folder
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.characters.files import export_character
from tavernkit.playground.story.lorebooks.queries import decoded_book
from tavernkit.playground.story.migration.export_paths import FreePaths, stem_of
from tavernkit.playground.story.migration.export_plan import PlannedSpace
from tavernkit.playground.story.migration.export_report import ExportLine, ExportVerdict
from tavernkit.playground.story.migration.export_sinks import FolderSink
from tavernkit.playground.story.migration.export_writer import (
    BLANKED,
    CHANGED_HERE,
    DELETED_HERE,
    ELSEWHERE,
    MADE_HERE,
    ExportWriter,
    whole,
)
from tavernkit.playground.story.migration.kept import kept_bytes
from tavernkit.playground.story.migration.markers import is_as_imported, marker_of_file
from tavernkit.playground.story.migration.personas import persona_bytes
from tavernkit.playground.story.migration.risuai_spaces import lore_id
from tavernkit.playground.story.migration.risuai_writing import risuai_bytes
from tavernkit.playground.story.presets.queries import MODULE, RISUAI, decode_preset
from tavernkit.risuai.book_import import entries_from_book
from tavernkit.risuai.files import write_preset_file, write_risum
from tavernkit.risuai.module import Module, write_module
from tavernkit.risuai.settings import RisuSettings
from tavernkit.values import Json

BACKUP = "risuai-backup.bin"
PIECE_BYTES = 1024 * 1024
AS_MODULE = _("A lorebook, written as a module.")
ONLY_SILLYTAVERN = _("RisuAI has no place for it. Export for SillyTavern instead.")
NOBODY_SPEAKS = _("No character is in its space any more, so RisuAI has no place for it.")

_GROUP: dict[str, Json] = {
    "type": "group",
    "image": "",
    "firstMessage": "",
    "chats": [],
    "chatFolders": [],
    "chatPage": 0,
    "characters": [],
    "characterTalks": [],
    "characterActive": [],
    "globalLore": [],
    "viewScreen": "single",
    "autoMode": False,
    "useCharacterLore": True,
    "emotionImages": [],
    "customscript": [],
}
"""A group of RisuAI without members."""


class RisuaiExport(ExportWriter):
    """Writes a backup, or files."""

    @cached_property
    def _free(self) -> FreePaths:
        return FreePaths()

    async def write_all(self) -> None:
        """Write everything that was chosen."""
        self._total = await self._count()
        if self._plan.source is not None and self._choices.only is None and not self._choices.is_selection:
            await self._write_backup()
            await self._report_refused()
        else:
            await self._write_files()
        await self._report_placeless()

    def _wants(self, kind: str) -> bool:
        """Whether files of this kind are exported; both its name in RisuAI and the general one may be chosen."""
        return self._choices.wants(f"risuai_{kind}") or self._choices.wants(kind)

    async def _report_placeless(self) -> None:
        for id, kind in self._plan.preset_kinds.items():
            if kind not in (RISUAI, MODULE) and self._wants("preset") and ("preset", id) in self._plan.names:
                name = self._plan.names["preset", id]
                self._leave_out(f"{ELSEWHERE}/{kind}/{name}", "preset", ONLY_SILLYTAVERN)
        for id in self._plan.of("quick_replies") if self._wants("quick_replies") else ():
            name = self._plan.names["quick_replies", id]
            self._leave_out(f"{ELSEWHERE}/quick replies/{name}", "quick_replies", ONLY_SILLYTAVERN)
        shown = select(Space.id).where(Space.owner_id == self._viewer.user_id, Space.background_sha256.is_not(None))
        async with self._database.read() as session:
            spaces = set(await session.scalars(shown))
        for space in self._plan.spaces if self._wants("background") else ():
            if space.id in spaces:
                self._leave_out(f"{ELSEWHERE}/backgrounds/{space.name}", "background", ONLY_SILLYTAVERN)

    async def _books(self, session: AsyncSession) -> list[tuple[Lorebook, Module]]:
        """The lorebooks as modules, but for those that RisuAI keeps with a chat or a group."""
        places = {space.id for space in self._plan.spaces}
        places |= {chat.id for space in self._plan.spaces for chat in space.conversations}
        of_places = {lore_id(id) for id in places}
        rows = [await session.get_one(Lorebook, id) for id in self._plan.of("lorebook") if id not in of_places]
        return [
            (row, Module(name=row.name, id=str(row.id), lore=entries_from_book(await decoded_book(session, row))))
            for row in rows
        ]

    async def _write_backup(self) -> None:
        """The parts of the database that the export builds upon, and those of what was made here, in one file."""
        folder = self._runtime.settings.data_dir / "exports"
        await asyncio.to_thread(make_folder, folder)
        with tempfile.TemporaryDirectory(dir=folder) as place:
            parts = _Parts(self, Path(place) / "parts")
            async for file in self._files_of_source():
                await self._add_imported(parts, file)
            await self._add_new(parts)
            written = Path(place) / BACKUP
            await asyncio.to_thread(parts.write_backup, written)
            notes = (_("Everything below it is in this file."),)
            await self._write(BACKUP, "risuai_root", _pieces(written), "converted", notes)

    async def _add_imported(self, parts: _Parts, file: ImportedFile) -> None:
        id, kind = file.target_id, file.kind
        async with self._database.read() as session:
            marker = await marker_of_file(session, file)
            if id is not None and marker is None:
                self._leave_out(f"{BACKUP}/{file.path}", kind, DELETED_HERE)
                return
            if file.kept_sha256 is None:
                return
            original = await kept_bytes(session, file.kept_sha256)
        if id is None or is_as_imported(file, marker) or not kind.startswith("risuai_"):
            await parts.add(file.path, kind, original, *([BLANKED] if file.kept_sha256 != file.sha256 else []))
            return
        source_id = None if self._plan.source is None else self._plan.source.id
        part = msgspec.convert(kind, type=FileKind)
        data = await risuai_bytes(self._runtime, self._viewer, part, id, original, source_id=source_id)
        data = data or original
        is_shown = marker is not None and file.marker.rpartition(":")[2] == marker.rpartition(":")[2]
        if file.target_kind == "character":
            data = await self._with_pictures(parts, id, data, has_avatar=not is_shown)
        elif file.target_kind == "persona" and not is_shown:
            data = await self._with_icon(parts, id, data)
        await parts.add(file.path, kind, data, CHANGED_HERE, *await self._left_pictures(file.target_kind, id))

    async def _add_new(self, parts: _Parts) -> None:
        for id in self._plan.of("character", is_new=True):
            data = await risuai_bytes(self._runtime, self._viewer, "risuai_character", id)
            if data is not None:
                data = await self._with_pictures(parts, id, data, has_avatar=True)
                await parts.add(f"characters/{id}.json", "risuai_character", data, MADE_HERE)
        for id in self._plan.of("persona", is_new=True):
            data = await risuai_bytes(self._runtime, self._viewer, "risuai_persona", id)
            if data is not None:
                data = await self._with_icon(parts, id, data)
                await parts.add(f"personas/{id}.json", "risuai_persona", data, MADE_HERE)
        for id in self._plan.of("preset", is_new=True):
            kind = self._plan.preset_kinds[id]
            if kind in (RISUAI, MODULE):
                part: FileKind = "risuai_module" if kind == MODULE else "risuai_preset"
                folder = "modules" if kind == MODULE else "presets"
                data = await risuai_bytes(self._runtime, self._viewer, part, id)
                await parts.add(f"{folder}/{id}.json", part, data or b"{}", MADE_HERE)
        async with self._database.read() as session:
            books = await self._books(session)
        for row, module in books:
            await parts.add(f"modules/{row.id}.json", "risuai_module", encode_part(write_module(module)), AS_MODULE)
        for space in self._plan.spaces:
            await self._add_chats(parts, space)

    async def _with_pictures(self, parts: _Parts, id: UUID, data: bytes, *, has_avatar: bool) -> bytes:
        """A character with its pictures that were not imported, which RisuAI knows by their hashes; `has_avatar` says
        that the main one is among them."""
        async with self._database.read() as session:
            avatar = await session.scalar(select(Character.avatar_sha256).where(Character.id == id))
            assets = await session.execute(
                select(CharacterAsset.uri, CharacterAsset.ext, CharacterAsset.sha256).where(
                    CharacterAsset.character_id == id
                )
            )
            paths = {embedded_path(uri) or uri: f"assets/{sha256}.{ext or 'png'}" for uri, ext, sha256 in assets}
        files = {uri: path for uri, path in paths.items() if not parts.has(uri)}
        for path in files.values():
            await parts.add_asset(path, self._blob(stem_of(path)))
        fields = _replaced(json.loads(data), files)
        if has_avatar:
            fields["image"] = "" if avatar is None else f"assets/{avatar}.png"
        if has_avatar and avatar is not None:
            await parts.add_asset(fields["image"], self._blob(avatar))
        return encode_part(fields)

    async def _with_icon(self, parts: _Parts, id: UUID, data: bytes) -> bytes:
        """A persona with the picture that it has here."""
        async with self._database.read() as session:
            picture = await persona_bytes(self._runtime, session, id)
        fields = json.loads(data)
        fields["icon"] = "" if picture is None else f"assets/{NewBlob.of(picture).sha256}.png"
        if picture is not None:
            await parts.add_asset(fields["icon"], whole(picture))
        return encode_part(fields)

    async def _left_pictures(self, target_kind: str | None, id: UUID) -> tuple[str, ...]:
        """What is said about the pictures in the messages of a conversation."""
        if target_kind != "conversation":
            return ()
        async with self._database.read() as session:
            count = await session.scalar(
                select(func.count())
                .select_from(MessagePicture)
                .join(MessageSwipe, MessageSwipe.id == MessagePicture.swipe_id)
                .join(Message, Message.id == MessageSwipe.message_id)
                .where(Message.conversation_id == id, MessagePicture.kind != "expression")
            )
        if not count:
            return ()
        return (
            ngettext(
                "{count} picture in its messages is left out. Backups of RisuAI have no place for it.",
                "{count} pictures in its messages are left out. Backups of RisuAI have no place for them.",
                count,
            ),
        )

    async def _add_chats(self, parts: _Parts, space: PlannedSpace) -> None:
        """The conversations that were made here, with the character or the group that they belong to."""
        new = [chat for chat in space.conversations if ("conversation", chat.id) not in self._plan.imported]
        owner = await self._owner(parts, space) if new else None
        source_id = None if self._plan.source is None else self._plan.source.id
        for chat in new:
            self._done += 1
            data = None
            if owner is not None:
                data = await risuai_bytes(self._runtime, self._viewer, "risuai_chat", chat.id, source_id=source_id)
            if data is None:
                self._leave_out(f"{ELSEWHERE}/chats/{chat.title}", "risuai_chat", NOBODY_SPEAKS)
            else:
                left = await self._left_pictures("conversation", chat.id)
                await parts.add(f"chats/{owner}/{chat.id}.json", "risuai_chat", data, MADE_HERE, *left)

    async def _owner(self, parts: _Parts, space: PlannedSpace) -> str | None:
        """The name of the part that the chats of a space belong to."""
        if ("space", space.id) in self._plan.imported:
            return stem_of(self._plan.paths["space", space.id])
        if len(space.characters) > 1:
            group = encode_part({**_GROUP, "name": space.name, "chaId": str(space.id)})
            source_id = None if self._plan.source is None else self._plan.source.id
            data = await risuai_bytes(
                self._runtime, self._viewer, "risuai_character", space.id, group, source_id=source_id
            )
            await parts.add(f"characters/{space.id}.json", "risuai_character", data or group, MADE_HERE)
            return str(space.id)
        known = [id for id in space.characters if ("character", id) in self._plan.names]
        if not known:
            return None
        is_imported = ("character", known[0]) in self._plan.imported
        return stem_of(self._plan.paths["character", known[0]]) if is_imported else str(known[0])

    def note(self, path: str, kind: str, notes: tuple[str, ...], size: int) -> None:
        """Say what became of a part of the backup; without notes, it is as it was imported."""
        verdict: ExportVerdict = "converted" if notes else "exact"
        self.lines.append(ExportLine(path=path, kind=kind, verdict=verdict, notes=notes, size=size))

    async def _write_files(self) -> None:
        """A file for each thing, which RisuAI imports by itself."""
        for id in self._plan.of("character") if self._wants("character") else ():
            await self._write_one("characters", self._plan.names["character", id], ".charx", "risuai_character", id)
        for id in self._plan.of("preset"):
            kind, name = self._plan.preset_kinds[id], self._plan.names["preset", id]
            if kind == RISUAI and self._wants("preset"):
                await self._write_one("presets", name, ".risup", "risuai_preset", id)
            elif kind == MODULE and self._wants("module"):
                await self._write_one("modules", name, ".risum", "risuai_module", id)
        for id in self._plan.of("persona") if self._wants("persona") else ():
            await self._write_one("personas", self._plan.names["persona", id], ".png", "risuai_persona", id)
        if self._wants("module") or self._wants("world"):
            async with self._database.read() as session:
                books = await self._books(session)
            for row, module in books:
                path = self._free.give("modules", row.name, ".risum")
                await self._write(path, "risuai_module", whole(write_risum(module)), "converted", (AS_MODULE,))
        for space in self._plan.spaces if self._wants("chat") else ():
            folder = sanitised(space.name if space.is_group else space.speaker) or str(space.id)
            for chat in space.conversations:
                await self._write_one(f"chats/{folder}", chat.title, ".json", "risuai_chat", chat.id)

    async def _write_one(self, folder: str, name: str, extension: str, kind: FileKind, id: UUID) -> None:
        self._done += 1
        path = self._free.give(folder, name, extension)
        try:
            data = await self._file(kind, id)
        except (Refused, TavernKitError) as error:
            self._leave_out(path, kind, sentence_of(error))
        else:
            await self._write(path, kind, whole(data), "converted", ())

    async def _file(self, kind: FileKind, id: UUID) -> bytes:
        match kind:
            case "risuai_character":
                return (await export_character(self._runtime, self._viewer, id, "charx")).data
            case "risuai_chat":
                data = await risuai_bytes(self._runtime, self._viewer, kind, id) or b"{}"
                return encode_part({"type": "risuChat", "ver": 2, "data": json.loads(data)})
            case "risuai_persona":
                return await self._persona_card(id)
            case _:
                async with self._database.read() as session:
                    row = await session.get_one(Preset, id)
                decoded = decode_preset(row.kind, {**row.data, "name": row.data.get("name") or row.name})[0]
                if isinstance(decoded, Module):
                    return write_risum(decoded)
                return write_preset_file(decoded if isinstance(decoded, RisuSettings) else RisuSettings())

    async def _persona_card(self, id: UUID) -> bytes:
        """A persona inside its picture."""
        async with self._database.read() as session:
            picture = await persona_bytes(self._runtime, session, id) or plain_picture()
        data = await risuai_bytes(self._runtime, self._viewer, "risuai_persona", id) or b"{}"
        return put_texts(picture, {"persona": b64encode(data)}, drop=lambda _chunk: False)


class _Parts:
    """The parts and files of a backup while it is put together, in a folder of their own."""

    def __init__(self, export: RisuaiExport, folder: Path) -> None:
        self._export, self._folder, self._sink = export, folder, FolderSink(folder)
        self._paths: dict[str, None] = {}

    async def add(self, path: str, kind: str, data: bytes, *notes: str) -> None:
        """Add a part, or a file that was imported; `notes` say how it differs from what was imported."""
        size = await self._sink.write(path, whole(data), None)
        self._paths[path] = None
        self._export.note(f"{BACKUP}/{path}", kind, notes, size)

    def has(self, path: str) -> bool:
        """Whether there is such a file; those that were imported come before what refers to them."""
        return path in self._paths

    async def add_asset(self, path: str, pieces: AsyncIterator[bytes]) -> None:
        """Add a picture, unless it is there."""
        if path not in self._paths:
            size = await self._sink.write(path, pieces, None)
            self._paths[path] = None
            self._export.note(f"{BACKUP}/{path}", "risuai_asset", (MADE_HERE,), size)

    def write_backup(self, target: Path) -> None:
        """Takes a while, so not to be called in the event loop."""
        with target.open("wb") as file:
            write_backup(file, self._paths, lambda path: self._folder.joinpath(path).read_bytes())


async def _pieces(file: Path) -> AsyncIterator[bytes]:
    with file.open("rb") as opened:
        while piece := await asyncio.to_thread(opened.read, PIECE_BYTES):
            yield piece


def _replaced(value: Json, files: Mapping[str, str]) -> Any:
    """A value with other paths of files in it."""
    match value:
        case str():
            return files.get(value, value)
        case list():
            return [_replaced(item, files) for item in value]
        case dict():
            return {key: _replaced(item, files) for key, item in value.items()}
        case _:
            return value
