"""A whole build with nobody watching, beside the same stages in a bare loop that cannot be watched."""

from collections.abc import Callable, Iterator
from typing import Any

from tavernkit import Book, Context, Entry, build, example, plain_pipeline
from tavernkit.benchmarks import Benchmark, prepared
from tavernkit.prompt.finishing import write_plan

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
    return write_plan(ctx)


def with_lore() -> Callable[[], object]:
    """A build with a large book that the process has scanned before; a few of its entries are activated."""
    entries = [
        Entry(id=str(number), keys=(f"key{number}", f"word{number}", f"name{number}"), content=f"Entry {number}.")
        for number in range(10_000)
    ]
    inputs = {**INPUTS, "books": [Book(entries=tuple(entries))], "message": "What of key17, word4711 and name9999?"}
    build(**inputs)
    return lambda: build(**inputs).plan


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
    yield Benchmark(
        name="build with 10,000 lore entries, seen",
        ours=prepared(with_lore),
        baseline=lambda: build(**INPUTS).plan,
        note="the same build without lore",
    )
