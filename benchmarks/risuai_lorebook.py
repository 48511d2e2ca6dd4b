"""Scanning RisuAI's lorebooks, beside looking for every key in the text one after the other."""

import runpy
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from tavernkit.benchmarks import Benchmark, prepared
from tavernkit.risuai.character import LoreSettings, RisuCharacter
from tavernkit.risuai.chat import RisuChat, RisuMessage
from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.lorebook import LorebookResult, scan
from tavernkit.risuai.scene import RisuScene
from tavernkit.risuai.settings import RisuSettings

WORLD_INFO = runpy.run_path(str(Path(__file__).with_name("world_info.py")))
LOOKING_FOR_EACH: Callable[..., Callable[[], int]] = WORLD_INFO["looking_for_each"]


class QuarterTokens:
    """Four characters are a token; counting is not what is measured."""

    def estimate(self, text: str, model_hint: str | None = None) -> int:
        return len(text) // 4


def workload(size: int, *, recursive: bool) -> RisuScene:
    """The chat and the entries of the benchmark of World Info."""
    same = WORLD_INFO["workload"](size, recursive=recursive)
    lore = tuple(LoreEntry(key=", ".join(entry.keys), content=entry.content) for entry in same.books[0].entries)
    settings = LoreSettings(token_budget=same.budget, scan_depth=len(same.messages), recursive_scanning=recursive)
    return RisuScene(
        character=RisuCharacter(name="Ottoline", id="ottoline", lore=lore, lore_settings=settings),
        chat=RisuChat(messages=[RisuMessage(role="user", data=text) for text in same.messages]),
        settings=RisuSettings(),
        now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        random=lambda: 0.5,
        estimator=QuarterTokens(),
    )


def scanning(size: int, *, recursive: bool = False) -> Callable[[], LorebookResult]:
    return partial(scan, workload(size, recursive=recursive))


def explaining(size: int) -> Callable[[], object]:
    explained = scanning(size)
    return lambda: list(explained().verdicts)


def benchmarks() -> Iterator[Benchmark]:
    for size in (1_000, 10_000):
        for recursive in (False, True):
            yield Benchmark(
                name=f"scan {size:,} entries of RisuAI{', recursive' if recursive else ''}",
                ours=prepared(partial(scanning, size, recursive=recursive)),
                baseline=prepared(partial(LOOKING_FOR_EACH, size, recursive=recursive)),
                note="`key in text` for every key, once",
            )
    yield Benchmark(
        name="scan 10,000 entries of RisuAI beside 1,000",
        ours=prepared(partial(scanning, 10_000)),
        baseline=prepared(partial(scanning, 1_000)),
        note="the same scan of 1,000 entries",
    )
    yield Benchmark(
        name="scan 10,000 entries of RisuAI and ask for every verdict",
        ours=prepared(partial(explaining, 10_000)),
        baseline=prepared(partial(LOOKING_FOR_EACH, 10_000)),
        note="`key in text` for every key, once",
    )
