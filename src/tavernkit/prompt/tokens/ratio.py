"""The last resort: guessing tokens from the number of characters."""

from __future__ import annotations

import math

from tavernkit.prompt.tokens.encoding import TokenPiece


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
