"""Search by meaning: vectors by hash, model and version, and the embedder that needs no network."""

import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.memory import InMemoryVectors, MemoryItem, RecallIndex, embedded_default, index_texts
from tavernkit.memory.dense import VectorIndex, stored_vectors


class LetterEmbedder:
    """Counts letters; `asked` is every text that was embedded."""

    knows_words = False

    def __init__(self, model: str = "letters", version: str = "1") -> None:
        self.model, self.version = model, version
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str], *, is_query: bool = False) -> npt.NDArray[np.float32]:
        self.asked += texts
        return np.array([[text.count(letter) for letter in "abcdef"] for text in texts], np.float32)


def test_m14_a_text_is_embedded_once_per_model_and_version() -> None:
    store, first, second = InMemoryVectors(), LetterEmbedder(), LetterEmbedder(version="2")
    for embedder in (first, first, second):
        stored_vectors(["abc", "def", "abc"], embedder, store)
    assert first.asked == second.asked == ["abc", "def"]


def test_m14_vectors_of_another_model_are_never_used() -> None:
    class Other(LetterEmbedder):
        def embed(self, texts: Sequence[str], *, is_query: bool = False) -> npt.NDArray[np.float32]:
            return np.ones((len(texts), 3), np.float32)

    store = InMemoryVectors()
    stored_vectors(["abc"], Other("other"), store)
    assert stored_vectors(["abc"], LetterEmbedder(), store).tolist() == [[1, 1, 1, 0, 0, 0]]


def test_m14_vectors_are_stored_as_float16_and_searched_as_float32() -> None:
    class Writing(InMemoryVectors):
        sizes: list[int] = []

        def write(self, vectors: dict) -> None:  # type: ignore[type-arg, override]
            self.sizes += map(len, vectors.values())
            super().write(vectors)

    store = Writing()
    assert stored_vectors(["abc"], LetterEmbedder(), store).dtype == np.float32
    assert store.sizes == [12]


def test_the_line_that_is_most_alike_counts() -> None:
    index = VectorIndex([("one", "aaa\nbbb"), ("two", "ab"), ("three", "")], LetterEmbedder())
    assert [hit.key for hit in index.search("b", 8)] == ["one", "two"]


def test_an_index_without_texts_finds_nothing() -> None:
    assert VectorIndex([], LetterEmbedder()).search("a", 8) == []


@pytest.mark.parametrize(
    ("query", "wanted", "other"),
    [
        ("Which bird was it?", "The parrot sat on the bar.", "They repaired the engine in the rain."),
        ("a sick woman", "She lay in bed with a fever.", "The auction began at noon."),
        ("дом у моря", "маленький домик на берегу моря", "счёт за уголь"),
    ],
)
def test_the_embedded_default_finds_paraphrases(query: str, wanted: str, other: str) -> None:
    embedder = embedded_default()
    assert embedder is not None
    hits = VectorIndex([("other", other), ("wanted", wanted)], embedder).search(query, 2)
    assert hits[0].key == "wanted"


@given(st.lists(st.text(max_size=30), max_size=5), st.text(max_size=30))
def test_m7_no_text_raises_in_a_search_by_meaning(texts: list[str], query: str) -> None:
    embedder = embedded_default()
    assert embedder is not None
    items = [
        MemoryItem(key=str(place), layer="exchange", first=place, last=place, ids=(str(place),), text=text)
        for place, text in enumerate(texts)
    ]
    ranked = RecallIndex(items, VectorIndex(index_texts(items), embedder)).rank(query)
    assert all(np.isfinite(one.score) for one in ranked.found)


@pytest.mark.parametrize("missing", ["numpy", "wordllama"])
def test_m6_without_numpy_or_the_word_vectors_there_is_no_embedder_and_no_error(missing: str) -> None:
    program = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from tavernkit.memory import RecallIndex, StoryMessage, embedded_default, exchanges, recall\n"
        "index = RecallIndex(exchanges([StoryMessage(id='1', text='a silver key')]))\n"
        "print(embedded_default(), bool(recall(index, 'key', budget=99, count=len).text))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "None True\n"
