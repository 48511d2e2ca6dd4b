"""Moments as JavaScript's `Date` has them: milliseconds since 1970, and the ways in which it reads them from text."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

__all__ = ["DAYS", "MONTHS", "Moment", "parse_date"]

MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
DAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")

_DAY = 86_400_000
_LATEST = 8.64e15
_FIRST_OF_DATETIME = datetime(1, 1, 2, tzinfo=UTC)
_LAST_OF_DATETIME = datetime(9999, 12, 30, tzinfo=UTC)
_ISO = re.compile(
    r"(?P<year>\d{4}|[+-]\d{6})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d))?)?"
    r"(?:[Tt](?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?"
    r"(?P<zone>[Zz]|[+-]\d\d:?\d\d)?)?"
)
_PARTS = re.compile(r"\([^)]*\)?|(?P<number>\d+)|(?P<word>[A-Za-z]+)|(?P<sign>[+-])|(?P<mark>[:.])|.", re.DOTALL)
_ZONES: Final = {
    "z": 0, "ut": 0, "utc": 0, "gmt": 0, "est": -300, "edt": -240, "cst": -360, "cdt": -300, "mst": -420, "mdt": -360,
    "pst": -480, "pdt": -420,
}  # fmt: skip
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment and the clock it is read on: `offset` is in minutes east of Greenwich."""

    milliseconds: int
    offset: float = 0.0
    zone: str = ""

    @classmethod
    def at(cls, milliseconds: float) -> Moment | None:
        """The moment, unless the number is none or further away than JavaScript goes."""
        if not abs(milliseconds) <= _LATEST:
            return None
        return cls(math.trunc(milliseconds))

    def shifted(self, minutes: float) -> Moment | None:
        return replace(self, offset=minutes) if abs(minutes) < 1e6 else None

    def in_zone(self, zone: tzinfo) -> Moment:
        moment = datetime(1970, 1, 1, tzinfo=UTC)
        try:
            moment += timedelta(milliseconds=self.milliseconds)
        except OverflowError:
            moment = _FIRST_OF_DATETIME if self.milliseconds < 0 else _LAST_OF_DATETIME
        moment = min(max(moment, _FIRST_OF_DATETIME), _LAST_OF_DATETIME)
        offset = moment.astimezone(zone).utcoffset() or timedelta()
        return replace(self, offset=offset.total_seconds() / 60, zone=str(zone))

    @property
    def _shown(self) -> int:
        return self.milliseconds + math.trunc(self.offset * 60_000)

    @property
    def day_number(self) -> int:
        """Days since 1970."""
        return self._shown // _DAY

    @property
    def weekday(self) -> int:
        """Sunday is 0."""
        return (self.day_number + 4) % 7

    @property
    def date(self) -> tuple[int, int, int]:
        """Year, month and day, each counted from 1."""
        days = self.day_number + 719_468
        era, of_era = divmod(days, 146_097)
        year_of_era = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
        of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
        shifted = (5 * of_year + 2) // 153
        month = shifted + 3 if shifted < 10 else shifted - 9
        return year_of_era + era * 400 + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1

    @property
    def time(self) -> tuple[int, int, int, int]:
        """Hour, minute, second and millisecond."""
        rest = self._shown % _DAY
        return rest // 3_600_000, rest // 60_000 % 60, rest // 1000 % 60, rest % 1000

    @property
    def day_of_year(self) -> int:
        return self.day_number - _days_before(self.date[0], 1, 1) + 1


def _days_before(year: int, month: int, day: int) -> int:
    """Days from 1970 to a date; days beyond the end of a month go on in the next."""
    shifted_year = year - (month <= 2)
    era, of_era = divmod(shifted_year, 400)
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def parse_date(text: str) -> float:
    """The milliseconds that `Date.parse(text)` gives where the local clock is UTC; not-a-number for no date."""
    text = text.strip()
    if len(text) > _LONGEST:
        return math.nan
    match = _ISO.fullmatch(text)
    if match is not None:
        return _iso(match)
    return _Words().read(text)


def _iso(match: re.Match[str]) -> float:
    year, month, day = (int(match[name] or 1) for name in ("year", "month", "day"))
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    fraction = int((match["fraction"] or "0").ljust(3, "0")[:3])
    is_midnight = hour == 24 and minute == second == fraction == 0
    if not (1 <= month <= 12 and 1 <= day <= 31 and (hour < 24 or is_midnight) and minute < 60 and second < 60):
        return math.nan
    time = ((hour * 60 + minute) * 60 + second) * 1000 + fraction
    return float(_days_before(year, month, day) * _DAY + time - _offset(match["zone"]) * 60_000)


def _offset(zone: str | None) -> int:
    if not zone or zone in "Zz":
        return 0
    digits = zone[1:].replace(":", "")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return -minutes if zone[0] == "-" else minutes


class _Words:
    """Dates written for people, such as `March 14, 2026 3:09 pm GMT+2`: what comes is sorted by what it looks like."""

    def __init__(self) -> None:
        self._days: list[int] = []
        self._time: list[int] = []
        self._fraction = 0
        self._month = 0
        self._half = ""
        self._zone: int | None = None
        self._sign = 0

    def read(self, text: str) -> float:
        parts = list(_PARTS.finditer(text))
        for place, part in enumerate(parts):
            behind = parts[place + 1][0] if place + 1 < len(parts) else ""
            before = parts[place - 1][0] if place else ""
            is_known = True
            if part["number"]:
                is_known = self._number(part["number"], before, behind)
            elif part["word"]:
                is_known = self._word(part["word"].lower())
            elif part["sign"]:
                self._sign = 1 if part["sign"] == "+" else -1
            if not is_known:
                return math.nan
        return self._value()

    def _number(self, digits: str, before: str, behind: str) -> bool:
        if len(digits) > 9:
            return False
        number = int(digits)
        if self._sign and (self._time or self._zone is not None):
            self._zone_number(number, digits, behind)
        elif before == ":" and self._sign == 0 and 0 < len(self._time) < 3:
            self._time.append(number)
        elif before == ":" and self._zone is not None:
            self._zone += int(math.copysign(number, self._zone))
        elif behind == ":" and not self._time:
            self._time.append(number)
            self._sign = 0
        elif before == "." and len(self._time) == 3:
            self._fraction = int(digits.ljust(3, "0")[:3])
        elif len(self._days) < 3:
            self._days.append(number)
            self._sign = 0
        else:
            return False
        return True

    def _zone_number(self, number: int, digits: str, behind: str) -> None:
        minutes = number * 60 if len(digits) <= 2 or behind == ":" else number // 100 * 60 + number % 100
        self._zone = self._sign * minutes
        self._sign = 0

    def _word(self, word: str) -> bool:
        months = [name[:3].lower() for name in MONTHS]
        if word in ("am", "pm"):
            self._half = word
        elif word[:3] in months:
            self._month = months.index(word[:3]) + 1
        elif word in _ZONES and (self._days or self._time):
            self._zone = _ZONES[word]
        elif word == "t" and self._days:
            return True
        else:
            # Before the first number any word may stand, behind it only the name of a day.
            return not (self._days or self._time) or any(word[:3] == day[:3].lower() for day in DAYS)
        return True

    def _value(self) -> float:
        if not self._days:
            return math.nan
        one, two, three = (*self._days, 1, 1)[:3]
        if self._month:
            month = self._month
            year, day = (one, two) if not 1 <= one <= 31 else (two, one)
        elif not 1 <= one <= 31:
            year, month, day = one, two, three
        else:
            month, day, year = one, two, three
        if 0 <= year <= 99:
            year += 2000 if year < 50 else 1900
        hour, minute, second = (*self._time, 0, 0, 0)[:3]
        if self._half:
            if not 1 <= hour <= 12:
                return math.nan
            hour = hour % 12 + (12 if self._half == "pm" else 0)
        if not (1 <= month <= 12 and 1 <= day <= 31 and hour <= 24 and minute < 60 and second < 60):
            return math.nan
        time = ((hour * 60 + minute) * 60 + second) * 1000 + self._fraction
        return float(_days_before(year, month, day) * _DAY + time - (self._zone or 0) * 60_000)
