"""Scanning RisuAI's lorebooks, beside looking for every key in the text one after the other."""

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial

from tavernkit.benchmarks import Benchmark
from tavernkit.risuai.character import LoreSettings, RisuCharacter
from tavernkit.risuai.chat import Chat, ChatMessage
from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.lorebook import LorebookResult, scan
from tavernkit.risuai.scene import Scene
from tavernkit.risuai.settings import Settings

MESSAGES = 50
CHARACTERS = 280
KEYS = 3
SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "or", "il")]


class QuarterTokens:
    """Four characters are a token; counting is not what is measured."""

    def estimate(self, text: str, model_hint: str | None = None) -> int:
        return len(text) // 4


def words(source: random.Random, count: int) -> list[str]:
    made: dict[str, None] = {}
    while len(made) < count:
        made["".join(source.choices(SYLLABLES, k=4))] = None
    return list(made)


def workload(size: int, *, recursive: bool) -> Scene:
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
    lore = tuple(
        LoreEntry(
            key=", ".join(keys[number * KEYS : (number + 1) * KEYS]),
            content=f"Entry {number} speaks of {calls.get(number, 'nothing else')}.",
        )
        for number in range(size)
    )
    settings = LoreSettings(token_budget=1_000_000, scan_depth=MESSAGES, recursive_scanning=recursive)
    return Scene(
        character=RisuCharacter(name="Ottoline", id="ottoline", lore=lore, lore_settings=settings),
        chat=Chat(messages=[ChatMessage(role="user", data=text) for text in texts]),
        settings=Settings(),
        now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        random=lambda: 0.5,
        estimator=QuarterTokens(),
    )


def one_by_one(text: str, keys: list[str]) -> int:
    return sum(key in text for key in keys)


def looking_for_each(scene: Scene) -> Callable[[], int]:
    text = "\n".join(message.data for message in scene.chat.messages).lower()
    return partial(one_by_one, text, [key for entry in scene.lore() for key in entry.key.split(", ")])


def scanning(size: int, *, recursive: bool = False) -> Callable[[], LorebookResult]:
    return partial(scan, workload(size, recursive=recursive))


def benchmarks() -> Iterator[Benchmark]:
    for size in (1_000, 10_000):
        for recursive in (False, True):
            yield Benchmark(
                name=f"scan {size:,} entries of RisuAI{', recursive' if recursive else ''}",
                ours=scanning(size, recursive=recursive),
                baseline=looking_for_each(workload(size, recursive=recursive)),
                note="`key in text` for every key, once",
            )
    yield Benchmark(
        name="scan 10,000 entries of RisuAI beside 1,000",
        ours=scanning(10_000),
        baseline=scanning(1_000),
        note="the same scan of 1,000 entries",
    )
    explained = scanning(10_000)
    yield Benchmark(
        name="scan 10,000 entries of RisuAI and ask for every verdict",
        ours=lambda: list(explained().verdicts),
        baseline=looking_for_each(workload(10_000, recursive=False)),
        note="`key in text` for every key, once",
    )
