"""The user's clock and calendar."""

from __future__ import annotations

import re
from datetime import timedelta

from tavernkit.sillytavern.macros.dates import parse_sent, parse_written
from tavernkit.sillytavern.macros.environment import Environment
from tavernkit.sillytavern.macros.evaluator import MacroExpansion
from tavernkit.sillytavern.macros.moment import format_moment, humanize, with_offset
from tavernkit.sillytavern.macros.registry import MacroArgument, Pack

TIME = Pack("time")

_UTC_OFFSET = re.compile(r"UTC([+-][0-9]+)")
_MAX_OFFSET_DIGITS = 9
_INVALID = "Invalid date"


def _format_now(environment: Environment, format: str) -> str:
    """The present moment by a format of Moment.js."""
    return format_moment(environment.now(), format, environment.locale)


def _idle_duration(expansion: MacroExpansion) -> str:
    environment = expansion.environment
    seen_one = False
    for line in reversed(environment.chat):
        if line.is_system:
            continue
        if line.is_user and seen_one:
            if not line.sent:
                return "just now"
            sent = parse_sent(line.sent, environment.zone)
            now = environment.now().timestamp() * 1000
            return _INVALID if sent is None else humanize(timedelta(milliseconds=now - sent))
        seen_one = True
    return "just now"


@TIME.macro(
    "time",
    "The time of day, here or at an offset such as `UTC+2`.",
    MacroArgument(name="offset", optional=True, default="null"),
)
def _time(expansion: MacroExpansion, offset: str = "") -> str:
    environment = expansion.environment
    match = _UTC_OFFSET.fullmatch(offset)
    if match is None or len(match[1]) > _MAX_OFFSET_DIGITS:
        return _format_now(environment, "LT")
    return format_moment(with_offset(environment.now(), int(match[1])), "LT", environment.locale)


TIME.macro("date", "The date in words.")(lambda expansion: _format_now(expansion.environment, "LL"))
TIME.macro("weekday", "The day of the week.")(lambda expansion: _format_now(expansion.environment, "dddd"))
TIME.macro("isotime", "The time of day as `14:05`.")(lambda expansion: _format_now(expansion.environment, "HH:mm"))
TIME.macro("isodate", "The date as `2024-03-15`.")(lambda expansion: _format_now(expansion.environment, "YYYY-MM-DD"))


@TIME.macro("datetimeformat", "The present moment by a format of Moment.js.", MacroArgument(name="format"))
def _datetimeformat(expansion: MacroExpansion, format: str) -> str:
    return _format_now(expansion.environment, format or "YYYY-MM-DDTHH:mm:ssZ")


TIME.macro(
    "idleDuration",
    "How long ago the user wrote the message before the last one.",
    hidden=("idle_duration",),
)(_idle_duration)


@TIME.macro(
    "timeDiff", "How the first time lies to the second.", MacroArgument(name="left"), MacroArgument(name="right")
)
def _time_difference(expansion: MacroExpansion, left: str, right: str) -> str:
    zone = expansion.environment.zone
    first, second = parse_written(left, zone), parse_written(right, zone)
    if first is None or second is None:
        return _INVALID
    return humanize(timedelta(milliseconds=first - second), with_suffix=True)
