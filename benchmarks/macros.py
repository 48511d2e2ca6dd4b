"""Expanding macros, beside one pass of a regular expression that looks names up in a dictionary."""

import itertools
import re
from collections.abc import Iterator

from tavernkit.benchmarks import Benchmark
from tavernkit.sillytavern.macros import Environment, macro_engine

VALUES = {"user": "Robin", "char": "Mira", "persona": "Robin repairs pianos.", "newline": "\n", "noop": ""}
NAMES = re.compile(r"\{\{(\w+)\}\}")
WORDS = "The lamp is lit and the tide is out of sight. "


def template(size: int, macros: int) -> str:
    calls = itertools.cycle(f"{{{{{name}}}}}" for name in VALUES)
    piece = (WORDS * (size // macros // len(WORDS) + 1))[: size // macros - 8]
    return "".join(piece + next(calls) for _ in range(macros))


def benchmarks() -> Iterator[Benchmark]:
    environment = Environment(user_name="Robin", character_name="Mira", persona="Robin repairs pianos.")
    for label, size, macros in (("2 KB, 50 macros", 2_000, 50), ("100 KB, 2,500 macros", 100_000, 2_500)):
        text = template(size, macros)
        engine = macro_engine("1.19")
        fresh = (f"{text}{number}" for number in itertools.count())

        def plain(text: str = text) -> str:
            return NAMES.sub(lambda match: VALUES[match.group(1)], text)

        yield Benchmark(
            name=f"macros {label}, seen",
            ours=lambda engine=engine, text=text: engine.expand(text, environment),
            baseline=plain,
            note="one re.sub with a dictionary",
        )
        yield Benchmark(
            name=f"macros {label}, unseen",
            ours=lambda engine=engine, fresh=fresh: engine.expand(next(fresh), environment),
            baseline=plain,
            note="one re.sub with a dictionary",
        )
