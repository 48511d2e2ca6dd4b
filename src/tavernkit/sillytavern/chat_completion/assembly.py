"""The end of the prompt: who shall speak, what shall be continued, and what is asked for."""

from __future__ import annotations

from tavernkit.dialects import SpeakerNames
from tavernkit.prompt.block import Block
from tavernkit.prompt.context import Context
from tavernkit.prompt.parts import joined
from tavernkit.sillytavern.chat_completion.request import dialect_options, request_options
from tavernkit.sillytavern.chat_completion.scene import ChatScene, sanitised_name
from tavernkit.sillytavern.layout import FROZEN
from tavernkit.text.js_strings import js_trim

_CHAT_SLOTS = ("new_chat", "history", "injection", FROZEN)


def plan_assembly(ctx: Context) -> None:
    """Add what always comes last, and say how the request is to be made."""
    scene = ctx.platform(ChatScene)
    if scene.entry("chatHistory") is not None:
        _finish_chat(ctx, scene)
    _add_control_prompts(ctx, scene)
    group = scene.story.group
    ctx.dialect_options["names"] = SpeakerNames(
        char=ctx.require_character().name,
        user=ctx.require_user().name,
        group=() if group is None else group.macro_group.members,
    )
    # What the application has set itself wins.
    ctx.llm_options = {**request_options(ctx, scene), **ctx.llm_options}
    ctx.dialect_options = {**dialect_options(ctx, scene), **ctx.dialect_options}


def _so_far(scene: ChatScene) -> str:
    text = scene.turns[-1].text if scene.turns else ""
    return text if text.endswith(" ") else text + scene.preset.continue_postfix


def _finish_chat(ctx: Context, scene: ChatScene) -> None:
    continued = _take_continued(ctx, scene)
    end = 1 + max(place for place, block in enumerate(ctx.blocks) if block.slot in _CHAT_SLOTS)
    if ctx.blocks[end - 1].role == "assistant" and scene.preset.send_if_empty:
        ctx.blocks.insert(end, _control(ctx, "send_if_empty", scene.preset.send_if_empty, role="user", removable=True))
        end += 1
    if scene.story.group is not None and ctx.generation_type != "impersonate":
        ctx.blocks.insert(end, _control(ctx, "group_nudge", scene.expand(scene.preset.group_nudge_prompt)))
    ctx.blocks.extend(continued)


def _take_continued(ctx: Context, scene: ChatScene) -> list[Block]:
    """The last message of the chat, moved behind everything, and the request to go on with it.

    As there, the request is made in an empty chat, too, unless there is not even a space to go on from.
    """
    if ctx.generation_type != "continue" or scene.preset.continue_prefill or not _so_far(scene):
        return []
    nudge = scene.expand(scene.preset.continue_nudge_prompt, dynamic={"lastChatMessage": js_trim(_so_far(scene))})
    tail = [_control(ctx, "continue_nudge", scene.expand(nudge, quietly=True))]
    place = max((place for place, block in enumerate(ctx.blocks) if block.slot == "history"), default=None)
    if place is not None:
        message = ctx.blocks.pop(place)
        tail.insert(0, message.with_(slot="continued", removable=False, token_budget_group="control", name=None))
    return tail


def _add_control_prompts(ctx: Context, scene: ChatScene) -> None:
    if ctx.generation_type == "impersonate":
        ctx.blocks.append(_control(ctx, "impersonation", scene.expand(scene.preset.impersonation_prompt)))
    if scene.story.quiet is not None:
        ctx.blocks.append(_control(ctx, "quiet", scene.expand(scene.story.quiet.text)))
    if scene.continued is not None:
        ctx.blocks.append(_prefilled(scene, scene.continued))


def _prefilled(scene: ChatScene, message: Block) -> Block:
    """The message that the model is to go on with, as the beginning of its reply."""
    content = message.sourced_content
    if message.role == "assistant" and scene.preset.chat_completion_source == "claude":
        content = joined("\n\n", filter(None, (scene.expand(scene.preset.assistant_prefill), content)))
    name = sanitised_name(message.name) if message.name else None
    return message.with_(
        slot="continue_prefill", content=content, name=name, removable=False, token_budget_group="control"
    )


def _control(ctx: Context, source: str, text: str, *, role: str = "system", removable: bool = False) -> Block:
    return ctx.new_block(
        source=source, slot=source, role=role, content=text, removable=removable, token_budget_group="control"
    )
