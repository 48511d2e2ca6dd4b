from collections.abc import Callable
from pathlib import Path

import pytest
import tiktoken
import tiktoken.load
import tiktoken_ext.openai_public

import tavernkit.prompt.tokens
from tavernkit.prompt.tokens import ModelTokenEstimator

Reference = Callable[[str, str], list[int]]


@pytest.fixture(scope="session")
def vocabulary() -> Path:
    """The folder of the vocabularies in the package under test."""
    return Path(tavernkit.prompt.tokens.__file__).with_name("vocabulary")


@pytest.fixture(scope="session")
def estimator() -> ModelTokenEstimator:
    return ModelTokenEstimator()


@pytest.fixture(scope="session")
def reference(vocabulary: Path) -> Reference:
    """Encode as tiktoken does with its own tables and its own reader, only from a file instead of the network."""
    encodings: dict[str, tiktoken.Encoding] = {}

    def from_file(address: str, expected_hash: str) -> dict[bytes, int]:
        return tiktoken.load.load_tiktoken_bpe(str(vocabulary / address.rpartition("/")[2]), expected_hash)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", "")
        patch.setattr(tiktoken_ext.openai_public, "load_tiktoken_bpe", from_file)
        for name in ("o200k_base", "cl100k_base", "p50k_base", "r50k_base"):
            arguments = getattr(tiktoken_ext.openai_public, name)()
            encodings[name] = tiktoken.Encoding(**arguments)
    return lambda name, text: encodings[name].encode_ordinary(text)
