"""A folder of SillyTavern in a test, whose chats are imported as the job does it: each in a transaction."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import IO, Any
from uuid import UUID

from PIL import Image
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import TavernKitError
from tavernkit.migration.files import FileKind, RefusedFile, SourceFile
from tavernkit.playground.base.database.models import (
    Conversation,
    FolderImport,
    ImportedFile,
    ImportItem,
    ImportSource,
    Lorebook,
    Message,
    MessageSwipe,
    Persona,
    Space,
    SpaceMembership,
)
from tavernkit.playground.story.chatfiles.exporting import FolderNames, encoded, export_chat, written_chat
from tavernkit.playground.story.lorebooks.service import import_lorebook
from tavernkit.playground.story.migration import chats, groups, settings
from tavernkit.playground.story.migration.choices import Conflict, ImportChoices
from tavernkit.playground.story.migration.items import ImportJob, Item, ItemHandler, ItemOutcome
from tavernkit.playground.story.migration.markers import marker_of, refresh_markers
from tests.playground.spaces.cast import character
from tests.playground.stories import Story, open_story

__all__ = ["DATE", "Folder", "ImportedStory", "imported_story", "line", "lines", "png", "said"]

DATE = "2026-03-09T14:07:05.000Z"
HANDLERS: Mapping[FileKind, ItemHandler] = {**chats.HANDLERS, **groups.HANDLERS, **settings.HANDLERS}
KINDS: Mapping[str, FileKind] = {
    "chats": "chat",
    "group chats": "group_chat",
    "groups": "group",
    "user": "chat_media",
    "settings.json": "settings",
}


def line(record: Any) -> str:
    return record if isinstance(record, str) else json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def lines(*records: Any) -> bytes:
    """Records as SillyTavern writes them; text stands for itself."""
    return "\n".join(map(line, records)).encode()


def said(name: str, text: str, **fields: Any) -> dict[str, Any]:
    """A message; `Sam` is the user."""
    return {
        "name": name, "is_user": name == "Sam", "is_system": False, "send_date": DATE, "mes": text, "extra": {}
    } | fields  # fmt: skip


def png(colour: str = "red") -> bytes:
    buffer = BytesIO()
    Image.new("RGB", (3, 2), colour).save(buffer, "PNG")
    return buffer.getvalue()


class Folder:
    """The files of one user, in memory."""

    application = "sillytavern"
    name = "data"

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}

    def files(self) -> Iterator[SourceFile | RefusedFile]:
        for path, data in self.data.items():
            yield SourceFile(path=path, size=len(data), modified=None, kind=KINDS[path.partition("/")[0]])

    def open(self, path: str) -> IO[bytes]:
        if path not in self.data:
            raise TavernKitError(f"{path} is not there.")
        return BytesIO(self.data[path])

    def close(self) -> None: ...


class ImportedStory(Story):
    """An application into which files of a folder are imported."""

    folder: Folder
    job: ImportJob
    handlers: Mapping[FileKind, ItemHandler] = HANDLERS

    async def add(
        self, path: str, data: bytes, *, plan: dict[str, Any] | None = None, conflict: Conflict = "both"
    ) -> ItemOutcome:
        """Put a file into the folder and import it, as the job would with all others done."""
        self.folder.data[path] = data
        kind = KINDS[path.partition("/")[0]]
        handler = self.handlers.get(kind)
        item = await self.item(path, plan, conflict)
        prepared = None if handler is None else handler.prepare(self.job, item, data)
        async with self.runtime.database.write() as session:
            outcome = ItemOutcome(verdict="kept")
            if handler is not None:
                outcome = await handler.store(session, self.job, item, prepared)
            await self.conclude(session, item, outcome)
        return outcome

    async def conclude(self, session: AsyncSession, item: Item, outcome: ItemOutcome) -> None:
        """Write what has become of a file."""
        await session.flush()
        await refresh_markers(session, self.job)
        marker = ""
        if outcome.target_kind is not None and outcome.target_id is not None and not outcome.merged:
            marker = await marker_of(session, outcome.target_kind, outcome.target_id) or ""
        await session.merge(
            ImportedFile(
                source_id=self.job.source_id,
                path=item.path,
                kind=item.kind,
                size=item.size,
                sha256=item.sha256,
                import_id=self.job.import_id,
                target_kind=outcome.target_kind,
                target_id=outcome.target_id,
                marker=marker,
            )
        )
        row = await session.get_one(ImportItem, (self.job.import_id, item.position))
        row.verdict = outcome.verdict

    async def item(self, path: str, plan: dict[str, Any] | None = None, conflict: Conflict = "both") -> Item:
        """A file of the folder as the scan leaves it."""
        kind = KINDS[path.partition("/")[0]]
        async with self.runtime.database.write() as session:
            known = await session.get(ImportedFile, (self.job.source_id, path))
            query = select(ImportItem).where(ImportItem.import_id == self.job.import_id, ImportItem.path == path)
            row = await session.scalar(query)
            if row is None:
                position = await session.scalar(select(func.count()).select_from(ImportItem)) or 0
                row = ImportItem(import_id=self.job.import_id, position=position, path=path, kind=kind)
                session.add(row)
            marker = None
            if known is not None and known.target_kind is not None and known.target_id is not None:
                marker = await marker_of(session, known.target_kind, known.target_id)  # type: ignore[arg-type]
            data = self.folder.data[path]
            item = Item(
                position=row.position,
                path=path,
                kind=kind,
                detail="",
                size=len(data),
                modified=None,
                sha256=hashlib.sha256(data).hexdigest(),
                state="new" if known is None else "changed",
                plan=plan or {},
                conflict=conflict,
            )
            if known is None or marker is None:
                return item
            return item.with_(
                target_kind=known.target_kind, target_id=known.target_id, is_changed_here=marker != known.marker
            )

    async def remember(self, path: str, kind: str, target_kind: str, target_id: UUID) -> None:
        """Say what a file has become that other handlers import."""
        async with self.runtime.database.write() as session:
            marker = await marker_of(session, target_kind, target_id)  # type: ignore[arg-type]
            await session.merge(
                ImportedFile(
                    source_id=self.job.source_id, path=path, kind=kind, size=1, sha256="x", target_kind=target_kind,
                    target_id=target_id, marker=marker or "",
                )
            )  # fmt: skip
        self.job.cache.clear()

    async def card(self, avatar: str, name: str, **fields: Any) -> UUID:
        """A character of the folder."""
        id = await character(self, name, **fields)
        await self.remember(f"characters/{avatar}", "character", "character", id)
        return id

    async def world(self, name: str, *entries: dict[str, Any]) -> Lorebook:
        """A lorebook of the folder."""
        document = {"entries": {str(uid): {"uid": uid, **entry} for uid, entry in enumerate(entries)}}
        book = (await import_lorebook(self.runtime, self.viewer, json.dumps(document).encode(), name=name))[0]
        await self.remember(f"worlds/{name}.json", "world", "lorebook", book.id)
        return book

    async def persona(self, avatar: str, name: str) -> UUID:
        """A persona of the folder."""
        now = self.runtime.clock()
        async with self.runtime.database.write() as session:
            row = Persona(
                id=self.runtime.ids(), owner_id=self.user_id, name=name, file={"avatar": avatar}, created_at=now,
                updated_at=now,
            )  # fmt: skip
            session.add(row)
        await self.remember(f"User Avatars/{avatar}", "persona_picture", "persona", row.id)
        return row.id

    async def written(self, outcome: ItemOutcome, names: FolderNames | None = None) -> bytes:
        """The file that an export writes for the conversation that a file became."""
        assert outcome.target_id is not None
        export = await export_chat(self.runtime, self.viewer, outcome.target_id, names or FolderNames())
        return b"".join([encoded(piece) async for piece in written_chat(self.runtime, export, "jsonl")])

    async def written_alone(self, outcome: ItemOutcome) -> bytes:
        """The file that the page of a conversation gives."""
        assert outcome.target_id is not None
        export = await export_chat(self.runtime, self.viewer, outcome.target_id)
        return b"".join([encoded(piece) async for piece in written_chat(self.runtime, export, "jsonl")])

    async def written_messages(self, outcome: ItemOutcome) -> list[Any]:
        """What an export writes behind the header, without what only this application reads."""
        records = [json.loads(one) for one in (await self.written(outcome)).split(b"\n")][1:]
        for record in records:
            for info in record.pop("swipe_info", ()):
                assert list(info) == ["tavernkit"]
                del record["swipes"], record["swipe_id"]
        return records

    async def avatars(self) -> dict[UUID, str]:
        """The characters of the folder by the names of their files."""
        query = select(ImportedFile.target_id, ImportedFile.path).where(ImportedFile.kind == "character")
        async with self.runtime.database.read() as session:
            return {id: path.rpartition("/")[2] for id, path in await session.execute(query) if id is not None}

    async def target(self, path: str) -> UUID | None:
        """What a file has become."""
        async with self.runtime.database.read() as session:
            return (await session.get_one(ImportedFile, (self.job.source_id, path))).target_id

    async def is_changed_here(self, path: str) -> bool:
        """Whether what a file has become was changed since."""
        async with self.runtime.database.read() as session:
            file = await session.get_one(ImportedFile, (self.job.source_id, path))
            return file.marker != await marker_of(session, file.target_kind, file.target_id)  # type: ignore[arg-type]

    async def conversation_of(self, outcome: ItemOutcome) -> Conversation:
        assert outcome.target_id is not None
        return await self.conversation(outcome.target_id)

    async def space_of(self, outcome: ItemOutcome) -> Space:
        async with self.runtime.database.read() as session:
            return await session.get_one(Space, (await self.conversation_of(outcome)).space_id)

    async def texts(self, outcome: ItemOutcome) -> list[str]:
        return [row.content for row in await self.rows(outcome.target_id) if row.visibility != "hidden"]

    async def first_message(self, outcome: ItemOutcome) -> Message:
        return (await self.rows(outcome.target_id))[0]

    async def swipes_in(self, outcome: ItemOutcome) -> list[list[MessageSwipe]]:
        return [await self.swipes(row.id) for row in await self.rows(outcome.target_id)]

    async def members(self, space_id: UUID) -> dict[UUID, SpaceMembership]:
        async with self.runtime.database.read() as session:
            rows = await session.scalars(
                select(SpaceMembership)
                .where(SpaceMembership.space_id == space_id)
                .order_by(SpaceMembership.position, SpaceMembership.id)
            )
            return {row.id: row for row in rows}

    async def authors(self, outcome: ItemOutcome) -> list[str]:
        """The names of who says each message."""
        members = await self.members((await self.space_of(outcome)).id)
        return [members[row.membership_id].cached_display_name for row in await self.rows(outcome.target_id)]


@asynccontextmanager
async def imported_story(url: str, folder: Path, **options: Any) -> AsyncIterator[ImportedStory]:
    """An application with an import that has been begun, of an empty folder."""
    async with open_story(url, folder, **options) as play:
        now = datetime.now(UTC)
        async with play.runtime.database.write() as session:
            source = ImportSource(
                id=play.runtime.ids(), owner_id=play.user_id, application="sillytavern", name="data", created_at=now,
                updated_at=now,
            )  # fmt: skip
            session.add(source)
            await session.flush()
            row = FolderImport(
                id=play.runtime.ids(), owner_id=play.user_id, source_id=source.id, status="importing", created_at=now,
                updated_at=now,
            )  # fmt: skip
            session.add(row)
        story = ImportedStory(play.runtime, play.user_id, play.conversation_id)
        story.folder = Folder()
        story.job = ImportJob(
            runtime=play.runtime,
            viewer=play.viewer,
            source=story.folder,
            source_id=source.id,
            import_id=row.id,
            choices=ImportChoices(),
            now=now,
        )
        yield story
