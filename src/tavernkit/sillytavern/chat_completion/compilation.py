"""Everything in its order: the prompts as the preset has them, with the chat and the examples in their places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tavernkit.prompt.block import Block
from tavernkit.prompt.context import Context
from tavernkit.sillytavern.chat_completion.scene import ChatScene, PromptEntry
from tavernkit.sillytavern.stages.layout import END, note_move

_DESCRIPTIONS = (
    "worldInfoBefore",
    "main",
    "worldInfoAfter",
    "charDescription",
    "charPersonality",
    "scenario",
    "personaDescription",
)
_FIRST = (*_DESCRIPTIONS, "nsfw", "jailbreak")
_CUSTOM, _ENHANCE, _BIAS, _BESIDE_MAIN = range(len(_FIRST), len(_FIRST) + 4)
"""In this order prompts are given their tokens; where not even they fit, the last to come are left out."""

HIGHEST_PRIORITY = 1000
DESCRIPTIONS = HIGHEST_PRIORITY - len(_DESCRIPTIONS) + 1
"""The priority of the last block that is paid for before anything is reserved for the end of the prompt."""


def compilation(ctx: Context) -> None:
    """Line up the blocks."""
    scene = ctx.platform(ChatScene)
    moved: list[Block] = []
    # Behind the chat, nothing has to be moved away.
    is_behind = not scene.story.is_stable
    for entry in scene.entries:
        match entry.identifier:
            case "chatHistory":
                ctx.blocks.extend(_chat(ctx, scene))
                ctx.blocks.extend(moved)
                moved, is_behind = [], True
            case "dialogueExamples":
                ctx.blocks.extend(scene.examples)
            case _ if entry.identifier in scene.changing and not is_behind:
                moved.extend(_moved(ctx, _prompt(ctx, scene, entry)))
            case _:
                ctx.blocks.extend(_prompt(ctx, scene, entry))
    ctx.blocks.extend(moved)
    ctx.stat("blocks", len(ctx.blocks))


def _moved(ctx: Context, blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        if block.content:
            note_move(ctx, f"The prompt {block.source['id']}", "its place in the preset", END)
        yield block


def _chat(ctx: Context, scene: ChatScene) -> Iterator[Block]:
    preset = scene.preset
    opening = preset.new_chat_prompt if scene.story.group is None else preset.new_group_chat_prompt
    yield ctx.new_block(
        source="new_chat", slot="new_chat", content=opening, removable=False, token_budget_group="system"
    )
    yield from scene.chat


def _prompt(ctx: Context, scene: ChatScene, entry: PromptEntry) -> Iterator[Block]:
    """The entry's own block; around the main prompt stands what is to be beside it."""
    rank = _rank(entry)
    if rank is None or entry.in_chat or (entry.identifier in scene.disabled and entry.identifier != "main"):
        return
    beside = [other for other in scene.entries if other.beside_main] if entry.identifier == "main" else []
    yield from (_block(ctx, other, _BESIDE_MAIN) for other in reversed(beside) if other.beside_main == "start")
    yield _block(ctx, entry, rank)
    yield from (_block(ctx, other, _BESIDE_MAIN) for other in beside if other.beside_main == "end")


def has_place(identifier: str, *, is_custom: bool) -> bool:
    """Whether a prompt of the preset is sent at all: SillyTavern's own by their identifiers, a user's always."""
    in_place = identifier in ("chatHistory", "dialogueExamples")
    return in_place or _rank(PromptEntry(identifier=identifier, is_custom=is_custom)) is not None


def _rank(entry: PromptEntry) -> int | None:
    if entry.identifier in _FIRST:
        return _FIRST.index(entry.identifier)
    if entry.identifier == "enhanceDefinitions":
        return _ENHANCE
    if entry.identifier == "bias":
        return _BIAS if entry.content.strip() else None
    return _CUSTOM if entry.is_custom else None


def _block(ctx: Context, entry: PromptEntry, rank: int) -> Block:
    return ctx.new_block(
        source=entry.identifier,
        slot=entry.identifier,
        role=entry.role,
        content=entry.content,
        removable=False,
        priority=HIGHEST_PRIORITY - rank,
        token_budget_group="system",
    )
