"""Expanding CBS, beside one pass of a regular expression that looks names up in a dictionary."""

import itertools
import re
from collections.abc import Iterator
from datetime import UTC, datetime

from tavernkit.benchmarks import Benchmark
from tavernkit.risuai.cbs import CBS, CBSEnvironment
from tavernkit.risuai.character import RisuCharacter
from tavernkit.risuai.chat import RisuChat
from tavernkit.risuai.scene import RisuScene
from tavernkit.risuai.settings import RisuSettings

VALUES = {"user": "Robin", "char": "Mira", "getvar::mood": "calm", "br": "\n", "blank": ""}
NAMES = re.compile(r"\{\{([^{}]*)\}\}")
WORDS = "The lamp is lit and the tide is out of sight. "
MACROS_IN_BLOCKS = 25
BLOCKS = ("#when::1", "#when::var::lit", "#if 1", "#when::calm::is::calm", "#if_pure true")


def pieces(size: int, macros: int) -> list[str]:
    calls = itertools.cycle(f"{{{{{name}}}}}" for name in VALUES)
    words = (WORDS * (size // macros // len(WORDS) + 1))[: size // macros - 10]
    return [words + next(calls) for _ in range(macros)]


def in_blocks(size: int, macros: int) -> str:
    parts = pieces(size, macros)
    opened = "".join(f"{{{{{block}}}}}" for block in BLOCKS)
    closed = "{{/}}" * len(BLOCKS)
    groups = ("".join(parts[start : start + MACROS_IN_BLOCKS]) for start in range(0, macros, MACROS_IN_BLOCKS))
    return "\n".join(f"{opened}{group}{closed}" for group in groups)


def plain(text: str) -> str:
    return NAMES.sub(lambda match: VALUES.get(match[1], ""), text)


def scene() -> RisuScene:
    made = RisuScene(
        character=RisuCharacter(name="Mira"),
        chat=RisuChat(),
        settings=RisuSettings(),
        now=lambda: datetime(2025, 3, 9, tzinfo=UTC),
        random=lambda: 0.5,
        user_name="Robin",
    )
    made.variables.set("mood", VALUES["getvar::mood"])
    made.variables.set("lit", "1")
    return made


def benchmarks() -> Iterator[Benchmark]:
    environment = CBSEnvironment(scene())
    for label, text in (
        ("100 KB, 2,500 macros", "".join(pieces(100_000, 2_500))),
        ("100 KB, 2,500 macros in blocks five deep", in_blocks(100_000, 2_500)),
    ):
        engine = CBS()
        fresh = (f"{text}{number}" for number in itertools.count())
        yield Benchmark(
            name=f"cbs {label}, seen",
            ours=lambda engine=engine, text=text: engine.expand(text, environment),
            baseline=lambda text=text: plain(text),
            note="one re.sub with a dictionary",
        )
        yield Benchmark(
            name=f"cbs {label}, unseen",
            ours=lambda engine=engine, fresh=fresh: engine.expand(next(fresh), environment),
            baseline=lambda text=text: plain(text),
            note="one re.sub with a dictionary",
        )
