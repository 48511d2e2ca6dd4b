"""Where a request comes from, as far as accounts care."""

from __future__ import annotations

from tavernkit.values import Value


class Visit(Value, frozen=True, kw_only=True):
    """Where somebody signs in from, so that they recognise the session later.

    `browser_tokens` prove at which accounts the browser has signed in before.
    """

    address: str = ""
    agent: str = ""
    browser_tokens: tuple[str, ...] = ()
