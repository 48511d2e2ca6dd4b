"""Dates that people and chats write, read as Moment.js and SillyTavern read them; in milliseconds since 1970."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta, tzinfo

from tavernkit.text.js_dates import LATEST, MONTHS, days_before, local_to_utc, parse_date

_DAY = 86_400_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_ISO = tuple(
    re.compile(
        rf"\s*(?P<year>[+-]\d{{6}}|\d{{4}}){date}"
        rf"(?:[T ](?P<hour>\d\d){clock}(?P<zone>[+-]\d\d(?::?\d\d)?|\s*Z)?)?",
        re.ASCII,
    )
    for date, clock in (
        (
            r"-(?:(?P<month>\d\d)-(?P<day>\d\d)|W(?P<week>\d\d)(?:-(?P<weekday>\d))?|(?P<yearday>\d{3})|(?P<only>\d\d))",
            r"(?::(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?)?",
        ),
        (
            r"(?:(?P<month>\d\d)(?P<day>\d\d)|W(?P<week>\d\d)(?P<weekday>\d)?|(?P<yearday>\d{3})|(?P<only>\d\d)|)",
            r"(?:(?P<minute>\d\d)(?:(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?)?",
        ),
    )
)
"""Dates of the standard with dashes and colons, and without."""

_CHAT_DATE = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})\s*@\s*(\d{1,2})h\s*(\d{1,2})m\s*(\d{1,2})s(?:\s*(\d{1,3})ms)?", re.ASCII
)
_NAMED_DATE = re.compile(r"(\w+)\s(\d{1,2}),\s(\d{4})\s(\d{1,2}):(\d{1,2})(am|pm)", re.IGNORECASE | re.ASCII)


def parse_moment(date: str | int, zone: tzinfo) -> datetime | None:
    """The moment that the date of a chat means, however it is written; None when it means none."""
    found = parse_sent(date, zone)
    if found is None and isinstance(date, str):
        found = parse_written(date.strip(), zone)
    try:
        return None if found is None else _EPOCH.astimezone(zone) + timedelta(milliseconds=found)
    except OverflowError:
        return None


def parse_sent(date: str | int, zone: tzinfo) -> float | None:
    """When a message was sent: milliseconds, a date of the standard, or one of the forms of SillyTavern's files."""
    if isinstance(date, int) or re.fullmatch("[0-9]{1,16}", date):
        return float(date) if 0 <= int(date) <= LATEST else None
    if any(pattern.fullmatch(date) for pattern in _ISO):
        return parse_written(date, zone)
    if match := _NAMED_DATE.search(date):
        named = match[1].lower()
        month = next((n for n, name in enumerate(MONTHS, 1) if named in (name.lower(), name[:3].lower())), 0)
        hour = int(match[4]) % 12 + (12 if match[6].lower() == "pm" else 0)
        return _local((int(match[3]), month, int(match[2])), (hour, int(match[5]), 0, 0), zone)
    if match := _CHAT_DATE.search(date):
        year, month, day, *time = (int(part or 0) for part in match.groups())
        return _local((year, month, day), (time[0], time[1], time[2], time[3]), UTC)
    return None


def parse_written(text: str, zone: tzinfo) -> float | None:
    """What `moment(text)` means: a date of the standard, if its numbers are sound, else what JavaScript reads."""
    for pattern in _ISO:
        match = pattern.fullmatch(text)
        if match is not None and (match["hour"] is None or any(match.group("day", "weekday", "yearday"))):
            moment = _standard(match, zone)
            return moment if moment is not None and abs(moment) <= LATEST else None
    value = parse_date(text, zone)
    return None if math.isnan(value) else value


def _standard(match: re.Match[str], zone: tzinfo) -> float | None:
    year = int(match["year"])
    if match["week"] is not None:
        weekday = int(match["weekday"] or 1)
        if not (1 <= int(match["week"]) <= 53 and 1 <= weekday <= 7):
            return None
        # The fourth of January is always in the first week.
        fourth = days_before(year, 1, 4)
        date = fourth - (fourth + 3) % 7 + (int(match["week"]) - 1) * 7 + weekday - 1
    elif match["yearday"] is not None:
        date = days_before(year, 1, 1) + int(match["yearday"]) - 1
        if not days_before(year, 1, 1) <= date < days_before(year + 1, 1, 1):
            return None
    else:
        month, day = int(match["month"] or match["only"] or 1), int(match["day"] or 1)
        if not 1 <= month <= 12 or not 1 <= day <= days_before(year + month // 12, month % 12 + 1, 1) - days_before(
            year, month, 1
        ):
            return None
        date = days_before(year, month, day)
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    fraction = int(((match["fraction"] or "0") + "00")[:3])
    if not _is_time(hour, minute, second, fraction):
        return None
    time = ((hour * 60 + minute) * 60 + second) * 1000 + fraction
    written = match["zone"]
    if written is None:
        return local_to_utc(float(date * _DAY + time), zone)
    return float(date * _DAY + time - _offset(written.strip()) * 60_000)


def _is_time(hour: int, minute: int, second: int, fraction: int) -> bool:
    if hour == 24:
        return not (minute or second or fraction)
    return hour < 24 and minute < 60 and second < 60


def _offset(zone: str) -> int:
    """Minutes east of Greenwich."""
    if zone == "Z":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[3:].lstrip(":") or 0)
    return -minutes if zone.startswith("-") else minutes


def _local(date: tuple[int, int, int], time: tuple[int, int, int, int], zone: tzinfo) -> float | None:
    year, month, day = date
    hour, minute, second, fraction = time
    written = f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:03}"
    return parse_written(written, zone)
