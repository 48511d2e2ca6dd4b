"""Moments as JavaScript's `Date` has them: milliseconds since 1970, and the ways in which it reads them from text."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from tavernkit.text.js_strings import JS_WHITESPACE

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
"""In the order in which Python counts them."""

_DAY = 86_400_000
LATEST = 8.64e15
_ISO = re.compile(
    r"(?P<year>\d{4}|\+\d{6}|-(?!0{6})\d{6})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d))?)?"
    r"(?:[Tt](?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d+))?)?"
    r"(?P<zone>[Zz]|[+-](?:[01]\d|2[0-3]):?[0-5]\d)?)?",
    re.ASCII,
)
# Every sign from "A" on is part of a word, underscores and brackets, too.
_TOKEN = re.compile(
    rf"(?P<number>[0-9]+)|(?P<sign>[+-])|(?P<mark>[:.)])|(?P<word>[^\x00-@{JS_WHITESPACE}]+)"
    rf"|(?P<blank>[{JS_WHITESPACE}])|.",
    re.DOTALL,
)
_ZONES: Final = {
    "z": 0, "ut": 0, "utc": 0, "gmt": 0, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8,
    "pdt": -7,
}  # fmt: skip
_LONGEST = 200
_MOST_DIGITS = 9
_MOST_DAYS, _MOST_TIMES = 3, 4


def days_before(year: int, month: int, day: int) -> int:
    """Days from 1970 to a date; days beyond the end of a month go on in the next."""
    shifted_year = year - (month <= 2)
    era, of_era = divmod(shifted_year, 400)
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def local_to_utc(milliseconds: float, zone: tzinfo) -> float:
    """The milliseconds of what a clock in that zone shows as these; years that Python has not are read as in UTC."""
    try:
        shown = datetime(1970, 1, 1, tzinfo=zone) + timedelta(milliseconds=milliseconds)
        return milliseconds - (shown.utcoffset() or timedelta()).total_seconds() * 1000
    except OverflowError:
        return milliseconds


def parse_date(text: str, zone: tzinfo = UTC) -> float:
    """The milliseconds that V8's `Date.parse(text)` gives where that is the local clock; not-a-number for no date."""
    if len(text) > _LONGEST:
        return math.nan
    match = _ISO.fullmatch(text)
    value = None if match is None else _iso(match, zone)
    value = _Words(text).value(zone) if value is None else value
    return value if abs(value) <= LATEST else math.nan


def _iso(match: re.Match[str], zone: tzinfo) -> float | None:
    """The milliseconds of a date in the form of the standard; None if its numbers are of no day or time."""
    year, month, day = (int(match[name] or 1) for name in ("year", "month", "day"))
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    time = _time(hour, minute, second, _fraction(match["fraction"] or "0"))
    if time is None or not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    value = float(days_before(year, month, day) * _DAY + time - _offset(match["zone"]) * 60_000)
    return local_to_utc(value, zone) if match["hour"] and not match["zone"] else value


def _time(hour: int, minute: int, second: int, fraction: int) -> int | None:
    """The milliseconds since midnight, unless there is no such time; 24:00 is the midnight at the end."""
    if minute > 59 or second > 59 or fraction > 999 or hour > 24 or (hour == 24 and (minute or second or fraction)):
        return None
    return ((hour * 60 + minute) * 60 + second) * 1000 + fraction


def _fraction(digits: str) -> int:
    return int(digits.ljust(3, "0")[:3])


def _offset(zone: str | None) -> int:
    if not zone or zone in "Zz":
        return 0
    digits = zone[1:].replace(":", "")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return -minutes if zone[0] == "-" else minutes


class _Words:
    """Dates written for people, such as `March 14, 2026 3:09 pm GMT+2`: what comes is sorted by what it looks like.

    A number before a colon is of the time, one behind the sign of a zone is of the zone, any other of the day. Before
    the first number any word may stand; behind it only months, zones, `am` and `pm`. What is in parentheses is skipped.
    """

    def __init__(self, text: str) -> None:
        self._tokens = list(_TOKEN.finditer(_without_asides(text)))
        self._place = 0
        self._days: list[int] = []
        self._times: list[int] = []
        self._is_time_over = False
        self._month = 0
        self._half: int | None = None
        self._sign = 0
        self._zone_hour: int | None = None
        self._zone_minute: int | None = None
        self._has_number = False

    def value(self, zone: tzinfo) -> float:
        """The milliseconds; not-a-number where the text is no date."""
        while self._place < len(self._tokens):
            token = self._tokens[self._place]
            self._place += 1
            if not self._takes(token):
                return math.nan
        value = self._sum()
        return local_to_utc(value, zone) if self._zone_hour is None and not math.isnan(value) else value

    def _takes(self, token: re.Match[str]) -> bool:
        if token["number"]:
            self._has_number = True
            return self._number(token["number"])
        if token["word"]:
            return self._word(token["word"].lower())
        if token["sign"] and (self._times or (self._zone_hour == 0 and self._zone_minute == 0)):
            return self._zone_after(token["sign"])
        return not (self._has_number and (token["sign"] or token["mark"] == ")"))

    def _next(self, kind: str) -> str:
        """The next token if it is of that kind."""
        return (self._tokens[self._place][kind] or "") if self._place < len(self._tokens) else ""

    def _skips(self, kind: str, text: str) -> bool:
        found = self._next(kind) == text
        self._place += found
        return found

    def _number(self, digits: str) -> bool:
        number = int(digits.lstrip("0")[:_MOST_DIGITS] or "0")
        if self._skips("mark", ":"):
            return self._begin_of_time(number)
        is_before_point = self._skips("mark", ".")
        if is_before_point and self._is_of_time(number):
            fraction = self._next("number")
            self._place += 1
            self._times += [number, _fraction(fraction or "0")]
            self._is_time_over = True
            return bool(fraction)
        if self._zone_hour is not None and self._zone_minute is None and number < 60:
            self._zone_minute = number
            return True
        if self._is_of_time(number):
            self._times.append(number)
            self._is_time_over = True
            return self._is_at_end_of_time()
        self._days.append(number)
        self._skips("sign", "-")
        return len(self._days) <= _MOST_DAYS

    def _begin_of_time(self, number: int) -> bool:
        if self._is_time_over:
            return False
        if self._skips("mark", ":"):
            is_first = not self._times
            self._times += [number, 0]
            return is_first
        self._times.append(number)
        self._skips("mark", ".")
        return len(self._times) <= _MOST_TIMES

    def _is_of_time(self, number: int) -> bool:
        most = {1: 60, 2: 60, 3: 1000}.get(len(self._times), 0)
        return number < most and not self._is_time_over

    def _is_at_end_of_time(self) -> bool:
        if self._place == len(self._tokens):
            return True
        return bool(self._next("blank") or self._next("sign")) or self._next("word").lower() == "z"

    def _word(self, word: str) -> bool:
        months = [name[:3].lower() for name in MONTHS]
        if word in ("am", "pm") and self._times:
            self._half = 12 if word == "pm" else 0
        elif word[:3] in months:
            self._month = months.index(word[:3]) + 1
            self._skips("sign", "-")
        elif word in _ZONES and self._has_number:
            hours = _ZONES[word]
            self._sign, self._zone_hour, self._zone_minute = (-1 if hours < 0 else 1), abs(hours), 0
        else:
            return not self._has_number and not self._next("number")
        return True

    def _zone_after(self, sign: str) -> bool:
        digits = self._next("number")
        self._place += bool(digits)
        self._has_number = True
        self._sign = 1 if sign == "+" else -1
        number = int(digits[:_MOST_DIGITS] or "0")
        if self._next("mark") == ":":
            self._zone_hour, self._zone_minute = number, None
        elif len(digits) in (1, 2):
            self._zone_hour, self._zone_minute = number, 0
        elif len(digits) in (3, 4):
            self._zone_hour, self._zone_minute = divmod(number, 100)
        else:
            return False
        return True

    def _sum(self) -> float:
        if not self._days:
            return math.nan
        year, month, day = self._date()
        hour, minute, second, fraction = (*self._times, 0, 0, 0, 0)[:_MOST_TIMES]
        if self._half is not None:
            if hour > 12:
                return math.nan
            hour = hour % 12 + self._half
        time = _time(hour, minute, second, fraction)
        if time is None or not (1 <= month <= 12 and 1 <= day <= 31):
            return math.nan
        zone = self._sign * ((self._zone_hour or 0) * 60 + (self._zone_minute or 0))
        return float(days_before(year, month, day) * _DAY + time - zone * 60_000)

    def _date(self) -> tuple[int, int, int]:
        """Year, month and day: the first number is a year where it can be no day."""
        one, two, three = (*self._days, 1, 1)[:_MOST_DAYS]
        is_day = 1 <= one <= 31
        if self._month:
            year, month, day = (two, self._month, one) if is_day else (one, self._month, two)
        else:
            year, month, day = (three, one, two) if is_day else (one, two, three)
        if 0 <= year <= 99:
            year += 2000 if year < 50 else 1900
        return year, month, day


def _without_asides(text: str) -> str:
    """The text with a comma for everything in parentheses, which may stand in each other or be left open."""
    if "(" not in text:
        return text
    kept: list[str] = []
    depth = 0
    for character in text:
        if character == "(":
            depth += 1
            kept.append("," if depth == 1 else "")
        elif not depth:
            kept.append(character)
        elif character == ")":
            depth -= 1
    return "".join(kept)
