"""The application's last chance to change the blocks, while the budget can still be kept."""

from __future__ import annotations

from tavernkit.prompt.context import Context

__all__ = ["after_hooks"]


def after_hooks(ctx: Context) -> None:
    """Let the application change the blocks."""
    ctx.hooks.run_after_build(ctx)
