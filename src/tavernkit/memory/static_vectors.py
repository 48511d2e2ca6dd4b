"""The embedder that needs no network: the mean of one vector per token, from the package `wordllama`.

Its files are read without importing it, so that what it depends on need not be installed.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import kitoken
import msgspec
import numpy as np

from tavernkit.text.js_strings import well_formed

if TYPE_CHECKING:
    from tavernkit.memory.embedders import Vectors

PACKAGE = "wordllama"
WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
LONGEST_TEXT = 8_000


class _Tensor(msgspec.Struct):
    dtype: str
    shape: tuple[int, int]
    data_offsets: tuple[int, int]


class StaticEmbedder:
    """An `Embedder`. It knows no order of words and no negation: a second opinion beside the words themselves."""

    model = "wordllama-l2-supercat-256"
    knows_words = True

    def __init__(self, weights: Vectors, tokenizer: kitoken.Kitoken, version: str) -> None:
        self.version = version
        self._weights = weights
        self._tokenizer = tokenizer

    def embed(self, texts: Sequence[str], *, is_query: bool = False) -> Vectors:  # noqa: ARG002 - the same for both
        rows = np.zeros((len(texts), self._weights.shape[1]), np.float32)
        for row, text in zip(rows, texts, strict=True):
            tokens = self._tokenizer.encode(well_formed(text[:LONGEST_TEXT]), False)
            if tokens:
                row[:] = self._weights[tokens].mean(axis=0)
        return rows


def load_static_embedder() -> StaticEmbedder | None:
    """The embedder, or None when the package is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations if spec is not None else None) or ():
        weights, tokenizer = Path(folder) / WEIGHTS, Path(folder) / TOKENIZER
        if weights.is_file() and tokenizer.is_file():
            loaded = kitoken.Kitoken.from_tokenizers(tokenizer.read_bytes())
            return StaticEmbedder(_read_weights(weights), loaded, version(PACKAGE))
    return None


def _read_weights(path: Path) -> Vectors:
    """The only tensor of a safetensors file: the length of a JSON header, the header, the numbers."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    [tensor] = msgspec.json.decode(data[8:start], type=dict[str, _Tensor]).values()
    begin, end = tensor.data_offsets
    numbers = np.frombuffer(data[start + begin : start + end], {"F16": "<f2", "F32": "<f4"}[tensor.dtype])
    return numbers.reshape(tensor.shape).astype(np.float32)
