"""The prompt on its way to the provider: what triggers make of the request, and what the model's format leaves out."""

from __future__ import annotations

from collections.abc import Sequence

from tavernkit.dialects import SpeakerNames
from tavernkit.dialects.caching import cache_control
from tavernkit.errors import ParseError
from tavernkit.prompt.block import Block
from tavernkit.prompt.context import Context
from tavernkit.prompt.parts import rewritten
from tavernkit.prompt.sources import FromTrigger
from tavernkit.prompt.tracing import realigned
from tavernkit.reading import parse_json
from tavernkit.risuai.stages.scripts import run_phase
from tavernkit.risuai.workbench import Workbench, left_out
from tavernkit.text.js_json import to_json

OPENAI_FAMILIES = ("gpt", "openrouter", "reverse_proxy", "xcustom", "deepseek", "mistral", "nanogpt")
"""Models whose requests RisuAI writes in OpenAI's format, where it leaves out the lines that open a chat, and empty
ones."""

FIRST_ESCAPE = 0xE9B8
_ESCAPED = dict(enumerate(("{", "}", "(", ")", "&lt;", "&gt;", ":", ";"), start=FIRST_ESCAPE))


def request(ctx: Context) -> None:
    """Let the `request` triggers change the messages, and leave out what the model's format has no use for."""
    bench = ctx.platform(Workbench)
    ctx.blocks = [_unescaped(block) if block.enabled else block for block in ctx.blocks]
    _run_triggers(ctx, bench)
    model = bench.settings.model
    if model.startswith(OPENAI_FAMILIES):
        ctx.blocks = [left_out(block, "format") if _is_idle(block) else block for block in ctx.blocks]
    if model.startswith("claude"):
        ctx.blocks = [_with_cache_point(block) for block in ctx.blocks]


def plan_assembly(ctx: Context) -> None:
    """Say how the request is to be made."""
    bench = ctx.platform(Workbench)
    # What the application has set itself wins.
    ctx.llm_options = {"max_tokens": bench.settings.max_response, **ctx.llm_options}
    names = SpeakerNames(char=bench.character.display_name, user=bench.scene.user_name)
    ctx.dialect_options = {"names": names, **ctx.dialect_options}


def _run_triggers(ctx: Context, bench: Workbench) -> None:
    triggers = (*bench.character.triggers, *(trigger for module in bench.scene.modules for trigger in module.triggers))
    if not any(trigger.type == "request" for trigger in triggers):
        return
    sent = [block for block in ctx.blocks if block.enabled]
    written = to_json([{"role": block.role, "content": block.content} for block in sent])
    result = run_phase(ctx, bench, "request", display_data=written)
    changed = _messages(result.display_data)
    if changed is None:
        ctx.warn("request_trigger", "The request that a trigger has set is not a list of messages, and is not used.")
    elif changed != _messages(written):
        _write_back(ctx, bench, sent, changed)


def _messages(written: str | None) -> list[tuple[str, str]] | None:
    """Roles and texts out of what a trigger has left; None for anything else."""
    try:
        found = parse_json(written or "", what="The request")
    except ParseError:
        return None
    if not isinstance(found, list):
        return None
    pairs = [(item.get("role"), item.get("content")) for item in found if isinstance(item, dict)]
    said = [(role, content) for role, content in pairs if isinstance(role, str) and isinstance(content, str)]
    return said if len(said) == len(found) else None


def _write_back(ctx: Context, bench: Workbench, sent: Sequence[Block], changed: Sequence[tuple[str, str]]) -> None:
    rewritten: dict[str, Block] = {}
    for block, (role, content) in zip(sent, changed, strict=False):
        said = realigned(block.sourced_content, content, FromTrigger(place="request"))
        rewritten[block.id] = block.with_(role=role, content=said if ctx.is_traced else content)
    for block in sent[len(changed) :]:
        rewritten[block.id] = block.disable()
    ctx.blocks = [rewritten.get(block.id, block) for block in ctx.blocks]
    for place, (role, content) in enumerate(changed[len(sent) :], start=len(sent)):
        text = bench.marked(ctx, content, FromTrigger(place="request"))
        ctx.add_block(source=f"trigger:request:{place}", slot="trigger", role=role, content=text)
    total = sum(bench.cost(block) for block in ctx.blocks if block.enabled)
    if total > bench.settings.max_context:
        ctx.warn(
            "request_over_budget",
            f"With what the triggers have added, the prompt is {total} tokens long; the window is"
            f" {bench.settings.max_context}.",
        )


def _unescaped(block: Block) -> Block:
    if block.content.isascii():
        return block
    text = rewritten(block.sourced_content, lambda text: text.translate(_ESCAPED))
    return block if text == block.content else block.with_(content=text)


def _is_idle(block: Block) -> bool:
    """Whether a block only opens a chat, or says nothing at all."""
    return block.enabled and (block.slot == "new_chat" or not (block.content or block.attachments))


def _with_cache_point(block: Block) -> Block:
    if not block.metadata.get("cache_point"):
        return block
    return block.with_(message_metadata={**block.message_metadata, "cache_control": cache_control()})
