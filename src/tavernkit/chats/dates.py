"""Dates in the spelling that SillyTavern gives new messages."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from tavernkit.text.js_numbers import to_number
from tavernkit.values import Json

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso_date(moment: datetime) -> str:
    """Such as `2024-05-01T10:00:00.000Z`; a moment without a time zone counts as UTC."""
    in_utc = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    return in_utc.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def milliseconds_of(date: str | int | float | None) -> int | None:
    """A date of a message in milliseconds, if it is a number or in this spelling."""
    if isinstance(date, int | float):
        return int(date) if math.isfinite(date) else None
    try:
        moment = datetime.fromisoformat(date or "")
    except ValueError:
        return None
    in_utc = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (in_utc - EPOCH) // timedelta(milliseconds=1)


def iso_from_milliseconds(value: Json) -> str | None:
    """The date of a number of milliseconds, also of one written as text; None for anything else."""
    number = to_number(value) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    try:
        return iso_date(EPOCH + timedelta(milliseconds=math.trunc(number)))
    except (OverflowError, ValueError):  # not a number, or a year that has no four digits
        return None
