"""The macros that are left: those in the chat. Everything else was expanded where SillyTavern expands it."""

from __future__ import annotations

from tavernkit.prompt.context import Context
from tavernkit.sillytavern.chat_completion.scene import ChatScene

_EXPANDED_LATE = ("history", "injection", "new_chat")


def macro_expansion(ctx: Context) -> None:
    """Expand the chat, the newest message first, as SillyTavern goes through it."""
    scene = ctx.platform(ChatScene)
    for place in range(len(ctx.blocks) - 1, -1, -1):
        block = ctx.blocks[place]
        if block.slot in _EXPANDED_LATE:
            content = scene.expand(block.content, quietly=block.slot == "history")
            if content != block.content:
                ctx.blocks[place] = block.with_(content=content)
