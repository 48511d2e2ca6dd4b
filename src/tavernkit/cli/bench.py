"""`tavernkit bench`: how fast the library is, beside the plainest way to do the same."""

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
    if not measurements:
        known = ", ".join(benchmark.name for benchmark in benchmarks.load_benchmarks())
        raise UsageError(f"No benchmark has that name. Benchmarks: {known or 'none'}.")
    if as_json:
        emit({"benchmarks": [{**structs.asdict(each), "ratio": each.ratio} for each in measurements]})
        return
    rows = [
        (each.name, f"{each.ours_ms:.3f}", f"{each.baseline_ms:.3f}", f"{each.ratio:.2f}", each.note)
        for each in measurements
    ]
    Printer().table(("benchmark", "ms", "baseline ms", "ratio", "baseline"), rows)
