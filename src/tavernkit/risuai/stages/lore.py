"""The lore that is awake, each entry in the part of the prompt where it belongs."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tavernkit.prompt.context import Context
from tavernkit.prompt.sources import FromPersona
from tavernkit.risuai.errors import DecoratorParseError
from tavernkit.risuai.lorebook import scan
from tavernkit.risuai.lorebook.result import ActiveLore
from tavernkit.risuai.stages.scripts import tell
from tavernkit.risuai.stages.tracing import with_sources
from tavernkit.risuai.template.line import Line
from tavernkit.risuai.template.positions import Positions
from tavernkit.risuai.workbench import Workbench
from tavernkit.text.js_strings import replace_all

BESIDE_DESCRIPTION = ("after_desc", "before_desc", "personality", "scenario")


def lore(ctx: Context) -> None:
    """Scan the chat, and expand what was found, with the persona at its place in RisuAI's order."""
    bench = ctx.platform(Workbench)
    try:
        result = scan(bench.scene, strict=ctx.strict)
    except DecoratorParseError as error:
        ctx.fail(error)
    bench.lore = result
    tell(ctx, result.warnings)
    active = with_sources(bench, result.active) if ctx.is_traced else result.active
    ctx.instrument("lore_scan", activated=len(active), tokens=result.total_tokens)
    if result.left_out:
        ctx.warn(
            "lore_over_budget",
            f"{len(result.left_out)} lore entries did not fit into the lore budget of {result.budget} tokens.",
            budget=result.budget,
        )
    bench.positions = Positions(active)
    bench.depth_lore = [lore for lore in active if _stands_in_chat(lore)]
    bench.parts["lorebook"] += _lines(ctx, bench, (lore for lore in active if lore.pos == "" and lore.inject is None))
    description = bench.parts["description"]
    for lore in active:
        if lore.pos == "before_desc":
            description.insert(0, lore_line(ctx, bench, lore))
        elif lore.pos in BESIDE_DESCRIPTION:
            description.append(lore_line(ctx, bench, lore))
    if bench.scene.persona:
        persona = bench.marked(ctx, bench.scene.persona, FromPersona(user=bench.scene.user_name))
        text = bench.expand(ctx, persona)
        bench.parts["personaPrompt"].append(bench.line(ctx, "system", text, "persona", group="character"))
    bench.parts["postEverything"] += _picture_prompt(ctx, bench)
    # What the character is to have said comes last, as the beginning of the reply.
    at_end = [lore for lore in active if lore.pos == "depth" and lore.depth == 0]
    at_end.sort(key=lambda lore: lore.role == "assistant")
    bench.parts["postEverything"] += _lines(ctx, bench, at_end)


def lore_line(ctx: Context, bench: Workbench, lore: ActiveLore) -> Line:
    """An entry as a message of its own."""
    return bench.line(
        ctx,
        lore.role,
        bench.expand(ctx, lore.sourced_prompt),
        f"lore:{lore.source}",
        group="lore",
        priority=int(lore.priority) if math.isfinite(lore.priority) else 0,
    )


def _picture_prompt(ctx: Context, bench: Workbench) -> list[Line]:
    """How the model is to show pictures in its reply; the macros in it are left alone."""
    character = bench.character
    prompts = character.picture_prompts
    text = ""
    if character.shows_emotions:
        names = ", ".join(emotion.name for emotion in character.emotions)
        text = replace_all(prompts.emotion_instructions, "{{slot}}", names)
    elif character.shows_pictures_in_chat and character.view_screen == "imggen":
        text = prompts.instructions
    text = bench.marked(ctx, text, bench.of_card(ctx, "picture_prompts"))
    return [bench.line(ctx, "system", text, "pictures")] if text else []


def _lines(ctx: Context, bench: Workbench, found: Iterable[ActiveLore]) -> list[Line]:
    return [lore_line(ctx, bench, lore) for lore in found]


def _stands_in_chat(lore: ActiveLore) -> bool:
    return (lore.pos == "depth" and lore.depth > 0) or lore.pos == "reverse_depth"
