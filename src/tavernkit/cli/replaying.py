"""Finding files of recorded cases, replaying them, and saying how they went."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tavernkit.cli.errors import FileError, display_name, explain
from tavernkit.cli.files import is_standard, read_input
from tavernkit.cli.output import Printer
from tavernkit.cli.terminal import shorten
from tavernkit.conformance import CaseFailure, FileResult, VectorFile, can_replay, read_vectors, run_file
from tavernkit.errors import ParseError
from tavernkit.reading import parse_json
from tavernkit.values import Json

SHOWN_WIDTH = 100


class CaseFile(NamedTuple):
    """A file of cases under the name it was given by."""

    name: str
    vectors: VectorFile


class Skipped(NamedTuple):
    """A file that lay in a folder and is not for us."""

    name: str
    reason: str


class Collected(NamedTuple):
    """What the paths on the command line lead to."""

    files: list[CaseFile]
    skipped: list[Skipped]
    errors: list[FileError | ParseError]


class ReplayOutcome(NamedTuple):
    """How everything went."""

    results: list[tuple[str, FileResult]]
    skipped: list[Skipped]
    errors: list[FileError | ParseError]


def collect(paths: Sequence[Path]) -> Collected:
    """Read every file that is named, and every file in a folder that holds recorded cases."""
    collected = Collected([], [], [])
    for path in paths:
        if path.is_dir():
            files = sorted(path.rglob("*.json"))
            if not files:
                collected.errors.append(ParseError(f"{path}: There is no JSON file in this folder."))
            for file in files:
                _collect(file, collected, in_folder=True)
        else:
            _collect(path, collected, in_folder=False)
    return collected


def _collect(path: Path, collected: Collected, *, in_folder: bool) -> None:
    name = display_name(path)
    try:
        vectors = _read(path)
    except (FileError, ParseError) as error:
        if in_folder and _is_json(path):
            collected.skipped.append(Skipped(name, "not a file of recorded cases"))
        else:
            collected.errors.append(error)
        return
    if in_folder and not can_replay(vectors):
        reason = f"no way to replay {vectors.application}/{vectors.group}"
        collected.skipped.append(Skipped(name, reason))
    else:
        collected.files.append(CaseFile(name, vectors))


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


def replay_all(collected: Collected, on_case: Callable[[], None]) -> ReplayOutcome:
    """Replay every file; one that cannot be replayed is an error, and the others go on."""
    results = []
    errors = list(collected.errors)
    for found in collected.files:
        try:
            results.append((found.name, run_file(found.vectors, on_case)))
        except ParseError as error:
            errors.append(error)
    return ReplayOutcome(results, collected.skipped, errors)


def document(outcome: ReplayOutcome, limit: int) -> Json:
    """Everything as one JSON document."""
    return {
        "passed": sum(result.passed for _, result in outcome.results),
        "total": sum(result.total for _, result in outcome.results),
        "files": [
            {"file": name, "passed": result.passed, "total": result.total, "mismatches": result.failures[:limit]}
            for name, result in outcome.results
        ],
        "skipped": [{"file": name, "reason": reason} for name, reason in outcome.skipped],
        "errors": [explain(error) for error in outcome.errors],
    }


def print_results(printer: Printer, outcome: ReplayOutcome, limit: int) -> None:
    for name, result in outcome.results:
        printer.line(f"{name} {result.passed}/{result.total}", style="red" if result.failures else "green")
        for failure in result.failures[:limit]:
            _print_mismatch(printer, failure)
        if len(result.failures) > limit:
            printer.line(f"  and {len(result.failures) - limit} more")
    for name, reason in outcome.skipped:
        printer.line(f"{name} skipped: {reason}", style="yellow")
    if len(outcome.results) + len(outcome.skipped) != 1:
        passed = sum(result.passed for _, result in outcome.results)
        total = sum(result.total for _, result in outcome.results)
        skipped = f"; {len(outcome.skipped)} files skipped" if outcome.skipped else ""
        printer.line(f"{passed} of {total} cases agree in {len(outcome.results)} files{skipped}")


def _print_mismatch(printer: Printer, failure: CaseFailure) -> None:
    printer.line(f"  {failure.id}" + (f" at {failure.path}" if failure.path else ""))
    printer.line(f"    expected {_shown(failure.expected)}")
    printer.line(f"    actual   {_shown(failure.actual)}")


def _shown(value: Json) -> str:
    return shorten(json.dumps(value, ensure_ascii=False, default=str), SHOWN_WIDTH)
