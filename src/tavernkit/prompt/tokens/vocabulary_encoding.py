"""OpenAI's encodings: tiktoken, with the vocabularies that are shipped inside this package."""

from __future__ import annotations

import hashlib
from binascii import a2b_base64
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from tavernkit.prompt.tokens.encoding import EncodingUnavailable, TokenPiece, text_pieces
from tavernkit.prompt.tokens.segments import SEGMENT_LENGTH, segments

if TYPE_CHECKING:
    import tiktoken

_VOCABULARY = Path(__file__).with_name("vocabulary")

_GPT2_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
_CL100K_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
_O200K_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_O200K_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_O200K_SUFFIX = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_O200K_PATTERN = "|".join(
    [
        rf"[^\r\n\p{{L}}\p{{N}}]?{_O200K_UPPER}*{_O200K_LOWER}+{_O200K_SUFFIX}",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_O200K_UPPER}+{_O200K_LOWER}*{_O200K_SUFFIX}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
_PATTERNS = {
    "o200k_base": _O200K_PATTERN,
    "cl100k_base": _CL100K_PATTERN,
    "p50k_base": _GPT2_PATTERN,
    "r50k_base": _GPT2_PATTERN,
}


class VocabularyEncoding:
    """Counts as OpenAI's models do. The names of special tokens in a text are text like any other."""

    source = "tiktoken"

    def __init__(self, encoding: tiktoken.Encoding) -> None:
        self.name = encoding.name
        self.encoding = encoding

    def count(self, text: str) -> int:
        if len(text) <= SEGMENT_LENGTH:
            return len(self.encoding.encode_ordinary(text))
        return sum(len(self.encoding.encode_ordinary(segment)) for segment in segments(text))

    def tokenize(self, text: str) -> list[TokenPiece]:
        tokens = [token for segment in segments(text) for token in self.encoding.encode_ordinary(segment)]
        return text_pieces(zip(tokens, self.encoding.decode_tokens_bytes(tokens), strict=True))


_loading = Lock()


def load_vocabulary_encoding(name: str) -> VocabularyEncoding:
    """Load an encoding once for the whole process: it is immutable and takes tens of megabytes.

    Raises EncodingUnavailable when the vocabulary is missing or damaged.
    """
    with _loading:
        return _load(name)


@cache
def _load(name: str) -> VocabularyEncoding:
    import tiktoken

    ranks = _read_ranks(f"{name}.tiktoken")
    # No special tokens: they are only for text that the caller wrote as tokens, and nobody here does.
    encoding = tiktoken.Encoding(name, pat_str=_PATTERNS[name], mergeable_ranks=ranks, special_tokens={})
    return VocabularyEncoding(encoding)


def _read_ranks(file_name: str) -> dict[bytes, int]:
    try:
        sums = (_VOCABULARY / "SHA256SUMS").read_text(encoding="ascii").splitlines()
        data = (_VOCABULARY / file_name).read_bytes()
    except OSError as error:
        raise EncodingUnavailable(_advice(file_name, f"cannot be read ({error.strerror})")) from error
    if f"{hashlib.sha256(data).hexdigest()}  {file_name}" not in sums:
        raise EncodingUnavailable(_advice(file_name, "is damaged (its SHA-256 is not the known one)"))
    words = data.split()
    return dict(zip(map(a2b_base64, words[::2]), map(int, words[1::2]), strict=True))


def _advice(file_name: str, problem: str) -> str:
    return (
        f"The vocabulary {file_name} {problem}, so tokens are guessed from the number of characters. "
        "Installing the package, or building it once in a source tree, puts the vocabulary in place."
    )
