"""What `card validate` finds out about a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from tavernkit.characters import Bundle, load
from tavernkit.cli.card_macros import macro_notes
from tavernkit.cli.errors import Failure, FileError, display_name, explain
from tavernkit.cli.files import read_input
from tavernkit.cli.output import Printer
from tavernkit.errors import TavernKitError
from tavernkit.reading import ImportReport, Note, ReportBuilder
from tavernkit.sillytavern.regex_scripts import embedded_scripts
from tavernkit.values import Value

Status: TypeAlias = Literal["ok", "ok with notes", "broken", "unreadable"]
COLOURS = {"ok": "green", "ok with notes": "yellow", "broken": "red", "unreadable": "red"}


class FileCheck(Value, frozen=True, kw_only=True):
    """One file. `ok` is what counts: notes of what is not broken fail a file only when the check is strict."""

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
    report = _with_texts(bundle)
    status: Status = "broken" if report.broken else "ok" if report.is_exact else "ok with notes"
    return FileCheck(
        file=display_name(file),
        ok=status == "ok" or (status == "ok with notes" and not strict),
        status=status,
        name=bundle.card.character.name,
        format=bundle.format,
        spec=bundle.card.spec,
        notes=report.notes,
    )


def _with_texts(bundle: Bundle) -> ImportReport:
    """The report of the card with what is broken in its regex scripts and its texts."""
    card = bundle.card
    prefix = "" if card.spec == "v1" else "data."
    scripts = ReportBuilder()
    embedded_scripts(card.character.extensions, scripts, f"{prefix}extensions")
    notes = (*scripts.build("scripts").notes, *macro_notes(card.character, prefix=prefix))
    return bundle.report.with_(notes=(*bundle.report.notes, *notes))


def unreadable(error: FileError) -> FileCheck:
    """The verdict on a file that could not be opened."""
    return FileCheck(file=error.name, ok=False, status="unreadable", error=explain(error.cause))


def print_verdicts(printer: Printer, verdicts: Sequence[FileCheck]) -> None:
    for verdict in verdicts:
        why = f": {verdict.error.message}" if verdict.error else ""
        printer.line(f"{verdict.file}: {verdict.status}{why}", style=COLOURS[verdict.status])
        for note in verdict.notes:
            printer.line(f"  {'broken' if note.is_broken else note.outcome} {note.path}: {note.message}")
    if len(verdicts) > 1:
        printer.line(f"{sum(verdict.ok for verdict in verdicts)} of {len(verdicts)} files passed")
