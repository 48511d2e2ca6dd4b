"""The words a reply shall begin with."""

from __future__ import annotations

from collections.abc import Sequence

from tavernkit.sillytavern.turns import Turn

__all__ = ["reply_bias"]


def reply_bias(turns: Sequence[Turn], default: str, *, generation_type: str) -> str:
    """What the newest message of the user or a narrator asks for, else what the user's settings ask for."""
    if generation_type in ("impersonate", "continue"):
        return ""
    for turn in reversed(turns):
        if turn.is_user or turn.is_narrator:
            return turn.bias if turn.bias.strip() else default
    return default
