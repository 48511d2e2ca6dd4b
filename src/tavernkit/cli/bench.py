"""`tavernkit bench`: how fast the library is, beside the plainest way to do the same, and how well it recalls."""

from __future__ import annotations

from typing import Annotated

import typer

from tavernkit.cli.errors import UsageError
from tavernkit.cli.output import JsonOption, Printer, emit, status


def measure(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Parts of benchmark names. Default: all benchmarks."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure the library against baselines.

    Both run together. A ratio of 2 means that the library takes twice the time of the baseline.
    """
    from msgspec import structs

    from tavernkit import benchmarks

    with status("Measuring") as show:
        measurements = benchmarks.run(names or (), on_progress=show)
        evaluations = benchmarks.evaluate(names or (), on_progress=show)
    if not measurements and not evaluations:
        known = ", ".join(
            each.name for load in (benchmarks.load_benchmarks, benchmarks.load_evaluations) for each in load()
        )
        raise UsageError(f"No benchmark has that name. Benchmarks: {known or 'none'}.")
    if as_json:
        emit(
            {
                "benchmarks": [{**structs.asdict(each), "ratio": each.ratio} for each in measurements],
                "evaluations": [{"name": name, "figures": figures} for name, figures in evaluations],
            }
        )
        return
    rows = [
        (each.name, f"{each.ours_ms:.3f}", f"{each.baseline_ms:.3f}", f"{each.ratio:.2f}", each.note)
        for each in measurements
    ]
    if rows:
        Printer().table(("benchmark", "ms", "baseline ms", "ratio", "baseline"), rows)
    if evaluations:
        columns = list(dict.fromkeys(column for _, figures in evaluations for column in figures))
        Printer().table(
            ("evaluation", *columns),
            [(name, *(f"{figures.get(column, 0):.3f}" for column in columns)) for name, figures in evaluations],
        )
