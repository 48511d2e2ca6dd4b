"""Scanning lorebooks, beside looking for every key in the text one after the other."""

import random
from collections.abc import Callable, Iterator
from functools import partial

from tavernkit import Book, Entry
from tavernkit.benchmarks import Benchmark, prepared
from tavernkit.sillytavern.world_info import WorldInfo, WorldInfoInput, WorldInfoResult, WorldInfoSettings

MESSAGES = 50
CHARACTERS = 280
KEYS = 3
SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "or", "il")]


def words(source: random.Random, count: int) -> list[str]:
    made: dict[str, None] = {}
    while len(made) < count:
        made["".join(source.choices(SYLLABLES, k=4))] = None
    return list(made)


def workload(size: int, *, recursive: bool) -> WorldInfoInput:
    """`size` entries of three keys, of which one in a hundred is said in fifty messages. Where the scan is recursive,
    each of these calls another, which calls a third, which calls a fourth."""
    source = random.Random(size)
    keys = words(source, size * KEYS)
    said = keys[: size // 100 * KEYS : KEYS]
    filler = words(random.Random(1), 400)
    texts: list[str] = []
    for number in range(MESSAGES):
        line = [*said[number::MESSAGES]]
        while sum(len(word) + 1 for word in line) < CHARACTERS:
            line.append(source.choice(filler))
        source.shuffle(line)
        texts.append(" ".join(line)[: max(CHARACTERS, sum(len(word) + 1 for word in said[number::MESSAGES]))])
    calls = {number: keys[(number + size // 100) * KEYS] for number in range(3 * size // 100)} if recursive else {}
    entries = [
        Entry(
            id=str(number),
            keys=tuple(keys[number * KEYS : (number + 1) * KEYS]),
            content=f"Entry {number} speaks of {calls.get(number, 'nothing else')}.",
        )
        for number in range(size)
    ]
    return WorldInfoInput(
        messages=tuple(texts),
        books=(Book(name="Lore", entries=tuple(entries)),),
        settings=WorldInfoSettings(depth=MESSAGES, recursive=recursive),
        budget=1_000_000,
        count_tokens=lambda text: len(text) // 4,
        random=lambda: 0.5,
    )


def looking_for_each(size: int, *, recursive: bool = False) -> Callable[[], int]:
    return partial(one_by_one, workload(size, recursive=recursive))


def one_by_one(scan_input: WorldInfoInput) -> int:
    text = "\n".join(scan_input.messages).lower()
    return sum(key in text for entry in scan_input.books[0].entries for key in entry.keys)


def scanning(size: int, *, recursive: bool = False) -> Callable[[], WorldInfoResult]:
    return partial(WorldInfo().scan, workload(size, recursive=recursive))


def explaining(size: int) -> Callable[[], object]:
    explained = scanning(size)
    return lambda: list(explained().verdicts)


def benchmarks() -> Iterator[Benchmark]:
    for size in (100, 1_000, 10_000):
        for recursive in (False, True):
            yield Benchmark(
                name=f"scan {size:,} entries{', recursive' if recursive else ''}",
                ours=prepared(partial(scanning, size, recursive=recursive)),
                baseline=prepared(partial(looking_for_each, size, recursive=recursive)),
                note="`key in text` for every key, once",
            )
    yield Benchmark(
        name="scan 10,000 entries beside 1,000",
        ours=prepared(partial(scanning, 10_000)),
        baseline=prepared(partial(scanning, 1_000)),
        note="the same scan of 1,000 entries",
    )
    yield Benchmark(
        name="scan 10,000 entries and ask for every verdict",
        ours=prepared(partial(explaining, 10_000)),
        baseline=prepared(partial(looking_for_each, 10_000)),
        note="`key in text` for every key, once",
    )
