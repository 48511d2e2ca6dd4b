"""Exports of a story, written to a folder and read again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from tavernkit.chats import ChatFile, read_chat
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import FolderImport
from tavernkit.playground.story.messages.service import send_message
from tavernkit.playground.story.migration.choices import ImportChoices
from tavernkit.playground.story.migration.export_report import ExportChoices, ExportReport
from tavernkit.playground.story.migration.exporting import FolderSink, write_export
from tavernkit.playground.story.migration.service import import_from_path, start_import
from tests.playground.stories import Story
from tests.playground.support.jobs import ended_job, running_job_worker
from tests.support.hanging import HANG_SECONDS

__all__ = ["Exported", "export", "imported", "narrate"]


class Exported:
    """A folder that was written, and the report about it."""

    def __init__(self, place: Path, report: ExportReport) -> None:
        self.place = place
        self.report = report

    @property
    def files(self) -> set[str]:
        return {file.relative_to(self.place).as_posix() for file in self.place.rglob("*") if file.is_file()}

    def read(self, path: str) -> bytes:
        return (self.place / path).read_bytes()

    def json(self, path: str) -> Any:
        return json.loads(self.read(path))

    def chat(self, path: str) -> ChatFile:
        (chat,), _report = read_chat(self.read(path))
        return chat

    def verdict(self, path: str) -> str:
        (line,) = [line for line in self.report.lines if line.path == path]
        return line.verdict

    def notes(self, path: str) -> str:
        return " ".join(note for line in self.report.lines if line.path == path for note in line.notes)


async def export(
    story: Story, place: Path, viewer: Viewer | None = None, *, is_backup: bool = False, **choices: Any
) -> Exported:
    """Write everything, or what is chosen, into a folder. Of a backup, the report has lines for what is inside."""
    place.mkdir(parents=True, exist_ok=True)
    sink, chosen = FolderSink(place), ExportChoices(**choices)
    report = await write_export(story.runtime, viewer or story.viewer, sink, chosen)
    written = Exported(place, report)
    reported = {line.path for line in report.lines if line.verdict != "left_out"}
    assert {path for path in reported if not is_backup or ".bin/" not in path} == written.files
    return written


async def narrate(story: Story, conversation_id: UUID, *texts: str) -> None:
    """Add messages that nobody answers."""
    for text in texts:
        await send_message(
            story.runtime, story.viewer, conversation_id, message_id=uuid4(), content=text, role="system"
        )


async def imported(
    story: Story, place: Path, viewer: Viewer | None = None, *, hang_seconds: float = HANG_SECONDS
) -> FolderImport:
    """Import everything in a folder or backup."""
    whose = viewer or story.viewer
    async with running_job_worker(story.runtime):
        row = await import_from_path(story.runtime, whose, place)
        assert row.job_id is not None
        scanned = await ended_job(story.runtime, row.job_id, hang_seconds=hang_seconds)
        assert scanned.status == "succeeded", scanned.error
        row = await start_import(story.runtime, whose, row.id, ImportChoices())
        assert row.job_id is not None
        done = await ended_job(story.runtime, row.job_id, hang_seconds=hang_seconds)
        assert done.status == "succeeded", done.error
        return row
