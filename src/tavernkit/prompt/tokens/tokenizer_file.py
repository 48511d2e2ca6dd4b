"""A model's own `tokenizer.json`, in the format of Hugging Face's tokenizers, read by kitoken."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tavernkit.prompt.tokens.encoding import EncodingUnavailable, TokenPiece, text_pieces
from tavernkit.prompt.tokens.segments import segments

if TYPE_CHECKING:
    import kitoken


class TokenizerFile:
    """Counts as the file's model does. The names of special tokens in a text are text like any other."""

    def __init__(self, path: Path, tokenizer: kitoken.Kitoken) -> None:
        self.name = path.name
        self.source = str(path)
        self._tokenizer = tokenizer

    def count(self, text: str) -> int:
        return sum(len(self._tokenizer.encode(segment, False)) for segment in segments(text))

    def tokenize(self, text: str) -> list[TokenPiece]:
        tokens = [token for segment in segments(text) for token in self._tokenizer.encode(segment, False)]
        return text_pieces(zip(tokens, self._bytes_of_each(tokens), strict=True))

    def _bytes_of_each(self, tokens: list[int]) -> Iterator[bytes]:
        # Many tokenizers drop the space in front of the first token they decode, so a token is decoded after another.
        for position, token in enumerate(tokens):
            before = tokens[max(0, position - 1) : position]
            yield self._decode([*before, token])[len(self._decode(before)) :]

    def _decode(self, tokens: list[int]) -> bytes:
        return self._tokenizer.decode(tokens, True)


class _Model(msgspec.Struct):
    vocab: dict[str, msgspec.Raw] | list[msgspec.Raw]


class _TokenizerJson(msgspec.Struct):
    model: _Model


def load_tokenizer_file(path: Path) -> TokenizerFile:
    """Raises EncodingUnavailable when the file cannot be read or is not a tokenizer that kitoken knows."""
    import kitoken

    try:
        data = path.read_bytes()
        # kitoken ends the whole process when it is given an empty vocabulary.
        if not msgspec.json.decode(data, type=_TokenizerJson).model.vocab:
            raise ValueError("its vocabulary is empty")
        return TokenizerFile(path, kitoken.Kitoken.from_tokenizers(data))
    except (OSError, ValueError) as error:
        raise EncodingUnavailable(
            f"The tokenizer {path} cannot be used ({error}), so tokens are counted as if it were not there."
        ) from error
