"""`tavernkit conformance`: replay recorded cases and count what agrees."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from tavernkit.cli.errors import BatchError, FileError, display_name, explain
from tavernkit.cli.files import is_standard, read_input
from tavernkit.cli.output import JsonOption, Printer, present, progress, shorten
from tavernkit.conformance import CaseFailure, FileResult, VectorFile, can_replay, read_vectors, run_file
from tavernkit.errors import ParseError
from tavernkit.reading import parse_json
from tavernkit.values import Json

SHOWN_WIDTH = 100


@dataclass
class Replay:
    """What the paths on the command line lead to, each file under the name it was given by, and how everything went."""

    files: list[tuple[str, VectorFile]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    errors: list[FileError | ParseError] = field(default_factory=list)
    results: list[tuple[str, FileResult]] = field(default_factory=list)

    @property
    def passed(self) -> int:
        return sum(result.passed for _, result in self.results)

    @property
    def total(self) -> int:
        return sum(result.total for _, result in self.results)


def replay(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH", help="Files of recorded cases, or folders of them; - reads standard input."),
    ],
    limit: Annotated[int, typer.Option(metavar="N", min=0, help="How many mismatches to show for each file.")] = 5,
    as_json: JsonOption = False,
) -> None:
    """Replay recorded cases through the library. Files in a folder that cannot be replayed are skipped."""
    done = _collect(paths)
    with progress("Replaying", sum(len(vectors.raw_cases) for _, vectors in done.files)) as advance:
        for name, vectors in done.files:
            try:
                done.results.append((name, run_file(vectors, advance)))
            except ParseError as error:
                done.errors.append(error)
    present(_document(done, limit), lambda printer: _print(printer, done, limit), as_json=as_json)
    if done.errors:
        raise BatchError(done.errors)
    if any(result.failures for _, result in done.results):
        raise typer.Exit(1)


def _collect(paths: Sequence[Path]) -> Replay:
    """Read every file that is named, and every file in a folder that holds recorded cases."""
    found = Replay()
    for path in paths:
        if path.is_dir():
            files = sorted(path.rglob("*.json"))
            if not files:
                found.errors.append(ParseError(f"{path}: The folder contains no JSON file."))
            for file in files:
                _collect_file(file, found, in_folder=True)
        else:
            _collect_file(path, found, in_folder=False)
    return found


def _collect_file(path: Path, found: Replay, *, in_folder: bool) -> None:
    name = display_name(path)
    try:
        vectors = _read(path)
    except (FileError, ParseError) as error:
        if in_folder and _is_json(path):
            found.skipped.append((name, "not a file of recorded cases"))
        else:
            found.errors.append(error)
        return
    if in_folder and not can_replay(vectors):
        found.skipped.append((name, f"no way to replay {vectors.application}/{vectors.group}"))
    else:
        found.files.append((name, vectors))


def _read(path: Path) -> VectorFile:
    if not is_standard(path):
        return read_vectors(path)
    with TemporaryDirectory() as folder:
        copy = Path(folder) / display_name(path)
        copy.write_bytes(read_input(path))
        return read_vectors(copy)


def _is_json(path: Path) -> bool:
    """Tells a file that was written for something else from one that is damaged."""
    try:
        parse_json(read_input(path), what=path.name)
    except (FileError, ParseError):
        return False
    return True


def _document(done: Replay, limit: int) -> Json:
    return {
        "passed": done.passed,
        "total": done.total,
        "files": [
            {"file": name, "passed": result.passed, "total": result.total, "mismatches": result.failures[:limit]}
            for name, result in done.results
        ],
        "skipped": [{"file": name, "reason": reason} for name, reason in done.skipped],
        "errors": [explain(error) for error in done.errors],
    }


def _print(printer: Printer, done: Replay, limit: int) -> None:
    for name, result in done.results:
        printer.line(f"{name} {result.passed}/{result.total}", style="red" if result.failures else "green")
        for failure in result.failures[:limit]:
            _print_mismatch(printer, failure)
        if len(result.failures) > limit:
            printer.line(f"  and {len(result.failures) - limit} more")
    for name, reason in done.skipped:
        printer.line(f"{name} skipped: {reason}", style="yellow")
    if len(done.results) + len(done.skipped) != 1:
        skipped = f"; {len(done.skipped)} files skipped" if done.skipped else ""
        printer.line(f"{done.passed} of {done.total} cases agree in {len(done.results)} files{skipped}")


def _print_mismatch(printer: Printer, failure: CaseFailure) -> None:
    printer.line(f"  {failure.id}" + (f" at {failure.path}" if failure.path else ""))
    printer.line(f"    expected {_shown(failure.expected)}")
    printer.line(f"    actual   {_shown(failure.actual)}")


def _shown(value: Json) -> str:
    return shorten(json.dumps(value, ensure_ascii=False, default=str), SHOWN_WIDTH)
