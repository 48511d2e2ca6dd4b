"""Triggers during a build: they change the chat, add texts to the prompt, and can stop it."""

from __future__ import annotations

from tavernkit.prompt.context import Context
from tavernkit.risuai.errors import SendingStopped, TriggerError
from tavernkit.risuai.stages.scripts import tell
from tavernkit.risuai.triggers import REFUSING, TriggerMode, TriggerResult, run_triggers
from tavernkit.risuai.workbench import Workbench


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
        bench.trigger_prompts = {
            location: text
            for location, text in (
                ("promptend", result.prompts.promptend),
                ("historyend", result.prompts.historyend),
                ("start", result.prompts.start),
            )
            if text
        }
        bench.tokens += result.tokens
        if result.stop_sending:
            ctx.fail(SendingStopped("A trigger of the character or of a module wants nothing to be sent now."))
    return result
