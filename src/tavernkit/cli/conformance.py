"""`tavernkit conformance`: replay recorded cases and count what agrees."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tavernkit.cli.errors import BatchError
from tavernkit.cli.output import JsonOption, Printer, emit, progress


def replay(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH", help="Files of recorded cases, or folders of them; - reads standard input."),
    ],
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=0, help="How many mismatches to show for each file.")
    ] = 5,
    as_json: JsonOption = False,
) -> None:
    """Replay recorded cases through the library. In a folder, files that cannot be replayed are skipped and counted."""
    from tavernkit.cli.replaying import collect, document, print_results, replay_all

    collected = collect(paths)
    total = sum(len(found.vectors.raw_cases) for found in collected.files)
    with progress("Replaying", total) as advance:
        outcome = replay_all(collected, advance)
    if as_json:
        emit(document(outcome, limit))
    else:
        print_results(Printer(), outcome, limit)
    if outcome.errors:
        raise BatchError(outcome.errors)
    if any(result.failures for _, result in outcome.results):
        raise typer.Exit(1)
