"""A turn of a chat by RisuAI's rules that can be explained, beside the same turn without a trace."""

import random
from collections.abc import Iterator
from functools import partial
from typing import Any

from tavernkit import Message, example
from tavernkit.benchmarks import Benchmark
from tavernkit.risuai import RisuSettings, build

LINES = (
    "The lamp is lit, {{user}}, and the ledger lies open on the counter where {{char}} left it.",
    "*nods* Then read me the line about the ferry, and the one below it, as slowly as you like.",
)
INPUTS: dict[str, Any] = {
    "character": example.character(),
    "user": example.user(),
    "history": [
        Message(role="user" if number % 2 else "assistant", content=f"{number}. {LINES[number % 2]}")
        for number in range(120)
    ],
    "message": "What does the ledger say?",
    "preset": RisuSettings(main_prompt="Write as {{char}} would.", global_note="Be brief.", max_context=8_000),
}


def turn(*, trace: bool) -> object:
    return build(rng=random.Random(0), trace=trace, **INPUTS).plan


def benchmarks() -> Iterator[Benchmark]:
    yield Benchmark(
        name="risuai, 8k, traced",
        ours=partial(turn, trace=True),
        baseline=partial(turn, trace=False),
        note="the same turn without a trace",
    )
