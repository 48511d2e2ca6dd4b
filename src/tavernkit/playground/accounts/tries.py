"""How often somebody may try to sign in: by where they are, and by whose account it is.

The counts are this process's own; several servers on one database each count for themselves.
"""

from __future__ import annotations

import time
from ipaddress import IPv6Address, ip_address, ip_network
from math import ceil

from limits import RateLimitItem, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter

from tavernkit.playground.outcome import Refused

__all__ = ["PER_ACCOUNT", "PER_ADDRESS", "SignInTries", "TooManyTries"]

PER_ADDRESS = RateLimitItemPerMinute(10, 3)
# More than from one address, so that a stranger with one cannot keep the owner of the account out.
PER_ACCOUNT = RateLimitItemPerMinute(30, 15)


class TooManyTries(Refused, frozen=True, kw_only=True):
    """Come back in `retry_after` seconds."""

    retry_after: int


class SignInTries:
    """Counts the tries of the last minutes."""

    def __init__(self) -> None:
        self._limiter: FixedWindowRateLimiter | None = None

    def take(self, address: str, account: str = "") -> TooManyTries | None:
        """Count one more try, before anything is checked; a refusal when it is one too many."""
        limiter = self._ready()
        windows = [(PER_ADDRESS, f"address {_network(address)}")]
        if account:
            windows.append((PER_ACCOUNT, f"account {account}"))
        for item, key in windows:
            if not limiter.hit(item, key):
                return _refusal(limiter, item, key)
        return None

    def forgive(self, account: str) -> None:
        """Forget the tries at an account whose owner got it right.

        Those of the address stay: somebody with one account could otherwise try out another for ever.
        """
        self._ready().clear(PER_ACCOUNT, f"account {account}")

    def _ready(self) -> FixedWindowRateLimiter:
        # Made when it is needed: it brings a thread along, and a worker never counts tries.
        if self._limiter is None:
            self._limiter = FixedWindowRateLimiter(MemoryStorage())
        return self._limiter


def _refusal(limiter: FixedWindowRateLimiter, item: RateLimitItem, key: str) -> TooManyTries:
    # The limits are counted by the machine's clock, so the wait is measured by it too.
    seconds = max(1, ceil(limiter.get_window_stats(item, key).reset_time - time.time()))
    wait = "a minute" if seconds <= 60 else f"{ceil(seconds / 60)} minutes"
    sentence = f"There were too many tries to sign in. Wait {wait}, and try again."
    return TooManyTries(code="too_many_tries", sentence=sentence, retry_after=seconds)


def _network(address: str) -> str:
    """Somebody with IPv6 has a whole network of addresses to try from."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        mapped = parsed.ipv4_mapped
        return str(mapped or ip_network((parsed, 64), strict=False))
    return address
