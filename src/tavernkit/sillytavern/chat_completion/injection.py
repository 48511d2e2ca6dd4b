"""Texts that stand in the chat at a depth, counted from its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tavernkit.prompt.block import Block
from tavernkit.prompt.context import Context
from tavernkit.prompt.parts import joined
from tavernkit.sillytavern.chat_completion.scene import ChatScene, PromptEntry
from tavernkit.sillytavern.extension_prompts import ROLES, ExtensionPrompt, in_key_order
from tavernkit.sillytavern.layout import FROZEN, FrozenLore
from tavernkit.text.js_strings import js_trim

EXTENSION_ORDER = 100
"""Extension prompts stand with the preset's prompts of this order, behind them."""


def injections(ctx: Context) -> None:
    """Take the message to be continued out of the chat where it is to come last, then put the injections in."""
    scene = ctx.platform(ChatScene)
    if ctx.generation_type == "continue" and scene.preset.continue_prefill and scene.chat:
        scene.continued = scene.chat.pop()
    entries = list(_in_chat_entries(scene))
    for entry in scene.entries:
        if entry.role not in ROLES and (entry.in_chat or entry.content):
            outcome = "it is left out" if entry.in_chat else "it is sent with it, as SillyTavern sends it"
            ctx.warn(
                "unknown_role",
                f"The prompt {entry.identifier} has the role {entry.role!r}, unknown to chats: {outcome}.",
                prompt=entry.identifier,
            )
    prompts = [prompt for prompt in in_key_order(scene.extension_prompts.values()) if prompt.position == "chat"]
    depths = sorted({entry.depth for entry in entries} | {prompt.depth for prompt in prompts if prompt.content})
    # From behind: index 0 is the newest message, and what is put in moves everything older further away.
    newest_first = scene.chat[::-1]
    inserted = 0
    for depth in depths:
        if depth < 0:
            continue
        blocks = list(_at_depth(ctx, scene, depth, entries, prompts))
        at = depth + inserted
        newest_first[at:at] = blocks
        inserted += len(blocks)
    scene.chat = newest_first[::-1]
    for one in reversed(scene.frozen):
        scene.chat.insert(_place_of(scene, one.entry.message), _frozen_block(ctx, one))


def _place_of(scene: ChatScene, message: int) -> int:
    """The place behind a message of the chat; behind the last one before it, if it is not there."""
    known = {turn.source for turn in scene.affordable_turns if turn.index <= message}
    return max((place for place, block in enumerate(scene.chat, 1) if block.source.get("id") in known), default=0)


def _frozen_block(ctx: Context, lore: FrozenLore) -> Block:
    """Lore that this turn asks for must be sent, other lore is as removable as the chat around it."""
    return ctx.new_block(
        source=lore.source,
        slot=FROZEN,
        content=lore.content,
        removable=not lore.is_activated,
        token_budget_group="history",
    )


def _in_chat_entries(scene: ChatScene) -> Iterator[PromptEntry]:
    """The preset's in-chat prompts; where the main prompt is one of them, what stands beside it follows it there."""
    beside = [entry for entry in scene.entries if entry.beside_main is not None]
    for entry in scene.entries:
        if not entry.in_chat:
            continue
        if entry.identifier != "main":
            yield entry
            continue
        moved = [other.with_(in_chat=True, depth=entry.depth, order=entry.order, role=entry.role) for other in beside]
        yield from (other for other in moved if other.beside_main == "start")
        yield entry
        yield from (other for other in reversed(moved) if other.beside_main == "end")


def _at_depth(
    ctx: Context, scene: ChatScene, depth: int, entries: Iterable[PromptEntry], prompts: Sequence[ExtensionPrompt]
) -> Iterator[Block]:
    """The messages at one depth from the end of the prompt backwards: the highest order first, in it the system's."""
    here = [entry for entry in entries if entry.depth == depth and entry.content]
    for order in sorted({entry.order for entry in here} | {EXTENSION_ORDER}, reverse=True):
        for role in ROLES:
            own = [entry for entry in here if entry.order == order and entry.role == role]
            added = [
                prompt
                for prompt in prompts
                if order == EXTENSION_ORDER and prompt.depth == depth and prompt.role == role and prompt.content
            ]
            text = _joined(scene, own, added)
            if text:
                sources = [*(entry.identifier for entry in own), *(prompt.key for prompt in added)]
                yield ctx.new_block(
                    source=sources[0] if len(sources) == 1 else f"depth:{depth}:{role}",
                    slot="injection",
                    role=role,
                    content=text,
                    depth=depth,
                    order=order,
                    token_budget_group="history",
                    metadata={"parts": sources},
                )


def _joined(scene: ChatScene, entries: Sequence[PromptEntry], prompts: Sequence[ExtensionPrompt]) -> str:
    own = joined("\n", (entry.content for entry in entries))
    added = scene.expand(joined("\n", (js_trim(prompt.content) for prompt in prompts)))
    return joined("\n", (js_trim(text) for text in (own, added) if text))
