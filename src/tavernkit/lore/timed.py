"""Lore that stays or rests for some messages: what one build leaves behind for the next."""

from __future__ import annotations

from collections.abc import Mapping

from tavernkit.values import Value


class TimedEffect(Value, frozen=True, kw_only=True):
    """An effect from one length of the chat up to another. `fingerprint` is that of the entry as it was: an effect does
    not carry over to an entry that was edited since. A protected effect outlives deleted messages."""

    start: int
    end: int
    fingerprint: str
    protected: bool = False


class TimedState(Value, frozen=True, kw_only=True):
    """The effects of a chat, by the entry's reference. It comes out of one turn and goes into the next."""

    sticky: Mapping[str, TimedEffect] = {}
    cooldown: Mapping[str, TimedEffect] = {}
