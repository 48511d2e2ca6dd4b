"""Recall over 10,000 exchanges, beside one bare query of the index of words; and how often recall finds an answer."""

import random
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from time import perf_counter

from tavernkit.benchmarks import Benchmark, Evaluation, prepared
from tavernkit.memory import Bm25Index, MemoryItem, RecallIndex, embedded_default, index_texts, recall
from tavernkit.memory.dense import VectorIndex
from tavernkit.memory.evaluation import RecallFigures, evaluate, read_authored_story

ITEMS = 10_000
BESIDE = Path(__file__).with_name("memory_story")
STORY = BESIDE if BESIDE.is_dir() else Path(__file__).parents[1] / "tests" / "memory"
METHODS = ("hybrid", "words only", "vectors only", "SillyTavern's rule", "HypaV3, selection", "HypaV3, similar alone")


@cache
def queries() -> list[str]:
    return [question.text for question in read_authored_story(STORY, "Wren").questions]


@cache
def items() -> list[MemoryItem]:
    """Sentences of the story in new combinations, each with a name of its own."""
    chance = random.Random(27)
    sentences = [message.transcript for message in read_authored_story(STORY, "Wren").messages]
    return [
        MemoryItem(
            key=str(number),
            layer="exchange",
            first=number,
            last=number,
            ids=(str(number),),
            text="\n".join(chance.choices(sentences, k=4)) + f" Name{number}",
        )
        for number in range(ITEMS)
    ]


def percentile(call: Callable[[str], object]) -> float:
    """The time that 95 of 100 queries stay below."""
    times: list[float] = []
    for query in queries():
        began = perf_counter()
        call(query)
        times.append(perf_counter() - began)
    return sorted(times)[int(len(times) * 0.95)]


def recalling(*, by_meaning: bool) -> Callable[[], object]:
    found, embedder = items(), embedded_default()
    dense = VectorIndex(index_texts(found), embedder) if by_meaning and embedder is not None else None
    index = RecallIndex(found, dense)
    return partial(percentile, lambda query: recall(index, query, budget=2000, count=lambda text: len(text) // 4))


def bare_query() -> Callable[[], object]:
    index = Bm25Index(index_texts(items()))
    return partial(percentile, lambda query: index.search(query, 200))


def benchmarks() -> Iterator[Benchmark]:
    for name, by_meaning in (("words", False), ("words and meaning", True)):
        yield Benchmark(
            name=f"memory recall of 10,000 by {name}, p95",
            ours=prepared(partial(recalling, by_meaning=by_meaning)),
            baseline=prepared(bare_query),
            note="one bare query of the index of words",
            rounds=3,
            times_itself=True,
        )


@cache
def figures() -> Mapping[str, RecallFigures]:
    return {one.method: one for one in evaluate(read_authored_story(STORY, "Wren"), embedded_default())}


def measured(method: str) -> Mapping[str, float]:
    found = figures().get(method)
    return {} if found is None else {"all": found.total, "tuned": found.tuned, "unseen": found.unseen, **found.kinds}


def evaluations() -> Iterator[Evaluation]:
    for method in METHODS:
        yield Evaluation(name=f"memory recall@8, {method}", measure=partial(measured, method))
