"""A text prompt in pieces, each of which knows where it comes from."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tavernkit.sillytavern.extension_prompts import ExtensionRole
from tavernkit.values import Value

LeftOut: TypeAlias = Literal["budget", "behind", "stripped"]
"""Why a piece is not in the prompt: it did not fit, it comes behind one that did not fit, or examples are not sent."""


class TextPiece(Value, frozen=True, kw_only=True):
    """One stretch of the prompt, or one that was left out of it.

    `source` is `story_string`, `example:N`, `chat_start`, `alignment`, `message:INDEX`, `injection:KEY`,
    `post_history`, `quiet_prompt`, `last_line` or `bias`; texts that share a place in the chat are one piece, with
    their keys joined by `+`. `tokens` is None for what nobody had to count. A message behind one that did not fit was
    never written as it would stand in the prompt: its `text` is its own.
    """

    text: str
    source: str
    role: ExtensionRole = "system"
    kept: bool = True
    tokens: int | None = None
    reason: LeftOut | None = None


class TextPrompt(Value, frozen=True, kw_only=True):
    """The pieces in the order of the prompt.

    `mandatory_tokens` is what has to be there whatever else is, padding included. If it is not below `budget`, no
    message has found a place.
    """

    pieces: tuple[TextPiece, ...]
    budget: int
    mandatory_tokens: int

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces if piece.kept)

    @property
    def left_out(self) -> tuple[TextPiece, ...]:
        return tuple(piece for piece in self.pieces if not piece.kept)

    @property
    def exceeds_budget(self) -> bool:
        """True when what has to be there leaves no room for anything else."""
        return self.mandatory_tokens >= self.budget
