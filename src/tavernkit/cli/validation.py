"""What `card validate` and `preset validate` find out about files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import typer

from tavernkit import risuai
from tavernkit.card_lint import macro_hints
from tavernkit.characters import Bundle, load
from tavernkit.cli.batch import each, raise_failed
from tavernkit.cli.errors import Failure, FileError, display_name, explain
from tavernkit.cli.files import read_input
from tavernkit.cli.output import Printer, present
from tavernkit.cli.preset_files import read_any_preset
from tavernkit.errors import TavernKitError
from tavernkit.reading import ImportReport, Note, ReportBuilder
from tavernkit.risuai import RisuSettings
from tavernkit.sillytavern import preset_problems
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
    status = _status(report)
    return FileCheck(
        file=display_name(file),
        ok=_is_ok(status, strict=strict),
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
    macros = (
        Note(path=f"{prefix}{hint.path}", outcome="exact", message=hint.message, is_broken=True)
        for hint in macro_hints(card.character)
    )
    notes = (*scripts.build("scripts").notes, *macros)
    return bundle.report.with_(notes=(*bundle.report.notes, *notes))


def _status(report: ImportReport) -> Status:
    return "broken" if report.broken else "ok" if report.is_exact else "ok with notes"


def _is_ok(status: Status, *, strict: bool) -> bool:
    return status == "ok" or (status == "ok with notes" and not strict)


def check_preset(file: Path, *, strict: bool) -> FileCheck:
    """Read one preset and judge it. Raises FileError only for a file that cannot be opened."""
    data = read_input(file)
    try:
        preset, report = read_any_preset(data)
    except TavernKitError as error:
        return FileCheck(file=display_name(file), ok=False, status="broken", error=explain(error))
    found = risuai.preset_problems(preset) if isinstance(preset, RisuSettings) else preset_problems(preset)
    report = report.with_(notes=(*report.notes, *found))
    status = _status(report)
    name = preset.written.get("name") if isinstance(preset, RisuSettings) else getattr(preset, "name", None)
    return FileCheck(
        file=display_name(file),
        ok=_is_ok(status, strict=strict),
        status=status,
        name=name if isinstance(name, str) else None,
        format=report.format,
        notes=report.notes,
    )


def validate_files(files: Sequence[Path], check: Callable[[Path], FileCheck], *, as_json: bool) -> None:
    """Judge every file and show the verdicts; exits with 1 where one is not ok."""
    outcomes = each("Checking", files, check)
    verdicts = [_unreadable(outcome) if isinstance(outcome, FileError) else outcome for outcome in outcomes]
    all_ok = all(verdict.ok for verdict in verdicts)
    document = {"ok": all_ok, "files": verdicts}
    present(document, lambda printer: _print_verdicts(printer, verdicts), as_json=as_json)
    raise_failed(outcomes)
    if not all_ok:
        raise typer.Exit(1)


def _unreadable(error: FileError) -> FileCheck:
    """The verdict on a file that could not be opened."""
    return FileCheck(file=error.name, ok=False, status="unreadable", error=explain(error.cause))


def _print_verdicts(printer: Printer, verdicts: Sequence[FileCheck]) -> None:
    for verdict in verdicts:
        why = f": {verdict.error.message}" if verdict.error else ""
        printer.line(f"{verdict.file}: {verdict.status}{why}", style=COLOURS[verdict.status])
        for note in verdict.notes:
            printer.line(f"  {'broken' if note.is_broken else note.outcome} {note.path}: {note.message}")
    if len(verdicts) > 1:
        printer.line(f"{sum(verdict.ok for verdict in verdicts)} of {len(verdicts)} files passed")
