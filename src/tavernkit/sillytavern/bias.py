"""The words a reply shall begin with."""

from __future__ import annotations

from collections.abc import Iterable

from tavernkit.sillytavern.turns import ChatTurn


def reply_bias(newest_first: Iterable[ChatTurn], default: str, *, generation_type: str) -> str:
    """What the newest message of the user or a narrator asks for, else what the user's settings ask for.

    Hidden messages are asked, too: a hidden one may be there for nothing else.
    """
    if generation_type in ("impersonate", "continue"):
        return ""
    for place, turn in enumerate(newest_first):
        is_swiped = generation_type == "swipe" and place == 0
        if not is_swiped and (turn.is_user or turn.is_system or turn.is_narrator):
            return turn.bias if turn.bias.strip() else default
    return default
