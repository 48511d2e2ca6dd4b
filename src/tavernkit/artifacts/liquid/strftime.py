"""Dates as text, with the signs that LiquidJS knows; any other stays as it is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from tavernkit.text.english_dates import MONTHS
from tavernkit.text.js_dates import DAYS, Moment

__all__ = ["strftime"]

_FORMAT = re.compile("%(?P<flags>[-_0^#:]+)?(?P<width>[0-9]+)?(?P<modifier>[EO])?(?P<sign>[^\n\r\u2028\u2029])")
_WIDEST = 100


def strftime(moment: Moment, pattern: str) -> str:
    """The moment in this pattern."""
    return _FORMAT.sub(lambda match: _written(moment, match), pattern)


def _written(moment: Moment, match: re.Match[str]) -> str:
    sign, flags = match["sign"], match["flags"] or ""
    convert = _SIGNS.get(sign)
    if convert is None:
        return match[0]
    width = min(int(match["width"][:4]), _WIDEST) if match["width"] else None
    if sign == "N":
        return f"{moment.time[3]:03}".ljust(width or 9, "0")[: width or 9]
    shows_shift = sign == "z" or (sign == "Z" and not moment.zone)
    text = _zone(moment, ":" if ":" in flags else "") if shows_shift else convert(moment)
    if "^" in flags:
        text = text.upper()
    elif "#" in flags:
        text = text.upper() if any("a" <= character <= "z" for character in text) else text.lower()
    fill = " " if "_" in flags or ("0" not in flags and sign in _FILLED_WITH_BLANKS) else "0"
    least = _WIDTHS.get(sign, 0) if width is None else width
    if "-" in flags:
        return text
    minus = "-" if fill == "0" and text.startswith("-") else ""
    return minus + text.removeprefix(minus).rjust(least - len(minus), fill)


def _zone(moment: Moment, colon: str) -> str:
    minutes = abs(int(moment.offset))
    return f"{'-' if moment.offset < 0 else '+'}{minutes // 60:02}{colon}{minutes % 60:02}"


def _ordinal(moment: Moment) -> str:
    day = moment.date[2]
    if day in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def _week(moment: Moment, first_day: int) -> str:
    """The week of the year; before the first `first_day` it is week 0."""
    return str((moment.day_of_year + 6 - (moment.weekday - first_day) % 7) // 7)


def _twelve(moment: Moment) -> str:
    return str(moment.time[0] % 12 or 12)


def _half(moment: Moment) -> str:
    return "AM" if moment.time[0] < 12 else "PM"


def _short_date(moment: Moment) -> str:
    year, month, day = moment.date
    return f"{month}/{day}/{year}"


def _short_time(moment: Moment) -> str:
    _, minute, second, _ = moment.time
    return f"{_twelve(moment)}:{minute:02}:{second:02} {_half(moment)}"


_SIGNS: Final[Mapping[str, Callable[[Moment], str]]] = {
    "a": lambda moment: DAYS[moment.weekday][:3],
    "A": lambda moment: DAYS[moment.weekday],
    "b": lambda moment: MONTHS[moment.date[1] - 1][:3],
    "B": lambda moment: MONTHS[moment.date[1] - 1],
    "c": lambda moment: f"{_short_date(moment)}, {_short_time(moment)}",
    "C": lambda moment: str(moment.date[0] // 100),
    "d": lambda moment: str(moment.date[2]),
    "e": lambda moment: str(moment.date[2]),
    "h": lambda moment: MONTHS[moment.date[1] - 1][:3],
    "H": lambda moment: str(moment.time[0]),
    "I": _twelve,
    "j": lambda moment: str(moment.day_of_year),
    "k": lambda moment: str(moment.time[0]),
    "l": _twelve,
    "L": lambda moment: str(moment.time[3]),
    "m": lambda moment: str(moment.date[1]),
    "M": lambda moment: str(moment.time[1]),
    "n": lambda _: "\n",
    "N": lambda moment: str(moment.time[3]),
    "p": _half,
    "P": lambda moment: _half(moment).lower(),
    "q": _ordinal,
    "s": lambda moment: str(moment.milliseconds // 1000),
    "S": lambda moment: str(moment.time[2]),
    "t": lambda _: "\t",
    "u": lambda moment: str(moment.weekday or 7),
    "U": lambda moment: _week(moment, 0),
    "w": lambda moment: str(moment.weekday),
    "W": lambda moment: _week(moment, 1),
    "x": _short_date,
    "X": _short_time,
    "y": lambda moment: str(moment.date[0] % 100),
    "Y": lambda moment: str(moment.date[0]),
    "z": lambda moment: _zone(moment, ""),
    "Z": lambda moment: moment.zone,
    "%": lambda _: "%",
}
_WIDTHS: Final = {
    "C": 2, "d": 2, "e": 2, "H": 2, "I": 2, "j": 3, "k": 2, "l": 2, "L": 3, "m": 2, "M": 2, "S": 2, "U": 2, "W": 2,
    "y": 2, "Y": 4,
}  # fmt: skip
_FILLED_WITH_BLANKS: Final = frozenset("aAbBceklpP")
