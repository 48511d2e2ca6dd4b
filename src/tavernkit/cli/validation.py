"""What `card validate` and `preset validate` find out about files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import typer

from tavernkit import risuai
from tavernkit.characters import load
from tavernkit.cli.batch import each, raise_failed
from tavernkit.cli.errors import Failure, FileError, display_name, explain
from tavernkit.cli.files import read_input
from tavernkit.cli.output import Printer, present
from tavernkit.cli.preset_files import check_post_processing, read_any_preset
from tavernkit.errors import TavernKitError
from tavernkit.reading import Note
from tavernkit.risuai import RisuSettings
from tavernkit.sillytavern import preset_problems
from tavernkit.sillytavern.presets import ChatPreset
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


def check_preset(file: Path, *, strict: bool) -> FileCheck:
    """Read one preset and judge it. Raises FileError only for a file that cannot be opened."""
    data = read_input(file)
    try:
        preset, report = read_any_preset(data)
        if isinstance(preset, ChatPreset):
            check_post_processing(preset)
    except TavernKitError as error:
        return FileCheck(file=display_name(file), ok=False, status="broken", error=explain(error))
    found = risuai.preset_problems(preset) if isinstance(preset, RisuSettings) else preset_problems(preset)
    notes = (*report.converted, *report.ignored, *found)
    name = preset.written.get("name") if isinstance(preset, RisuSettings) else getattr(preset, "name", None)
    return FileCheck(
        file=display_name(file),
        ok=not notes or not strict,
        status="ok with notes" if notes else "ok",
        name=name if isinstance(name, str) else None,
        format=report.format,
        notes=notes,
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
            printer.line(f"  {note.outcome} {note.path}: {note.message}")
    if len(verdicts) > 1:
        printer.line(f"{sum(verdict.ok for verdict in verdicts)} of {len(verdicts)} files passed")
