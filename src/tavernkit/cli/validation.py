"""What `card validate` finds out about a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from tavernkit.characters import load
from tavernkit.cli.errors import Failure, FileError, display_name, explain
from tavernkit.cli.files import read_input
from tavernkit.cli.output import Printer
from tavernkit.errors import TavernKitError
from tavernkit.reading import Note
from tavernkit.values import Value

Status: TypeAlias = Literal["ok", "ok with notes", "broken", "unreadable"]
COLOURS = {"ok": "green", "ok with notes": "yellow", "broken": "red", "unreadable": "red"}


class FileCheck(Value, frozen=True, kw_only=True):
    """One file. `ok` is what counts: notes fail a file only when the check is strict."""

    file: str
    ok: bool
    status: Status
    name: str | None = None
    format: str | None = None
    spec: str | None = None
    notes: tuple[Note, ...] = ()
    error: Failure | None = None


def check(file: Path, *, strict: bool) -> FileCheck:
    """Read one card and judge it. Raises FileError only for a file that cannot be opened."""
    data = read_input(file)
    try:
        bundle = load(data)
    except TavernKitError as error:
        return FileCheck(file=display_name(file), ok=False, status="broken", error=explain(error))
    return FileCheck(
        file=display_name(file),
        ok=bundle.report.is_exact or not strict,
        status="ok" if bundle.report.is_exact else "ok with notes",
        name=bundle.card.character.name,
        format=bundle.format,
        spec=bundle.card.spec,
        notes=bundle.report.notes,
    )


def unreadable(error: FileError) -> FileCheck:
    """The verdict on a file that could not be opened."""
    return FileCheck(file=error.name, ok=False, status="unreadable", error=explain(error.cause))


def print_verdicts(printer: Printer, verdicts: Sequence[FileCheck]) -> None:
    for verdict in verdicts:
        why = f": {verdict.error.message}" if verdict.error else ""
        printer.line(f"{verdict.file}: {verdict.status}{why}", style=COLOURS[verdict.status])
        for note in verdict.notes:
            printer.line(f"  {note.outcome} {note.path}: {note.message}")
    if len(verdicts) > 1:
        printer.line(f"{sum(verdict.ok for verdict in verdicts)} of {len(verdicts)} files passed")
