"""Reading files and standard input, and writing files so that nobody ever sees half of one."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from tavernkit.cli.errors import BatchError, FileError, StrictFileError, UsageError, about, display_name
from tavernkit.cli.output import write_bytes
from tavernkit.errors import ParseError, TavernKitError
from tavernkit.reading import ImportReport, Outcome
from tavernkit.values import Value

T = TypeVar("T")

InputFile = Annotated[Path, typer.Argument(metavar="FILE", help="The file to read; - reads standard input.")]
OutputOption = Annotated[Path, typer.Option("--output", "-o", help="The file to write. Default: standard output.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]


def is_standard(path: Path | None) -> bool:
    """Whether a path is `-`, which stands for standard input or output."""
    return path is not None and str(path) == "-"


def read_input(path: Path) -> bytes:
    """The bytes of a file or of standard input; more than any reader here takes is refused unread."""
    from tavernkit.characters.limits import DEFAULT_LIMITS

    limit = DEFAULT_LIMITS.file_bytes
    with about(path):
        if is_standard(path):
            data = sys.stdin.buffer.read(limit + 1)
        else:
            with path.open("rb") as file:
                data = file.read(limit + 1)
        if len(data) > limit:
            raise ParseError(f"The file is too large; at most {limit:,} bytes are read.")
    return data


class FileNote(Value, frozen=True, kw_only=True):
    """What became of one field of one file."""

    file: str
    path: str
    outcome: Outcome
    message: str
    is_broken: bool

    def __str__(self) -> str:
        return ": ".join(part for part in (self.file, self.path, self.message) if part)


def file_notes(reports: Iterable[ImportReport]) -> tuple[FileNote, ...]:
    """The notes of reports that say more than that everything was kept."""
    return tuple(
        FileNote(file=report.file, path=note.path, outcome=note.outcome, message=note.message, is_broken=note.is_broken)
        for report in reports
        for note in report.notes
        if note.outcome != "exact"
    )


def read_noted(file: Path, read: Callable[[bytes], tuple[T, ImportReport]], reports: list[ImportReport]) -> T:
    """What a reader makes of a file; its report is added to the others, with the name of the file."""
    data = read_input(file)
    with about(file):
        found, report = read(data)
    reports.append(report.with_(file=display_name(file)))
    return found


def refuse_broken(reports: Iterable[ImportReport]) -> None:
    """Raise BatchError for the files in which something is broken, with every place."""
    errors: list[FileError] = []
    for report in reports:
        try:
            report.with_(file="").refuse_broken()
        except TavernKitError as error:
            errors.append(StrictFileError(report.file, error))
    if errors:
        raise BatchError(errors)


def refuse_two_documents(output: Path | None, *, as_json: bool) -> None:
    """`--json` and `-o -` cannot both have standard output."""
    if as_json and is_standard(output):
        raise UsageError("--json and --output - both write to standard output. Use one of them.")


def check_free(targets: Iterable[Path], *, force: bool) -> None:
    """Refuse to overwrite before any work is done."""
    for target in targets:
        if not force and not is_standard(target) and target.is_file():
            raise FileError(str(target), FileExistsError(errno.EEXIST, "The file exists; use --force to overwrite it"))


def write_output(target: Path, data: bytes, *, force: bool) -> None:
    """Write a file, or standard output for `-`. A reader sees the old file or the new one, never a part of it."""
    if is_standard(target):
        write_bytes(data)
        return
    check_free([target], force=force)
    with about(target):
        # Through a link to the file it names, so that replacing it leaves the link alone.
        place = target.resolve()
        if place.exists() and not place.is_file():
            place.write_bytes(data)  # a device or a pipe, which cannot be replaced
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        _replace(place, data)


def _replace(place: Path, data: bytes) -> None:
    beside = place.with_name(f".tavernkit-{os.getpid()}.tmp")
    try:
        beside.write_bytes(data)
        beside.replace(place)
    finally:
        beside.unlink(missing_ok=True)
