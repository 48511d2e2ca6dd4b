"""Exact search of vectors with numpy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tavernkit.memory.embedders import Embedder, InMemoryVectors, VectorKey, VectorStore
from tavernkit.memory.lexical import RecallHit, stem, words_of
from tavernkit.memory.units import text_hash

if TYPE_CHECKING:
    from tavernkit.memory.embedders import Vectors

_STORED = np.dtype("<f2")


class VectorIndex:
    """A `DenseIndex`. Each line of a text has a vector of its own, and the best of them counts: in an exchange, one
    sentence is what is asked for, and the others are about something else. With an embedder that knows words, half of
    the score says how near the words of the query are to words of the text."""

    def __init__(self, texts: Iterable[tuple[str, str]], embedder: Embedder, store: VectorStore | None = None) -> None:
        given = list(texts)
        self._embedder = embedder
        self._keys = [key for key, _ in given]
        self._places = {key: place for place, key in enumerate(self._keys)}
        self._starts: list[int] = []
        lines: list[str] = []
        for _, text in given:
            self._starts.append(len(lines))
            lines += [line for line in text.split("\n") if line.strip()] or [text]
        self._matrix = normalised(stored_vectors(lines, embedder, store or InMemoryVectors()))
        self._means = normalised(np.add.reduceat(self._matrix, self._starts, axis=0)) if given else self._matrix
        self._words = _NearWords([text for _, text in given], embedder) if embedder.knows_words and given else None

    def search(self, query: str, limit: int) -> list[RecallHit]:
        if not self._keys:
            return []
        asked = normalised(self._embedder.embed([query], is_query=True))[0]
        scores = np.maximum.reduceat(self._matrix @ asked, self._starts)
        if self._words is not None:
            scores = (scores + self._words.scores(query)) / 2
        # Stable, from the newest on: of equals the newer one is first.
        order = len(scores) - 1 - np.argsort(-scores[::-1], kind="stable")[:limit]
        return [RecallHit(self._keys[place], float(scores[place])) for place in order if scores[place] > 0]

    def similarity(self, key: str, other: str) -> float:
        return float(self._means[self._places[key]] @ self._means[self._places[other]])


class _NearWords:
    """How well texts have the words of a query, or words near them in meaning; rare words count for more."""

    LEAST = 0.35
    MOST = 200
    """No more words are near to one."""

    def __init__(self, texts: Sequence[str], embedder: Embedder) -> None:
        self._embedder = embedder
        self._count = len(texts)
        postings: dict[str, list[int]] = {}
        for place, text in enumerate(texts):
            for word in set(words_of(text)):
                postings.setdefault(word, []).append(place)
        words = sorted(postings)
        self._postings = [np.array(postings[word]) for word in words]
        self._vectors = normalised(embedder.embed(words)) if words else np.zeros((0, 1), np.float32)
        self._by_stem: dict[str, list[int]] = {}
        for number, word in enumerate(words):
            self._by_stem.setdefault(stem(word), []).append(number)

    def scores(self, query: str) -> npt.NDArray[np.float32]:
        asked = list(dict.fromkeys(words_of(query)))
        total = np.zeros(self._count, np.float32)
        if not asked or not self._postings:
            return total
        weights = 0.0
        for word, near in zip(asked, normalised(self._embedder.embed(asked)) @ self._vectors.T, strict=True):
            near[self._by_stem.get(stem(word), [])] = 1
            # The nearest last: its text keeps the highest score.
            found = np.flatnonzero(near >= self.LEAST)
            best = np.zeros(self._count, np.float32)
            for number in found[np.argsort(near[found], kind="stable")][-self.MOST :]:
                best[self._postings[number]] = near[number]
            often = float(best.sum())
            weight = math.log(1 + (self._count - often + 0.5) / (often + 0.5))
            total += weight * best
            weights += weight
        return total / max(weights, 1e-9)


def stored_vectors(texts: Sequence[str], embedder: Embedder, store: VectorStore) -> Vectors:
    """The vectors of texts; those that the store does not have are made and kept."""
    keys = [VectorKey(text_hash(text), embedder.model, embedder.version) for text in texts]
    known = dict(store.read(list(dict.fromkeys(keys))))
    missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
    if missing:
        made = embedder.embed(list(missing.values())).astype(_STORED)
        fresh = {key: row.tobytes() for key, row in zip(missing, made, strict=True)}
        store.write(fresh)
        known |= fresh
    if not keys:
        return np.zeros((0, 1), np.float32)
    return np.stack([np.frombuffer(known[key], _STORED) for key in keys]).astype(np.float32)


def normalised(vectors: Vectors) -> Vectors:
    """Rows of length 1; a row of zeros stays one, and resembles nothing."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
