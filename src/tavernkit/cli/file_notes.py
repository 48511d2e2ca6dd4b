"""What reading files had to convert or ignore, with the name of the file."""

from __future__ import annotations

from pathlib import Path

from tavernkit.cli.errors import display_name
from tavernkit.reading import ImportReport, Outcome
from tavernkit.values import Value


class FileNote(Value, frozen=True, kw_only=True):
    """What became of one field of one file."""

    file: str
    path: str
    outcome: Outcome
    message: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.file, self.path, self.message) if part)


def file_notes(file: Path, report: ImportReport) -> tuple[FileNote, ...]:
    """The notes of a report that say more than that everything was kept."""
    return tuple(
        FileNote(file=display_name(file), path=note.path, outcome=note.outcome, message=note.message)
        for note in report.notes
        if note.outcome != "exact"
    )
