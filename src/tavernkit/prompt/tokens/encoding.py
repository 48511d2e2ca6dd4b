"""One way of cutting text into tokens."""

from __future__ import annotations

import codecs
import math
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from tavernkit.values import Value


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
        units = len(text.encode("utf-16-le", "surrogatepass")) // 2
        return math.ceil(units / self.characters_per_token)

    def tokenize(self, text: str) -> list[TokenPiece]:  # noqa: ARG002 - the protocol's signature
        """A guess has no tokens to show."""
        return []

    def estimate(self, text: str, model_hint: str | None = None) -> int:  # noqa: ARG002 - the same for all models
        return self.count(text)
