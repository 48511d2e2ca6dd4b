"""What turns texts into vectors, and where vectors are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from tavernkit.memory.lexical import RecallHit

if TYPE_CHECKING:
    import numpy
    import numpy.typing

    Vectors: TypeAlias = numpy.typing.NDArray[numpy.float32]


class Embedder(Protocol):
    """Gives each text a row. Vectors of another model or version are never compared with its own. `knows_words` says
    that a word by itself has a vector at next to no cost."""

    @property
    def model(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def knows_words(self) -> bool: ...

    def embed(self, texts: Sequence[str], *, is_query: bool = False) -> Vectors: ...


class VectorKey(NamedTuple):
    """The hash of a text, and what made its vector."""

    hash: str
    model: str
    version: str


class VectorStore(Protocol):
    """Keeps vectors as float16, little-endian."""

    def read(self, keys: Sequence[VectorKey]) -> Mapping[VectorKey, bytes]: ...

    def write(self, vectors: Mapping[VectorKey, bytes]) -> None: ...


class InMemoryVectors:
    """A `VectorStore` in a dictionary."""

    def __init__(self) -> None:
        self._vectors: dict[VectorKey, bytes] = {}

    def read(self, keys: Sequence[VectorKey]) -> dict[VectorKey, bytes]:
        return {key: self._vectors[key] for key in keys if key in self._vectors}

    def write(self, vectors: Mapping[VectorKey, bytes]) -> None:
        self._vectors.update(vectors)


class DenseIndex(Protocol):
    """Finds items by meaning, best first; `similarity` compares two of them."""

    def search(self, query: str, limit: int) -> Sequence[RecallHit]: ...

    def similarity(self, key: str, other: str) -> float: ...


def embedded_default() -> Embedder | None:
    """The embedder that needs no network, or None when numpy or the package `wordllama` is not installed."""
    try:
        from tavernkit.memory.static_vectors import load_static_embedder
    except ImportError:
        return None
    return load_static_embedder()
