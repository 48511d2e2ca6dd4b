"""A whole build with nobody watching, beside the same stages in a bare loop that cannot be watched."""

from collections.abc import Iterator
from typing import Any

from tavernkit import Context, build, example, plain_pipeline
from tavernkit.benchmarks import Benchmark

INPUTS: dict[str, Any] = {
    "character": example.character(),
    "user": example.user(),
    "history": [*example.history()] * 20,
    "message": "What does the ledger say?",
}


class Unwatched(Context):
    """A context whose observability is cut out."""

    def instrument(self, event: Any, /, lazy: Any = None, **payload: Any) -> None:
        return None

    def stat(self, key: str, value: object) -> None:
        return None


def bare_loop() -> object:
    ctx = Unwatched(**INPUTS)
    for name, stage in plain_pipeline():
        ctx.current_stage = name
        stage(ctx)
    return ctx.plan


def benchmarks() -> Iterator[Benchmark]:
    yield Benchmark(
        name="build, observability off",
        ours=lambda: build(**INPUTS).plan,
        baseline=bare_loop,
        note="the same stages in a bare loop",
    )
    yield Benchmark(
        name="build, traced",
        ours=lambda: build(trace=True, **INPUTS).plan,
        baseline=lambda: build(**INPUTS).plan,
        note="the same build without a trace",
    )
