"""Trimming a long chat, beside the least that any trimming must do: count every block once."""

from collections.abc import Iterator

from tavernkit import Block, Trimmer
from tavernkit.benchmarks import Benchmark

BLOCKS = [
    Block(
        id=f"b{n}",
        role="user" if n % 2 else "assistant",
        content=f"Line {n} of a long conversation that does not fit into the window.",
        token_budget_group=("examples", "lore", "history")[n % 3] if n < 600 else "history",
        bundle=f"d{n // 4}" if n < 400 else None,
        priority=n % 17,
    )
    for n in range(5000)
]


class Letters:
    def estimate(self, text: str, model_hint: str | None = None) -> int:
        return len(text) // 4


def benchmarks() -> Iterator[Benchmark]:
    estimator = Letters()
    budget = sum(estimator.estimate(block.content) for block in BLOCKS) // 2

    def count_only() -> int:
        return sum(estimator.estimate(block.to_message().content) for block in BLOCKS)

    for strategy in ("group_order", "priority"):
        trimmer = Trimmer(strategy)
        yield Benchmark(
            name=f"trim 5,000 blocks, {strategy}",
            ours=lambda trimmer=trimmer: trimmer.trim(BLOCKS, budget=budget, estimator=estimator),
            baseline=count_only,
            note="counting the same blocks, nothing else",
        )
