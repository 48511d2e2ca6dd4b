"""What every export does with a file: it is written, and the report gets a line."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import datetime
from typing import TypeAlias

from sqlalchemy import func, select

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Blob, FolderImport, ImportedFile, ImportItem
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.migration.export_plan import ExportPlan
from tavernkit.playground.story.migration.export_report import ExportChoices, ExportLine, ExportVerdict
from tavernkit.playground.story.migration.export_sinks import ExportSink
from tavernkit.playground.story.migration.kept import kept_pieces
from tavernkit.playground.story.migration.report import notes_of

OnProgress: TypeAlias = Callable[[int, int], Awaitable[None]]
"""Gets how many files are through, and of how many."""

PAGE = 500
ELSEWHERE = "tavernkit"
"""What the report calls a folder for what has no file."""
MADE_HERE = _("Created here.")
CHANGED_HERE = _("Changed here since the import.")
DELETED_HERE = _("Deleted here.")
BLANKED = _("Keys and passwords were left out at the import.")


class ExportWriter:
    """Writes one file after the other. `twins` are paths that some file systems take for another one."""

    def __init__(
        self,
        runtime: Runtime,
        viewer: Viewer,
        plan: ExportPlan,
        sink: ExportSink,
        choices: ExportChoices,
        on_progress: OnProgress,
    ) -> None:
        self.lines: list[ExportLine] = []
        self._runtime, self._database, self._viewer = runtime, runtime.database, viewer
        self._plan, self._sink, self._choices = plan, sink, choices
        self._twins: Mapping[str, str] = {second: first for first, second in plan.free.twins}
        self._on_progress = on_progress
        self._done = self._total = 0

    async def _count(self) -> int:
        """About how many files there are."""
        new = 1 + sum(target not in self._plan.imported for target in self._plan.names)
        if self._plan.source is None:
            return new
        async with self._database.read() as session:
            query = select(func.count()).where(ImportedFile.source_id == self._plan.source.id)
            return new + (await session.scalar(query) or 0)

    async def _files_of_source(self) -> AsyncIterator[ImportedFile]:
        """What was imported of the source that the export builds upon, in the order of paths."""
        source, after = self._plan.source, ""
        while source is not None:
            async with self._database.read() as session:
                query = select(ImportedFile).where(ImportedFile.source_id == source.id, ImportedFile.path > after)
                files = (await session.scalars(query.order_by(ImportedFile.path).limit(PAGE))).all()
            for file in files:
                yield file
                self._done += 1
            if len(files) < PAGE:
                return
            after = files[-1].path

    async def _kept(self, sha256: str) -> AsyncIterator[bytes]:
        async with self._database.read() as session:
            async for piece in kept_pieces(session, sha256):
                yield piece

    async def _blob(self, sha256: str) -> AsyncIterator[bytes]:
        async with self._database.read() as session:
            data = await session.scalar(select(Blob.data).where(Blob.sha256 == sha256))
        yield data or b""

    async def _write(
        self,
        path: str,
        kind: str,
        pieces: AsyncIterator[bytes],
        verdict: ExportVerdict,
        notes: tuple[str, ...],
        modified: datetime | None = None,
    ) -> None:
        twin = self._twins.get(path)
        if twin is not None:
            notes = (*notes, _("The name differs from “{path}” only in case or accents.", path=twin))
        try:
            size = await self._sink.write(path, pieces, modified)
        except Refused as refused:
            self._leave_out(path, kind, *notes, refused.sentence)
            return
        self.lines.append(ExportLine(path=path, kind=kind, verdict=verdict, notes=notes, size=size))
        await self._on_progress(self._done, self._total)

    def _leave_out(self, path: str, kind: str, *notes: str) -> None:
        self.lines.append(ExportLine(path=path, kind=kind, verdict="left_out", notes=notes))

    async def _report_refused(self) -> None:
        """What was refused when the source was imported, and is therefore not in the export."""
        if self._plan.source is None:
            return
        async with self._database.read() as session:
            newest = (
                select(FolderImport.id)
                .where(FolderImport.source_id == self._plan.source.id, FolderImport.status == "done")
                .order_by(FolderImport.created_at.desc())
                .limit(1)
            )
            items = await session.scalars(
                select(ImportItem)
                .where(ImportItem.import_id == newest.scalar_subquery(), ImportItem.verdict == "refused")
                .order_by(ImportItem.position)
            )
            for item in items:
                if self._choices.wants(item.kind):
                    self._leave_out(item.path, item.kind, _("Refused at the import."), *notes_of(item))


async def whole(data: bytes) -> AsyncIterator[bytes]:
    """Bytes that are there as a whole."""
    yield data
