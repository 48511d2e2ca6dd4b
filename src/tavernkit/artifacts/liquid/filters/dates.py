"""Filters for dates, in UTC unless the template names a zone."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from tavernkit.artifacts.liquid.conversion import js_number, js_text
from tavernkit.artifacts.liquid.data import UNDEFINED, is_array, is_nil, is_number, plain
from tavernkit.artifacts.liquid.filters.texts import text_of
from tavernkit.artifacts.liquid.problems import CannotRenderError
from tavernkit.artifacts.liquid.scope import Rendering
from tavernkit.artifacts.liquid.strftime import strftime
from tavernkit.text.js_dates import Moment, parse_date

__all__ = ["FILTERS"]

_DEFAULT_FORMAT = "%A, %B %-e, %Y at %-l:%M %P %z"
_SHIFT = re.compile(r"(?P<sign>[+-])(?P<hours>[01][0-9]|2[0-3]):?(?P<minutes>[0-5][0-9])?")
_WRITTEN_OFFSET = re.compile(r"(?:Z|(?P<sign>[+-])(?P<hours>[0-9]{2}):?(?P<minutes>[0-9]{2}))\Z")
_LONGEST_FORMAT = 1_000
_NO_ZONES = frozenset({"Factory", "localtime"})


def _moment(rendering: Rendering, value: object, zone: object = UNDEFINED) -> Moment | None:
    """The moment that a value means; None for what means none."""
    milliseconds = _milliseconds(rendering, plain(value))
    moment = Moment.at(milliseconds)
    if moment is not None and zone is UNDEFINED and rendering.options.preserve_timezones:
        return _as_written(moment, plain(value))
    if moment is None or is_nil(plain(zone)):
        return moment
    if not isinstance(zone, str):
        return moment.shifted(-js_number(zone, rendering.meter))
    name = text_of(rendering, zone)
    if shift := _SHIFT.fullmatch(name):
        minutes = int(shift["hours"]) * 60 + int(shift["minutes"] or 0)
        return moment.shifted(-minutes if shift["sign"] == "-" else minutes)
    known = _zones().get(name.lower())
    if known is None:
        raise CannotRenderError(f"there is no time zone “{name}”")
    return moment.in_zone(ZoneInfo(known), name)


def _as_written(moment: Moment, value: object) -> Moment | None:
    """The moment at the offset that its text ends with; a text without one is of the clock of the machine, UTC."""
    if not isinstance(value, str) or _is_now(value) or _is_number_of_seconds(value):
        return moment
    if not (written := _WRITTEN_OFFSET.search(value)):
        return replace(moment, zone="UTC")
    minutes = int(written["hours"] or 0) * 60 + int(written["minutes"] or 0)
    return moment.shifted(-minutes if written["sign"] == "-" else minutes)


def _is_now(text: str) -> bool:
    return text in ("now", "today")


def _is_number_of_seconds(text: str) -> bool:
    return text.isascii() and text.isdigit()


@lru_cache(maxsize=1)
def _zones() -> dict[str, str]:
    """The names of zones by their lower case; those that mean a setting of the machine are none."""
    return {name.lower(): name for name in available_timezones() - _NO_ZONES}


def _milliseconds(rendering: Rendering, value: object) -> float:
    if isinstance(value, bool):
        return float(value)
    if is_number(value):
        return value * 1000
    if is_array(value):
        return parse_date(js_text(value, rendering.meter))
    if not isinstance(value, str):
        return math.nan
    if _is_now(value):
        return math.floor(rendering.clock().timestamp() * 1000)
    if _is_number_of_seconds(value):
        return float(value) * 1000
    return parse_date(value)


def _date(
    rendering: Rendering, value: object, format: object = UNDEFINED, zone: object = UNDEFINED, *_: object
) -> object:
    """The value itself where it is no date."""
    moment = _moment(rendering, value, zone)
    if moment is None:
        return value
    pattern = _DEFAULT_FORMAT if is_nil(plain(format)) else text_of(rendering, format)
    return _written(rendering, moment, pattern)


def _written(rendering: Rendering, moment: Moment, pattern: str) -> str:
    if len(pattern) > _LONGEST_FORMAT:
        raise CannotRenderError(f"a date's format is longer than {_LONGEST_FORMAT} characters")
    text = strftime(moment, pattern)
    rendering.meter.made(len(text))
    return text


def _as(pattern: str) -> Callable[..., object]:
    def date(rendering: Rendering, value: object, *_: object) -> object:
        moment = _moment(rendering, value)
        return value if moment is None else _written(rendering, moment, pattern)

    return date


def _with_month(month: str) -> Callable[..., object]:
    def date(
        rendering: Rendering, value: object, kind: object = UNDEFINED, style: object = UNDEFINED, *_: object
    ) -> object:
        moment = _moment(rendering, value)
        if moment is None:
            return value
        if kind != "ordinal":
            return _written(rendering, moment, f"%d {month} %Y")
        return _written(rendering, moment, f"{month} %-d%q, %Y" if style == "US" else f"%-d%q {month} %Y")

    return date


FILTERS: dict[str, Callable[..., object]] = {
    "date": _date,
    "date_to_long_string": _with_month("%B"),
    "date_to_rfc822": _as("%a, %d %b %Y %H:%M:%S %z"),
    "date_to_string": _with_month("%b"),
    "date_to_xmlschema": _as("%Y-%m-%dT%H:%M:%S%:z"),
}
