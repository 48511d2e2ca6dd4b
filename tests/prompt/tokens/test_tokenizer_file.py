import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.prompt.tokens import EncodingInfo, ModelTokenEstimator, TokenPiece


def special(token: int, content: str) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": token, "content": content, **flags}


def byte_level_bpe() -> dict[str, Any]:
    """A GPT-2-like tokenizer: 256 bytes, a few merges, one special token."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {byte: chr(byte) for byte in printable} | {byte: chr(256 + n) for n, byte in enumerate(others)}
    vocab = {letters[byte]: byte for byte in range(256)}
    vocab |= {"he": 256, "ll": 257, "hell": 258, "hello": 259, "Ġw": 260}
    return {
        "version": "1.0",
        "added_tokens": [special(261, "<|end|>")],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "vocab": vocab, "merges": ["h e", "l l", "he ll", "hell o", "Ġ w"]},
    }


def llama_like() -> dict[str, Any]:
    """Spaces are written as a mark in front of words; what is not in the vocabulary is unknown."""
    mark = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    vocab = [["<unk>", 0.0], ["▁hi", -0.5], ["▁", -3.0], ["h", -2.0], ["i", -2.0]]
    return {
        "version": "1.0",
        "added_tokens": [special(0, "<unk>")],
        "normalizer": None,
        "pre_tokenizer": mark,
        "post_processor": None,
        "decoder": mark,
        "model": {"type": "Unigram", "unk_id": 0, "vocab": vocab},
    }


@pytest.fixture(scope="module")
def tokenizer_json(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "tokenizer.json"
    path.write_text(json.dumps(byte_level_bpe()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def with_file(tokenizer_json: Path) -> ModelTokenEstimator:
    return ModelTokenEstimator(tokenizers={"my-model*": tokenizer_json})


def test_a_registered_model_is_counted_with_its_own_tokenizer(with_file, tokenizer_json) -> None:
    assert with_file.estimate("hello world", "someone/My-Model-7B") == 6
    assert with_file.describe("my-model") == EncodingInfo(name="tokenizer.json", source=str(tokenizer_json), exact=True)


def test_other_models_are_counted_as_ever(with_file: ModelTokenEstimator) -> None:
    assert with_file.estimate("hello world", "gpt-4o") == 2
    assert with_file.describe("gpt-4o").name == "o200k_base"


def test_the_pieces_of_a_text_can_be_shown(with_file: ModelTokenEstimator) -> None:
    assert with_file.tokenize("hello wé", "my-model") == [
        TokenPiece(259, "hello"),
        TokenPiece(260, " w"),
        TokenPiece(0xC3, ""),
        TokenPiece(0xA9, "é"),
    ]


def test_spaces_are_shown_with_the_word_they_lead(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(llama_like()), encoding="utf-8")
    estimator = ModelTokenEstimator(tokenizers={"*": path})
    assert [text for _, text in estimator.tokenize("hi hi x")] == ["hi", " hi", " ", "<unk>"]


def test_the_name_of_a_special_token_is_ordinary_text(with_file: ModelTokenEstimator) -> None:
    assert with_file.estimate("<|end|>", "my-model") == 7


@given(text=st.text(st.characters(), max_size=100))
def test_it_never_raises(with_file: ModelTokenEstimator, text: str) -> None:
    assert with_file.estimate(text, "my-model") <= 4 * len(text)


@pytest.mark.parametrize("unit", [" ", "a", "hello", "\ud800"])
def test_a_million_characters_are_counted(with_file: ModelTokenEstimator, unit: str) -> None:
    assert with_file.estimate(unit * (1_000_000 // len(unit)), "my-model") >= 200_000


def test_the_first_glob_that_matches_decides(tokenizer_json: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_bytes(tokenizer_json.read_bytes())
    estimator = ModelTokenEstimator(tokenizers={"llama-3*": other, "*": tokenizer_json})
    assert [estimator.describe(hint).name for hint in ("llama-3.1", "llama-2", "gpt-4o", None)] == [
        "other.json",
        "tokenizer.json",
        "tokenizer.json",
        "tokenizer.json",
    ]


EMPTY = {**byte_level_bpe(), "model": {"type": "BPE", "vocab": {}, "merges": []}}


@pytest.mark.parametrize(
    "content", [None, "", "{}", "not json", "[]", '{"model": {"vocab": {"a": 0}}}', json.dumps(EMPTY)]
)
def test_a_tokenizer_that_cannot_be_used_is_warned_about_once_and_left_out(tmp_path: Path, content) -> None:
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    estimator = ModelTokenEstimator(tokenizers={"gpt-4": path, "my-*": path})
    with pytest.warns(RuntimeWarning, match=r"The tokenizer .*tokenizer\.json cannot be used"):
        tokens = estimator.estimate("hello world", "my-model")
    # A second warning would be an error.
    assert tokens == 2
    assert estimator.describe("my-model") == EncodingInfo(name="o200k_base", source="tiktoken", exact=False)
    assert estimator.describe("gpt-4") == EncodingInfo(name="cl100k_base", source="tiktoken", exact=True)
