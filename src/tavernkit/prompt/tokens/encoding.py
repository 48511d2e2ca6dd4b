"""The ways of cutting text into tokens: OpenAI's encodings, a model's own `tokenizer.json`, and a ratio of characters.

An encoder takes a whole run of spaces or letters at once; at a million of them tiktoken's pattern matcher runs out of
stack and aborts. So no encoder is given more than one segment. A cut is made where the shipped encodings always start
a new token: between a word and the space before the next word, or after a single line break. Only a segment without any
such place is cut in the middle of a run, which changes the count by a few tokens.
"""

from __future__ import annotations

import codecs
import hashlib
import math
import re
from binascii import a2b_base64
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from tavernkit.text.js_strings import utf16_length
from tavernkit.values import Value

if TYPE_CHECKING:
    import kitoken
    import tiktoken


SEGMENT_LENGTH = 65_536

_BORDER = re.compile(r"(?<=[A-Za-z])(?= [A-Za-z])|(?<=\S\n)(?=[^\s/])")
_LINE_END = re.compile(r"\n(?<=\S\n)(?=[^\s/])")
_NEARBY = 2_048


def segments(text: str) -> Iterator[str]:
    """Yield `text` in pieces of at most SEGMENT_LENGTH characters."""
    start = 0
    while len(text) - start > SEGMENT_LENGTH:
        cut = _last_border(text, start, start + SEGMENT_LENGTH)
        yield text[start:cut]
        start = cut
    yield text[start:]


def lines(text: str) -> list[str]:
    """Cut `text` behind every single line break; the shipped encodings have as many tokens for all of these together
    as for the whole."""
    parts: list[str] = []
    start = 0
    for match in _LINE_END.finditer(text):
        end = match.end()
        parts.append(text[start:end])
        start = end
    parts.append(text[start:])
    return parts


def _last_border(text: str, start: int, end: int) -> int:
    # Ordinary prose has a border close to the end, which saves walking through the whole segment.
    for begin in (end - _NEARBY, start + 1):
        cut = max((match.start() for match in _BORDER.finditer(text, begin, end)), default=None)
        if cut is not None:
            return cut
    return end


class EncodingInfo(Value, frozen=True, kw_only=True):
    """How tokens are counted for a model; `exact` is true when that is how the model itself counts."""

    name: str
    source: str
    exact: bool


class TokenPiece(NamedTuple):
    """A token and the text it stands for."""

    id: int
    text: str


class Encoding(Protocol):
    """The adapters implement this; both methods take any text that can be written as UTF-8."""

    @property
    def name(self) -> str: ...

    @property
    def source(self) -> str: ...

    def count(self, text: str) -> int: ...

    def tokenize(self, text: str) -> list[TokenPiece]: ...


class EncodingUnavailable(Exception):  # noqa: N818 - says what is the case; the estimator turns it into a warning
    """An encoding cannot be loaded; the message says why and what happens in its place."""


def text_pieces(tokens: Iterable[tuple[int, bytes]]) -> list[TokenPiece]:
    """Give every token its text; a character spread over several tokens belongs to the last of them."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return [TokenPiece(token, decoder.decode(data)) for token, data in tokens]


class CharacterRatio:
    """Characters (UTF-16 units) divided by a ratio, rounded up: SillyTavern's guess. An encoding and an estimator."""

    name = "characters"

    def __init__(self, characters_per_token: float = 3.35) -> None:
        if not characters_per_token > 0:
            raise ValueError(f"characters_per_token must be more than 0, not {characters_per_token}")
        self.characters_per_token = characters_per_token

    @property
    def source(self) -> str:
        return f"{self.characters_per_token:g} characters per token"

    def count(self, text: str) -> int:
        return math.ceil(utf16_length(text) / self.characters_per_token)

    def tokenize(self, text: str) -> list[TokenPiece]:  # noqa: ARG002 - the protocol's signature
        """A guess has no tokens to show."""
        return []

    def estimate(self, text: str, model_hint: str | None = None) -> int:  # noqa: ARG002 - the same for all models
        return self.count(text)


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
