"""How often an address may ask for what needs no account. Counted by each server for itself: nothing can be guessed
there, so it is only about the work that strangers make."""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime, timedelta
from math import ceil

from tavernkit.playground.base.accounts.sign_in_limits import network_of
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.waiting import plain_wait

MOST_ADDRESSES = 10_000
READS_PER_MINUTE = 600


class AddressLimits:
    """So many requests from an address in a window of time that begins with the first of them."""

    def __init__(self, amount: int = READS_PER_MINUTE, window: timedelta = timedelta(minutes=1)) -> None:
        self.amount, self.window = amount, window
        self._counts: OrderedDict[str, tuple[int, datetime]] = OrderedDict()

    def count(self, address: str, now: datetime) -> None:
        """Count a request, and refuse it when it is one too many."""
        key = network_of(address)
        count, ends_at = self._counts.pop(key, (0, now + self.window))
        if not now < ends_at <= now + self.window:
            count, ends_at = 0, now + self.window
        self._counts[key] = count + 1, ends_at
        if len(self._counts) > MOST_ADDRESSES:
            self._counts.popitem(last=False)
        if count >= self.amount:
            seconds = ceil((ends_at - now).total_seconds())
            sentence = _("Too many requests. Wait {time} and try again.", time=plain_wait(seconds))
            raise Refused("too_many_tries", sentence, retry_after=seconds)
