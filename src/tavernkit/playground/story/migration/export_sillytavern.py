"""Writing a folder of SillyTavern: first the files of the folder that the export builds upon, then what was made here,
then the settings, which name all of it."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from functools import cached_property
from urllib.parse import unquote
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.characters.export import plain_picture
from tavernkit.errors import TavernKitError
from tavernkit.migration.files import FileKind
from tavernkit.playground.base.database.models import ImportedFile
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import sentence_of
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.chatfiles.exporting import FolderNames
from tavernkit.playground.story.migration.export_items import (
    Exporting,
    card_bytes,
    changed_chat_book,
    changed_world,
    chat_pieces,
    choose_backgrounds,
    has_sprite,
    new_sprites,
    placeless,
    preset_parts,
)
from tavernkit.playground.story.migration.export_paths import stem_of
from tavernkit.playground.story.migration.export_plan import PlannedConversation, PlannedSpace
from tavernkit.playground.story.migration.export_settings import SETTINGS, settings_bytes
from tavernkit.playground.story.migration.export_writer import (
    BLANKED,
    CHANGED_HERE,
    DELETED_HERE,
    ELSEWHERE,
    MADE_HERE,
    ExportWriter,
    whole,
)
from tavernkit.playground.story.migration.groups import group_bytes
from tavernkit.playground.story.migration.kept import kept_bytes
from tavernkit.playground.story.migration.lorebooks import world_bytes
from tavernkit.playground.story.migration.markers import is_as_imported, marker_of_file
from tavernkit.playground.story.migration.personas import persona_bytes
from tavernkit.playground.story.migration.presets import FOLDERS, preset_bytes
from tavernkit.playground.story.migration.quick_replies import quick_replies_bytes

ONLY_RISUAI = _("SillyTavern has no place for it. Export for RisuAI instead.")

_CHATS = frozenset({"chat", "group_chat"})
_WRITTEN = frozenset(
    {"character", "sprite", "world", "preset", "quick_replies", "persona_picture", "group", "chat", "group_chat"}
)
"""Kinds of files that are written anew where what they became was changed."""
_MEDIA = re.compile(rb'"/?(user/(?:images|files)/(?:[^"\\]|\\.)+)"')


class SillyTavernExport(ExportWriter):
    """Writes a folder of SillyTavern."""

    @cached_property
    def _spaces(self) -> dict[UUID, PlannedSpace]:
        return {space.id: space for space in self._plan.spaces}

    @cached_property
    def _chats(self) -> dict[UUID, tuple[PlannedSpace, PlannedConversation]]:
        return {one.id: (space, one) for space in self._plan.spaces for one in space.conversations}

    @cached_property
    def _work(self) -> Exporting:
        plan = self._plan
        names = FolderNames(
            chats={id: stem_of(one.path) for id, (_space, one) in self._chats.items()},
            avatars={id: avatar for id in plan.of("character") if (avatar := plan.avatar(id)) is not None},
            groups={id: stem_of(space.path) for id, space in self._spaces.items() if space.path},
        )
        return Exporting(runtime=self._runtime, viewer=self._viewer, plan=plan, names=names)

    async def write_all(self) -> None:
        """Write everything that was chosen."""
        self._total = await self._count()
        if self._choices.wants("background"):
            await self._write_backgrounds()
        await self._write_source()
        await self._write_characters()
        await self._write_library()
        await self._write_chats()
        if self._choices.is_selection:
            await self._write_named_media()
        else:
            if self._choices.wants("settings"):
                await self._write_settings()
            await self._report_refused()
            await self._report_placeless()

    async def _write_source(self) -> None:
        """The files of the folder that the export builds upon, but for its settings."""
        async for file in self._files_of_source():
            if self._is_wanted(file):
                await self._write_imported(file)

    def _is_wanted(self, file: ImportedFile) -> bool:
        if file.path == SETTINGS or not self._choices.wants(file.kind):
            return False
        if not self._choices.is_selection:
            return True
        is_space = file.target_kind == "space" and file.target_id in self._spaces
        return is_space or (file.target_kind, file.target_id) in self._plan.names

    async def _write_imported(self, file: ImportedFile) -> None:
        async with self._database.read() as session:
            id, marker = file.target_id, await marker_of_file(session, file)
            is_same = id is None or (
                is_as_imported(file, marker) and not await self._is_linked_anew(session, file.kind, id)
            )
        if id is not None and marker is None:
            self._leave_out(file.path, file.kind, DELETED_HERE)
        elif is_same or id is None or not self._can_write(file):
            await self._write_kept(file)
        elif file.kind == "sprite":
            await self._write_sprite(file)
        elif file.kind == "character":
            path = file.path if file.path.lower().endswith(".png") else self._plan.paths["character", id]
            renamed = _("Cards are written as PNG. It was {path}.", path=file.path)
            await self._write_anew(path, file.kind, id, CHANGED_HERE, *([renamed] if path != file.path else []))
            if self._choices.wants("sprite"):
                await self._write_sprites(id)
        else:
            await self._write_anew(file.path, file.kind, id, CHANGED_HERE)

    def _can_write(self, file: ImportedFile) -> bool:
        return file.kind in _WRITTEN and (file.kind not in _CHATS or file.target_id in self._chats)

    async def _is_linked_anew(self, session: AsyncSession, kind: str, id: UUID) -> bool:
        """Whether a file is to name something that it does not name yet: a book, or a branch."""
        if kind == "character":
            return await changed_world(session, self._plan, id) is not None
        if kind in _CHATS and id in self._chats:
            space, chat = self._chats[id]
            is_linked = bool(chat.children) or space.id in self._work.backgrounds
            return is_linked or await changed_chat_book(session, self._plan, chat.id, space.id) is not None
        return False

    async def _write_sprite(self, file: ImportedFile) -> None:
        """The picture of a character that was changed is still the same, or it was removed."""
        async with self._database.read() as session:
            is_there = await has_sprite(session, self._viewer, file)
        if is_there:
            await self._write_kept(file)
        else:
            self._leave_out(file.path, file.kind, DELETED_HERE)

    async def _write_kept(self, file: ImportedFile) -> None:
        if file.kept_sha256 is None:
            # A character that stands in for one whose card the folder does not have.
            return
        is_blanked = file.kept_sha256 != file.sha256
        pieces = self._named_in(self._kept(file.kept_sha256), file.kind)
        notes = (BLANKED,) if is_blanked else ()
        await self._write(file.path, file.kind, pieces, "converted" if is_blanked else "exact", notes, file.modified)

    async def _write_anew(self, path: str, kind: str, id: UUID, *notes: str) -> None:
        """Write a file from what is here; what cannot be written is left out, and the report says why."""
        if kind in _CHATS:
            space, chat = self._chats[id]
            pieces = self._named_in(chat_pieces(self._work, space, chat), kind)
            await self._write(path, kind, pieces, "converted", notes, chat.updated_at)
            while self._work.pending:
                picture, sha256 = self._work.pending.pop(0)
                await self._write(picture, "chat_media", self._blob(sha256), "converted", (MADE_HERE,))
            return
        try:
            async with self._database.read() as session:
                data = await self._bytes(session, path, kind, id)
        except (Refused, TavernKitError) as error:
            self._leave_out(path, kind, sentence_of(error))
        else:
            await self._write(path, kind, whole(data), "converted", notes)

    async def _bytes(self, session: AsyncSession, path: str, kind: str, id: UUID) -> bytes:
        runtime = self._runtime
        match kind:
            case "character":
                return await card_bytes(self._work, session, id)
            case "world":
                return await world_bytes(runtime, session, id)
            case "preset":
                return await preset_bytes(runtime, session, id)
            case "quick_replies":
                return await quick_replies_bytes(runtime, session, id, name=stem_of(path))
            case "group":
                return await group_bytes(runtime, session, id, self._work.names)
            case _:
                # SillyTavern lists personas by their pictures.
                return await persona_bytes(runtime, session, id) or plain_picture()

    async def _write_characters(self) -> None:
        for id in self._plan.of("character", is_new=True) if self._choices.wants("character") else ():
            await self._write_new(self._plan.paths["character", id], "character", id)
            if self._choices.wants("sprite"):
                await self._write_sprites(id)

    async def _write_sprites(self, character_id: UUID) -> None:
        async with self._database.read() as session:
            sprites = await new_sprites(session, self._plan, character_id)
        for path, sha256 in sprites:
            await self._write(path, "sprite", self._blob(sha256), "converted", (MADE_HERE,))

    async def _write_backgrounds(self) -> None:
        """The backgrounds that were chosen here; the chats of their spaces name them."""
        async with self._database.read() as session:
            new = await choose_backgrounds(self._work, session)
        for path, sha256 in new:
            await self._write(path, "background", self._blob(sha256), "converted", (MADE_HERE,))

    async def _write_library(self) -> None:
        for id in self._plan.of("lorebook", is_new=True) if self._choices.wants("world") else ():
            await self._write_new(self._plan.paths["lorebook", id], "world", id)
        for id in self._plan.of("preset", is_new=True) if self._choices.wants("preset") else ():
            if self._plan.preset_kinds[id] in FOLDERS:
                await self._write_new(self._plan.paths["preset", id], "preset", id)
            else:
                await self._write_parts(id)
        for id in self._plan.of("quick_replies", is_new=True) if self._choices.wants("quick_replies") else ():
            await self._write_new(self._plan.paths["quick_replies", id], "quick_replies", id)
        for id in self._plan.of("persona", is_new=True) if self._choices.wants("persona_picture") else ():
            await self._write_new(self._plan.paths["persona", id], "persona_picture", id)

    async def _write_parts(self, id: UUID) -> None:
        """A preset that has no folder in SillyTavern."""
        kind, name = self._plan.preset_kinds[id], self._plan.names["preset", id]
        if kind != "master":
            self._leave_out(f"{ELSEWHERE}/{kind}/{name}", "preset", ONLY_RISUAI)
            return
        async with self._database.read() as session:
            parts = await preset_parts(session, self._plan, id)
        for path, data in parts:
            note = _("A part of the preset “{name}”.", name=name)
            await self._write(path, "preset", whole(data), "converted", (note,))

    async def _write_chats(self) -> None:
        for space in self._plan.spaces:
            is_new = ("space", space.id) not in self._plan.imported
            if space.path and is_new and self._choices.wants("group"):
                await self._write_new(space.path, "group", space.id)
            for chat in space.conversations:
                kind: FileKind = "group_chat" if chat.path.startswith("group chats/") else "chat"
                if ("conversation", chat.id) not in self._plan.imported and self._choices.wants(kind):
                    await self._write_new(chat.path, kind, chat.id)

    async def _write_new(self, path: str, kind: str, id: UUID) -> None:
        await self._write_anew(path, kind, id, MADE_HERE)
        self._done += 1

    async def _write_settings(self) -> None:
        """The settings of the folder with what has changed here; where there were none, a file with what is here."""
        source = self._plan.source
        async with self._database.read() as session:
            file = None if source is None else await session.get(ImportedFile, (source.id, SETTINGS))
            is_same = False
            before = None
            if file is not None and file.kept_sha256 is not None:
                before = await kept_bytes(session, file.kept_sha256)
                is_same = file.target_id is None or is_as_imported(file, await marker_of_file(session, file))
            data, problem = await settings_bytes(self._work, session, before, is_same=is_same)
        self._done += 1
        if file is not None and data == before and problem is None:
            await self._write_kept(file)
        else:
            is_blanked = file is not None and file.kept_sha256 != file.sha256
            sentences = (problem or (MADE_HERE if before is None else CHANGED_HERE), BLANKED if is_blanked else "")
            await self._write(SETTINGS, "settings", whole(data), "converted", tuple(filter(None, sentences)))

    async def _named_in(self, pieces: AsyncIterator[bytes], kind: str) -> AsyncIterator[bytes]:
        """The same pieces; of a selection, the files that chats name are noted."""
        if not (self._choices.is_selection and kind in _CHATS):
            async for piece in pieces:
                yield piece
            return
        rest = b""
        async for piece in pieces:
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                self._work.media.update(_media_in(line))
            yield piece
        self._work.media.update(_media_in(rest))

    async def _write_named_media(self) -> None:
        """The files that the chats of a selection name."""
        source = self._plan.source
        if source is None or not self._choices.wants("chat_media"):
            return
        for path in sorted(self._work.media):
            async with self._database.read() as session:
                file = await session.get(ImportedFile, (source.id, path))
            if file is not None:
                await self._write_kept(file)

    async def _report_placeless(self) -> None:
        """What SillyTavern has no place for, each kind in one line."""
        async with self._database.read() as session:
            for name, kind, sentence in await placeless(session, self._viewer):
                if self._choices.wants(kind):
                    self._leave_out(f"{ELSEWHERE}/{name}", kind, sentence)


def _media_in(line: bytes) -> Iterator[str]:
    """The files that a line of a chat names."""
    for found in _MEDIA.findall(line):
        with suppress(ValueError):
            path = json.loads(b'"%s"' % found)
            yield from {path, unquote(path)}
