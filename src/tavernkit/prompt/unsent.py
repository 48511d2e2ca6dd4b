"""Prompts of a preset that are switched on and yet not in the prompt."""

from __future__ import annotations

from tavernkit.prompt.block import Block
from tavernkit.values import Value


class UnsentPrompt(Value, frozen=True, kw_only=True):
    """A prompt that is switched on but not sent; `reason` is a word for programs, `sentence` says it to people."""

    identifier: str
    name: str
    reason: str
    sentence: str


def made_of(block: Block) -> list[str]:
    """The names of what was joined in a block; of one that stands alone, its own."""
    parts = block.metadata.get("parts")
    return [str(part) for part in (parts if isinstance(parts, list | tuple) else (block.source.get("id"),))]
