"""Texts that the application puts into the prompt by name."""

from __future__ import annotations

from tavernkit.injections import Injection
from tavernkit.prompt.block import Block
from tavernkit.prompt.context import Context
from tavernkit.prompt.finishing import place_in_chat
from tavernkit.prompt.sources import FromInjection
from tavernkit.risuai.workbench import Workbench

CHARACTER = "description"


def injections(ctx: Context) -> None:
    """Put what the application has registered around the character, or into the chat."""
    bench = ctx.platform(Workbench)
    for wanted in ctx.injections:
        if wanted.scan:
            ctx.warn(
                "injection_not_scanned",
                f"{wanted.id} is not searched for lore: RisuAI looks only at the chat.",
                injection=wanted.id,
            )
        content = bench.expand(ctx, bench.marked(ctx, wanted.content, FromInjection(id=wanted.id)))
        if wanted.position == "none" or not content.strip():
            continue
        block = ctx.new_block(
            source=f"injection:{wanted.id}",
            slot="injection",
            role=wanted.role,
            content=content,
            removable=False,
            token_budget_group="injections",
        )
        ctx.blocks.insert(_place(ctx.blocks, wanted), block)


def _place(blocks: list[Block], wanted: Injection) -> int:
    if wanted.position == "chat":
        place = place_in_chat(blocks, wanted.depth)
        return place if wanted.depth > 0 else _behind(blocks, place)
    about = [place for place, block in enumerate(blocks) if _tells_of_character(block)]
    if not about:
        return 0
    return about[0] if wanted.position == "before" else about[-1] + 1


def _behind(blocks: list[Block], place: int) -> int:
    """The place behind what was already injected there."""
    while place < len(blocks) and blocks[place].slot == "injection":
        place += 1
    return place


def _tells_of_character(block: Block) -> bool:
    parts = block.metadata.get("parts")
    return block.slot == CHARACTER or (isinstance(parts, list) and any(str(part).endswith(CHARACTER) for part in parts))
