"""When a question that nobody has begun to answer is asked again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

from tavernkit.playground.base.llm.base import ModelError
from tavernkit.values import Value

_LATER = (408, 429)


class Retries(Value, frozen=True, kw_only=True):
    """Seconds before the second attempt, doubled before each further one; and the longest that anybody waits.

    A server that asks to be left alone for longer is not asked again: the user is told, and decides.
    """

    first_wait: float = 0.5
    longest_wait: float = 20

    def wait(self, error: ModelError, attempt: int) -> float | None:
        """How long to wait after an attempt that ended like this; None when another would be no use."""
        if not _may_pass(error):
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.longest_wait else None
        backoff: float = self.first_wait * 2 ** (attempt - 1)
        return min(backoff, self.longest_wait)


def _may_pass(error: ModelError) -> bool:
    if error.status is not None:
        return error.status in _LATER or error.status >= 500
    return error.code == "connection_error"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that a refusal asks to wait, whether it says them or gives a time."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.replace(".", "", 1).isdigit():
        return float(value)
    # By the server's own clock, for ours may differ.
    then, now = _time(value), _time(headers.get("date", ""))
    return None if then is None or now is None else max(0.0, (then - now).total_seconds())


def _time(text: str) -> datetime | None:
    try:
        time = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return time if time.tzinfo is not None else None
