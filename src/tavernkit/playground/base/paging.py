"""Cursors: a place in an ordered list, as a text that only we read."""

from __future__ import annotations

import base64
import binascii
import json
from datetime import UTC, datetime
from uuid import UUID

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.storable import storable


def moment(time: datetime) -> str:
    """A time as cursors hold it."""
    return time.astimezone(UTC).isoformat()


def cursor(*place: str | int) -> str:
    """The place of a row in a list, as a text that only we read."""
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode()


def place_behind(after: str, *kinds: type[str] | type[int]) -> list[str | int]:
    """The place that a cursor of a list ordered by values of these kinds names."""
    try:
        place = json.loads(base64.urlsafe_b64decode(after.encode()))
    except (binascii.Error, ValueError, RecursionError):
        raise foreign_cursor() from None
    if not isinstance(place, list) or [type(part) for part in place] != list(kinds):
        raise foreign_cursor()
    if not all(abs(part) < 2**63 if isinstance(part, int) else part == storable(part) for part in place):
        raise foreign_cursor()
    return place


def behind_name(after: str | None) -> tuple[str, UUID] | None:
    """The name and the id that a cursor names, in a list ordered by them."""
    if after is None:
        return None
    name, id = map(str, place_behind(after, str, str))
    try:
        return name, UUID(id)
    except ValueError:
        raise foreign_cursor() from None


def behind_number(after: str | None) -> int | None:
    """The number that a cursor names, in a list ordered by it."""
    return None if after is None else int(place_behind(after, int)[0])


def behind_time(after: str | None) -> tuple[datetime, UUID] | None:
    """The time and the id that a cursor names, in a list ordered by them."""
    named = behind_name(after)
    if named is None:
        return None
    try:
        time = datetime.fromisoformat(named[0])
    except ValueError:
        raise foreign_cursor() from None
    if time.tzinfo is None:
        raise foreign_cursor()
    return time, named[1]


def foreign_cursor() -> Refused:
    return Refused("invalid", _("The cursor does not belong to this list. Start again without `after`."))
