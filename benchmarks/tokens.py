"""Counting one megabyte of chat, beside tiktoken encoding the same text."""

import random
from collections.abc import Iterator

from tavernkit.benchmarks import Benchmark
from tavernkit.prompt.tokens import ModelTokenEstimator
from tavernkit.prompt.tokens.encoding import load_vocabulary_encoding

MODEL = "gpt-4o"
PHRASES = [
    "the lamp turned,",
    "Mira's keeper",
    "said nothing;",
    "Zed (wet, 31 years old)",
    "laughed!",
    '"No."\n',
    "灯台",
    "…",
]


def benchmarks() -> Iterator[Benchmark]:
    chance = random.Random(1)
    text = " ".join(chance.choice(PHRASES) for _ in range(100_000))[:1_000_000]
    plain = load_vocabulary_encoding("o200k_base").encoding
    warm = ModelTokenEstimator()
    messages = [text[start : start + 500] for start in range(0, len(text), 500)]

    def encode() -> int:
        return len(plain.encode_ordinary(text))

    def encode_messages() -> int:
        return sum(len(plain.encode_ordinary(message)) for message in messages)

    def count_cold() -> int:
        return ModelTokenEstimator().estimate(text, MODEL)

    def count_warm() -> int:
        return warm.estimate(text, MODEL)

    def count_messages_warm() -> int:
        return sum(warm.estimate(message, MODEL) for message in messages)

    yield Benchmark(name="tokens 1 MB cold", ours=count_cold, baseline=encode, note="tiktoken encode_ordinary")
    yield Benchmark(name="tokens 1 MB warm", ours=count_warm, baseline=encode, note="tiktoken encode_ordinary")
    yield Benchmark(
        name="tokens 1 MB warm, 2000 messages",
        ours=count_messages_warm,
        baseline=encode_messages,
        note="tiktoken encode_ordinary",
    )
