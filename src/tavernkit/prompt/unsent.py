"""Which prompts of a preset blocks were made of."""

from __future__ import annotations

from tavernkit.prompt.block import Block


def made_of(block: Block) -> list[str]:
    """The names of what was joined in a block; of one that stands alone, its own."""
    parts = block.metadata.get("parts")
    return [str(part) for part in (parts if isinstance(parts, list | tuple) else (block.source.get("id"),))]
