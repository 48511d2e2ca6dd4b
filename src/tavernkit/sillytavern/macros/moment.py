"""Dates and durations in words, by the format codes that cards know from Moment.js, in English."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta, timezone

from tavernkit.text.js_dates import MONTHS, WEEKDAYS

_DAYS = (WEEKDAYS[-1], *WEEKDAYS[:-1])

_AMERICAN = {
    "LTS": "h:mm:ss A",
    "LT": "h:mm A",
    "LLLL": "dddd, MMMM D, YYYY h:mm A",
    "LLL": "MMMM D, YYYY h:mm A",
    "LL": "MMMM D, YYYY",
    "L": "MM/DD/YYYY",
    "llll": "ddd, MMM D, YYYY h:mm A",
    "lll": "MMM D, YYYY h:mm A",
    "ll": "MMM D, YYYY",
    "l": "M/D/YYYY",
}
_BRITISH = {
    "LTS": "HH:mm:ss",
    "LT": "HH:mm",
    "LLLL": "dddd, D MMMM YYYY HH:mm",
    "LLL": "D MMMM YYYY HH:mm",
    "LL": "D MMMM YYYY",
    "L": "DD/MM/YYYY",
    "llll": "ddd, D MMM YYYY HH:mm",
    "lll": "D MMM YYYY HH:mm",
    "ll": "D MMM YYYY",
    "l": "D/M/YYYY",
}
_LONG_FORMATS = {"en-us": _AMERICAN, "en-gb": _BRITISH, "en-au": _BRITISH, "en-nz": _BRITISH, "en-ie": _BRITISH}


def format_moment(moment: datetime, format: str, locale: str = "en-US") -> str:
    """Write the moment by a format such as `dddd, MMMM Do YYYY, h:mm A`."""
    long_formats = _LONG_FORMATS.get(locale.lower(), _AMERICAN)

    def spell_out(match: re.Match[str]) -> str:
        return match[0] if match[1] or match[0].startswith("\\") else long_formats.get(match[2], match[0])

    format = _LONG_CODE.sub(spell_out, format)
    return "".join(_written(moment, match[0]) for match in _CODE.finditer(format))


def _written(moment: datetime, code: str) -> str:
    if code.startswith("["):
        return code[1:-1] if code.endswith("]") and len(code) > 1 else code
    if code.startswith("\\"):
        return code[1:]
    if code in _WORDS:
        return _WORDS[code](moment)
    if code in _NUMBERS:
        return str(_NUMBERS[code](moment))
    if code in _ORDINALS:
        return _ordinal(_ORDINALS[code](moment))
    if code in _PADDED:
        return f"{_PADDED[code](moment):0{len(code)}d}"
    if code.startswith("S"):
        digits = f"{moment.microsecond:06d}"[:3]
        return (digits + "000000")[: len(code)]
    return code


def _ordinal(number: int) -> str:
    if number % 100 // 10 == 1:
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def _week(moment: datetime) -> tuple[int, int]:
    """Year and week where weeks begin on Sunday and the first one has the first of January in it."""
    days_after_sunday = (moment.weekday() + 1) % 7
    sunday = moment.date() - timedelta(days=days_after_sunday)
    year = (sunday + timedelta(days=6)).year
    first = moment.date().replace(year=year, month=1, day=1)
    first_sunday = first - timedelta(days=(first.weekday() + 1) % 7)
    return year, (sunday - first_sunday).days // 7 + 1


def _offset(moment: datetime, colon: str) -> str:
    minutes = round((moment.utcoffset() or timedelta()).total_seconds() / 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}{colon}{abs(minutes) % 60:02d}"


def _hour12(moment: datetime) -> int:
    return moment.hour % 12 or 12


def _weekday(moment: datetime) -> int:
    return (moment.weekday() + 1) % 7


_NUMBERS: dict[str, Callable[[datetime], int]] = {
    "M": lambda at: at.month,
    "D": lambda at: at.day,
    "DDD": lambda at: at.timetuple().tm_yday,
    "d": _weekday,
    "e": _weekday,
    "E": lambda at: at.isoweekday(),
    "w": lambda at: _week(at)[1],
    "W": lambda at: at.isocalendar().week,
    "Q": lambda at: (at.month + 2) // 3,
    "Y": lambda at: at.year,
    "y": lambda at: at.year,
    "h": _hour12,
    "H": lambda at: at.hour,
    "k": lambda at: at.hour or 24,
    "m": lambda at: at.minute,
    "s": lambda at: at.second,
    "x": lambda at: _milliseconds(at),
    "X": lambda at: _milliseconds(at) // 1000,
}
_ORDINALS = {f"{code}o": _NUMBERS[code] for code in ("M", "D", "DDD", "d", "w", "W", "Q", "y")}
_YEARS_OF_WEEKS: dict[str, Callable[[datetime], int]] = {
    "g": lambda at: _week(at)[0],
    "G": lambda at: at.isocalendar().year,
}
_PADDED = {
    letter * digits: read
    for letters, lengths in (("MDwWhHkms", (2,)), ("y", (2, 3, 4)), ("YgG", (4, 5)))
    for digits in lengths
    for letter, read in (_NUMBERS | _YEARS_OF_WEEKS).items()
    if letter in letters
}
"""Numbers with as many digits as the code has letters."""

_WORDS: dict[str, Callable[[datetime], str]] = {
    "MMM": lambda at: MONTHS[at.month - 1][:3],
    "MMMM": lambda at: MONTHS[at.month - 1],
    "DDDD": lambda at: f"{at.timetuple().tm_yday:03d}",
    "dd": lambda at: _DAYS[_weekday(at)][:2],
    "ddd": lambda at: _DAYS[_weekday(at)][:3],
    "dddd": lambda at: _DAYS[_weekday(at)],
    "YY": lambda at: f"{at.year % 100:02d}",
    "YYYYYY": lambda at: f"+{at.year:06d}",
    "gg": lambda at: f"{_week(at)[0] % 100:02d}",
    "GG": lambda at: f"{at.isocalendar().year % 100:02d}",
    "NNNN": lambda _: "Anno Domini",
    **dict.fromkeys(("N", "NN", "NNN", "NNNNN"), lambda _: "AD"),
    "a": lambda at: "am" if at.hour < 12 else "pm",
    "A": lambda at: "AM" if at.hour < 12 else "PM",
    "hmm": lambda at: f"{_hour12(at)}{at.minute:02d}",
    "hmmss": lambda at: f"{_hour12(at)}{at.minute:02d}{at.second:02d}",
    "Hmm": lambda at: f"{at.hour}{at.minute:02d}",
    "Hmmss": lambda at: f"{at.hour}{at.minute:02d}{at.second:02d}",
    **dict.fromkeys(("z", "zz"), lambda _: ""),
    "Z": lambda at: _offset(at, ":"),
    "ZZ": lambda at: _offset(at, ""),
}


def _any_of(codes: Iterable[str]) -> str:
    """A pattern for the longest of the codes that fits."""
    return "|".join(sorted(codes, key=len, reverse=True))


_LITERAL = r"\[[^\[]*\]"
_LONG_CODE = re.compile(rf"({_LITERAL})|\\?({_any_of(_AMERICAN)})")
_CODES = _any_of([*_WORDS, *_NUMBERS, *_ORDINALS, *_PADDED])
_CODE = re.compile(rf"{_LITERAL}|\\?(?:{_CODES}|S{{1,9}}|[^\n\r\u2028\u2029])")
"""A line break outside of brackets is nothing, and is not written."""


def _milliseconds(moment: datetime) -> int:
    return math.floor((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)


def with_offset(moment: datetime, offset: int) -> datetime:
    """The moment at an offset from UTC: hours when it is below 16, else minutes."""
    minutes = offset * 60 if abs(offset) < 16 else offset
    # Moment.js takes any offset; a zone of Python's only less than a day.
    shifted = moment.astimezone(UTC) + timedelta(minutes=minutes)
    return shifted.replace(tzinfo=timezone(timedelta(minutes=math.fmod(minutes, 1440))))


def humanize(duration: timedelta, *, with_suffix: bool = False) -> str:
    """About how long, in words; with a suffix `in a day` for what lies ahead and `a day ago` for the rest."""
    milliseconds = duration.total_seconds() * 1000
    words = _words(abs(milliseconds))
    if not with_suffix:
        return words
    return f"in {words}" if milliseconds > 0 else f"{words} ago"


def _words(milliseconds: float) -> str:
    """Each unit is rounded for itself, and the first that is small enough is said."""
    seconds = _round(milliseconds / 1_000)
    minutes = _round(milliseconds / 60_000)
    hours = _round(milliseconds / 3_600_000)
    days = _round(milliseconds / 86_400_000)
    months = _round(milliseconds / 86_400_000 * 4800 / 146_097)
    years = _round(milliseconds / 86_400_000 * 400 / 146_097)
    for limit, number, one, many in (
        (45, seconds, "a few seconds", "a few seconds"),
        (45, minutes, "a minute", "{} minutes"),
        (22, hours, "an hour", "{} hours"),
        (26, days, "a day", "{} days"),
        (11, months, "a month", "{} months"),
    ):
        if number < limit:
            return one if number <= 1 else many.format(number)
    return "a year" if years <= 1 else f"{years} years"


def _round(number: float) -> int:
    return math.floor(number + 0.5)
