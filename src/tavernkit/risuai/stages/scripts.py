"""Regex scripts and triggers during a build, with their problems among its warnings; triggers can also stop it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tavernkit.prompt.context import Context
from tavernkit.prompt.warning import BuildWarning
from tavernkit.risuai.cbs.options import CBSOptions
from tavernkit.risuai.errors import SendingStopped, TriggerError
from tavernkit.risuai.regex_scripts import ScriptMode, apply_scripts
from tavernkit.risuai.triggers import REFUSING, TriggerMode, TriggerResult, run_triggers
from tavernkit.risuai.workbench import Workbench


def run_scripts(
    ctx: Context,
    bench: Workbench,
    text: str,
    mode: ScriptMode,
    *,
    chat_index: int = -1,
    chat_role: str | None = None,
) -> str:
    """The text with its macros expanded and the scripts of the mode applied."""
    options = CBSOptions(chat_role=chat_role, quietly=True)
    result = apply_scripts(text, bench.scene, mode, chat_index=chat_index, options=options, budget=bench.script_time)
    tell(ctx, result.warnings)
    return result.text


def tell(ctx: Context, warnings: Iterable[BuildWarning]) -> None:
    """Make the warnings of a part that knows no build the build's own."""
    for warning in warnings:
        where: Mapping[str, Any] = warning.where
        ctx.warn(warning.code, warning.message, **where)


def run_phase(ctx: Context, bench: Workbench, mode: TriggerMode, *, display_data: str | None = None) -> TriggerResult:
    """Run the triggers of a mode, and write down what they make of the chat."""
    scene = bench.scene
    try:
        result = run_triggers(
            scene, mode, host=bench.story.host or REFUSING, strict=ctx.strict, display_data=display_data
        )
    except TriggerError as error:
        ctx.fail(error)
    tell(ctx, result.warnings)
    if mode != "request":
        scene.chat.messages = list(result.messages)
        scene.chat.note = result.note
    if mode == "start":
        prompts = result.prompts
        placed = {"promptend": prompts.promptend, "historyend": prompts.historyend, "start": prompts.start}
        bench.trigger_prompts = {location: text for location, text in placed.items() if text}
        bench.tokens += result.tokens
        if result.stop_sending:
            ctx.fail(SendingStopped("A trigger of the character or of a module wants nothing to be sent now."))
    return result
