"""A user folder of SillyTavern that a test writes, and its import: item by item as the job does it, without a scan."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from uuid import UUID, uuid4

from sqlalchemy import select

from tavernkit.errors import TavernKitError
from tavernkit.migration.files import Application, FileKind, SourceFile
from tavernkit.playground.base.database.models import FolderImport, ImportedFile, ImportSource, KeptFile, KeptPiece
from tavernkit.playground.base.languages import sentence_of
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.migration import (
    characters,
    lorebooks,
    personas,
    pictures,
    presets,
    quick_replies,
    settings,
)
from tavernkit.playground.story.migration.choices import Conflict, ImportChoices
from tavernkit.playground.story.migration.items import ImportJob, Item, ItemHandler, ItemOutcome, TargetKind
from tavernkit.playground.story.migration.markers import marker_of, refresh_markers
from tests.playground.stories import Story

__all__ = ["Folder", "opened_import"]

ROOMS = (lorebooks, presets, quick_replies, pictures, characters, personas, settings)
HANDLERS = {kind: handler for room in ROOMS for kind, handler in room.HANDLERS.items()}
KINDS: dict[str, FileKind] = {
    "worlds": "world",
    **dict.fromkeys([*presets.FOLDERS.values(), "KoboldAI Settings", "NovelAI Settings"], "preset"),
    "QuickReplies": "quick_replies",
    "backgrounds": "background",
    "characters": "character",
    "User Avatars": "persona_picture",
    "settings.json": "settings",
}
ORDER: tuple[FileKind, ...] = (
    "world", "preset", "quick_replies", "background", "character", "sprite", "persona_picture", "settings"
)  # fmt: skip


class Folder:
    """The files of a source, in the order in which they are imported."""

    application: Application = "sillytavern"

    def __init__(self, place: Path) -> None:
        self.place = place
        self.name = place.name

    def write(self, path: str, content: Any) -> bytes:
        """Write a file; what is no bytes is written as JSON."""
        data: bytes = content if isinstance(content, bytes) else json.dumps(content, indent=4).encode()
        file = self.place / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        return data

    def remove(self, path: str) -> None:
        (self.place / path).unlink()

    def files(self) -> Iterator[SourceFile]:
        found = [str(file.relative_to(self.place)) for file in sorted(self.place.rglob("*")) if file.is_file()]
        for path in sorted(found, key=lambda path: ORDER.index(kind_of(path))):
            yield SourceFile(path=path, size=(self.place / path).stat().st_size, modified=None, kind=kind_of(path))

    def open(self, path: str) -> IO[bytes]:
        return io.BytesIO((self.place / path).read_bytes())

    def close(self) -> None:
        """Nothing is open."""


def kind_of(path: str) -> FileKind:
    top, *inside = path.split("/")
    return "sprite" if top == "characters" and len(inside) > 1 else KINDS[top]


class Import:
    """A folder that is imported, as often as a test wants: its source stays the same."""

    def __init__(self, play: Story, folder: Folder, source_id: UUID) -> None:
        self.play = play
        self.folder = folder
        self.source_id = source_id
        self.job = self._job(ImportChoices(), uuid4())

    def _job(self, choices: ImportChoices, import_id: UUID) -> ImportJob:
        return ImportJob(
            runtime=self.play.runtime,
            viewer=self.play.viewer,
            source=self.folder,
            source_id=self.source_id,
            import_id=import_id,
            choices=choices,
            now=self.play.runtime.clock(),
        )

    async def run(self, *, conflict: Conflict = "both", enable_scripts: bool = False) -> dict[str, ItemOutcome]:
        """Import every file that is new or has changed; what became of each."""
        choices = ImportChoices(conflict=conflict, enable_scripts=enable_scripts)
        now = self.play.runtime.clock()
        async with self.play.runtime.database.write() as session:
            row = FolderImport(
                id=uuid4(),
                owner_id=self.play.user_id,
                source_id=self.source_id,
                status="importing",
                created_at=now,
                updated_at=now,
            )
            session.add(row)
        self.job = self._job(choices, row.id)
        files = enumerate(self.folder.files())
        return {file.path: outcome async for file, outcome in self._outcomes(files) if outcome is not None}

    async def _outcomes(self, files: Any) -> Any:
        for position, file in files:
            yield file, await self._import(position, file)

    async def _import(self, position: int, file: SourceFile) -> ItemOutcome | None:
        data = self.folder.open(file.path).read()
        sha256 = hashlib.sha256(data).hexdigest()
        async with self.play.runtime.database.write() as session:
            known = await session.get(ImportedFile, (self.source_id, file.path))
            if known is not None and known.sha256 == sha256:
                return None
            marker = None
            if known is not None and known.target_kind is not None and known.target_id is not None:
                marker = await marker_of(session, known.target_kind, known.target_id)  # type: ignore[arg-type]
            item = Item(
                position=position,
                path=file.path,
                kind=file.kind,
                detail="",
                size=file.size,
                modified=None,
                sha256=sha256,
                state="new" if known is None else "changed",
                plan={},
                conflict=self.job.choices.conflict,
                target_kind=known.target_kind if known and marker is not None else None,  # type: ignore[arg-type]
                target_id=known.target_id if known and marker is not None else None,
                is_changed_here=known is not None and marker != known.marker,
            )
            handler: ItemHandler = HANDLERS[file.kind]
            try:
                outcome = await handler.store(session, self.job, item, handler.prepare(self.job, item, data))
            except Refused as refused:
                return ItemOutcome(verdict="refused", notes=(refused.sentence,))
            except TavernKitError as error:
                return ItemOutcome(verdict="refused", notes=(sentence_of(error),))
            await session.flush()
            await refresh_markers(session, self.job)
            if outcome.verdict != "skipped":
                await session.merge(KeptFile(sha256=sha256, size=len(data), created_at=self.job.now))
                await session.merge(KeptPiece(sha256=sha256, position=0, compressed=False, data=data))
                await session.flush()
                await session.merge(
                    ImportedFile(
                        source_id=self.source_id,
                        path=file.path,
                        kind=file.kind,
                        size=len(data),
                        sha256=sha256,
                        kept_sha256=sha256,
                        import_id=self.job.import_id,
                        target_kind=outcome.target_kind,
                        target_id=outcome.target_id,
                        marker=await self._marker(session, outcome.target_kind, outcome.target_id),
                    )
                )
            return outcome

    async def _marker(self, session: Any, kind: TargetKind | None, id: UUID | None) -> str:
        return "" if kind is None or id is None else await marker_of(session, kind, id) or ""

    async def is_unchanged(self, path: str) -> bool:
        """Whether an export would write the bytes of a file as they were imported."""
        async with self.play.runtime.database.read() as session:
            file = (
                await session.scalars(
                    select(ImportedFile).where(ImportedFile.source_id == self.source_id, ImportedFile.path == path)
                )
            ).one()
            return await self._marker(session, file.target_kind, file.target_id) == file.marker  # type: ignore[arg-type]


async def opened_import(play: Story, place: Path, name: str = "default-user") -> Import:
    """An import of a new, empty folder."""
    now, source_id = play.runtime.clock(), uuid4()
    async with play.runtime.database.write() as session:
        session.add(
            ImportSource(
                id=source_id,
                owner_id=play.user_id,
                application="sillytavern",
                name=name,
                created_at=now,
                updated_at=now,
            )
        )
    folder = Folder(place / name)
    folder.place.mkdir()
    return Import(play, folder, source_id)
