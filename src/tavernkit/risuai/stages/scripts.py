"""Regex scripts during a build: one budget of time for all of them, and their problems among the build's warnings."""

from __future__ import annotations

from collections.abc import Iterable

from tavernkit.prompt.context import Context
from tavernkit.prompt.warning import BuildWarning
from tavernkit.risuai.cbs.options import CBSOptions
from tavernkit.risuai.errors import CBSError
from tavernkit.risuai.regex_scripts import ScriptMode, apply_scripts
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
    options = CBSOptions(strict=ctx.strict, chat_role=chat_role)
    try:
        result = apply_scripts(
            text, bench.scene, mode, chat_index=chat_index, options=options, budget=bench.script_time
        )
    except CBSError as error:
        ctx.fail(error)
    tell(ctx, result.warnings)
    return result.text


def tell(ctx: Context, warnings: Iterable[BuildWarning]) -> None:
    """Make the warnings of a part that knows no build the build's own."""
    for warning in warnings:
        ctx.warn(warning.code, warning.message, **warning.where)
