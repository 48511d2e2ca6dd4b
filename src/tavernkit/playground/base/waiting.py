"""Waiting for something, but not for ever."""

from __future__ import annotations

import asyncio
from math import ceil

from tavernkit.playground.base.languages import Sentence, ngettext
from tavernkit.playground.base.languages import gettext as _

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


async def happens(event: asyncio.Event, *, within: float) -> bool:
    """True as soon as the event happens, False when the time has passed without it."""
    try:
        async with asyncio.timeout(within):
            return await event.wait()
    except TimeoutError:
        return False


def plain_wait(seconds: float) -> Sentence:
    """How long to wait, for a sentence: rounded up, in the unit that people would say it in."""
    if seconds >= _DAY:
        return _("a day or longer")
    if seconds > 90 * _MINUTE:
        return ngettext("{count} hour", "{count} hours", ceil(seconds / _HOUR))
    if seconds > 90:
        return ngettext("{count} minute", "{count} minutes", ceil(seconds / _MINUTE))
    return ngettext("{count} second", "{count} seconds", max(1, ceil(seconds)))
