"""What time it is, when messages were sent, and how long ago; the zone of the scene's clock is local time."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, tzinfo

from tavernkit.risuai.arrays import write_array
from tavernkit.risuai.cbs.call import CBSCall, LeftAsText
from tavernkit.risuai.cbs.functions.arguments import number_at
from tavernkit.risuai.cbs.functions.history import chat_of, message_at
from tavernkit.risuai.cbs.registry import FunctionPack
from tavernkit.text.js_dates import MONTHS, WEEKDAYS
from tavernkit.text.js_numbers import js_floor, js_remainder, number_to_string, to_fixed, to_integer
from tavernkit.text.js_strings import utf16_length

_NOT_COUNTED = "00:00:00"
_NO_MESSAGE = "[Cannot get time]"
_NO_TIME = "[Cannot get time, message was sent in older version]"
_NO_EARLIER_TIME = "[Cannot get time, previous message was sent in older version]"
_LONGEST_FORMAT = 300
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MOMENT = 8.64e15
_DAY = 86_400_000
_CYCLE_YEARS = 400
_CYCLE = 146_097 * _DAY
_NEAR_START, _NEAR_END = -4 * _CYCLE, 20 * _CYCLE  # the years 370 to 9970

CLOCK = FunctionPack(
    "clock",
    {
        "isotime": lambda call: _time(call.scene.now().astimezone(UTC)),
        "isodate": lambda call: _date(call.scene.now().astimezone(UTC)),
        "time": lambda call: _formatted(call) if call.arguments else _time(call.scene.now()),
        "date datetimeformat": lambda call: _formatted(call) if call.arguments else _date(call.scene.now()),
        "messageunixtimearray": lambda call: write_array(
            number_to_string(message.time or 0) for message in chat_of(call).messages
        ),
    },
)


class _Moment:
    """A moment on the clock of the zone; it may lie far beyond the years that Python's calendar knows."""

    def __init__(self, milliseconds: int, zone: tzinfo | None) -> None:
        # The calendar repeats itself, so such a year is looked at in another cycle.
        is_near = _NEAR_START <= milliseconds < _NEAR_END
        cycles, within = (0, milliseconds) if is_near else divmod(milliseconds, _CYCLE)
        self.milliseconds = milliseconds
        self.local = (_EPOCH + timedelta(milliseconds=within)).astimezone(zone)
        self.year = self.local.year + cycles * _CYCLE_YEARS

    @property
    def day_of_year(self) -> int:
        before_first = self.local.replace(month=1, day=1, hour=0, minute=0, second=0, microsecond=0) - timedelta(days=1)
        return (self.local.astimezone(UTC) - before_first.astimezone(UTC)) // timedelta(days=1)

    @property
    def hour_of_half_day(self) -> int:
        return self.local.hour % 12 or 12

    @property
    def half_day(self) -> str:
        return "PM" if self.local.hour >= 12 else "AM"


def _milliseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _now(call: CBSCall) -> _Moment:
    now = call.scene.now()
    return _Moment(_milliseconds(now), now.tzinfo)


def _moment(call: CBSCall, milliseconds: float) -> _Moment | None:
    """The moment of a timestamp, or None for one beyond the calendar."""
    if not abs(milliseconds) <= _LAST_MOMENT:
        return None
    return _Moment(int(to_integer(milliseconds)), call.scene.now().tzinfo)


@CLOCK.function("unixtime")
def unix_time(call: CBSCall) -> str:
    return to_fixed(_now(call).milliseconds / 1000)


def _time(moment: datetime) -> str:
    return f"{moment.hour}:{moment.minute}:{moment.second}"


def _date(moment: datetime) -> str:
    return f"{moment.year}-{moment.month}-{moment.day}"


def _formatted(call: CBSCall) -> str:
    pattern = call.need(0)
    if not pattern:
        return ""
    # A timestamp is taken for thousandths of what it is, and so a real one falls into January 1970.
    stamp = number_at(call, 1) / 1000 if call.get(1) else 0
    moment = _now(call) if stamp == 0 or math.isnan(stamp) else _moment(call, stamp)
    pattern = pattern.removeprefix(":")
    if utf16_length(pattern) > _LONGEST_FORMAT:
        return ""
    if moment is None:
        raise LeftAsText
    # One after the other, so that the A of April and August is taken for the half of the day.
    for token, written in _tokens(moment):
        pattern = pattern.replace(token, written)
    return pattern


def _tokens(moment: _Moment) -> tuple[tuple[str, str], ...]:
    local = moment.local
    month, weekday = MONTHS[local.month - 1], WEEKDAYS[local.weekday()]
    return (
        ("YYYY", str(moment.year)),
        ("YY", str(moment.year)[2:]),
        ("MMMM", month),
        ("MMM", month[:3]),
        ("MM", f"{local.month:02}"),
        ("DDDD", str(moment.day_of_year)),
        ("DD", f"{local.day:02}"),
        ("dddd", weekday),
        ("ddd", weekday[:3]),
        ("HH", f"{local.hour:02}"),
        ("hh", f"{moment.hour_of_half_day:02}"),
        ("mm", f"{local.minute:02}"),
        ("ss", f"{local.second:02}"),
        ("X", str(moment.milliseconds // 1000)),
        ("x", str(moment.milliseconds)),
        ("A", moment.half_day),
    )


@CLOCK.function("messagetime")
def message_time(call: CBSCall) -> str:
    moment = _sent(call)
    if isinstance(moment, str):
        return moment
    local = moment.local
    return f"{moment.hour_of_half_day}:{local.minute:02}:{local.second:02} {moment.half_day}"


@CLOCK.function("messagedate")
def message_date(call: CBSCall) -> str:
    moment = _sent(call)
    return moment if isinstance(moment, str) else f"{moment.local.month}/{moment.local.day}/{moment.year}"


def _sent(call: CBSCall) -> _Moment | str:
    """When the message was sent whose text is parsed, or why that cannot be said."""
    if call.options.tokenizes_accurately:
        return _NOT_COUNTED
    if call.options.chat_index == -1:
        return _NO_MESSAGE
    sent = message_at(call, call.options.chat_index).time
    if not sent:
        return _NO_TIME
    return _moment(call, sent) or "Invalid Date"


@CLOCK.function("messageidleduration")
def message_idle_duration(call: CBSCall) -> str:
    """How long the user was away before the last message of theirs, up to the one whose text is parsed."""
    if call.options.tokenizes_accurately:
        return _NOT_COUNTED
    if call.options.chat_index == -1:
        return _NO_MESSAGE
    messages = chat_of(call).messages
    if call.options.chat_index >= len(messages):
        raise LeftAsText
    before = reversed(messages[: max(call.options.chat_index + 1, 0)])
    of_user = (message for message in before if message.role == "user")
    last, earlier = next(of_user, None), next(of_user, None)
    if last is None:
        return "[No user message found]"
    if earlier is None:
        return "[No previous user message found]"
    if not last.time:
        return _NO_TIME
    return _duration(last.time - earlier.time) if earlier.time else _NO_EARLIER_TIME


@CLOCK.function("idleduration")
def idle_duration(call: CBSCall) -> str:
    if call.options.tokenizes_accurately:
        return _NOT_COUNTED
    messages = chat_of(call).messages
    if not messages:
        return _NOT_COUNTED
    sent = messages[-1].time
    return _duration(_now(call).milliseconds - sent) if sent else _NO_TIME


def _duration(milliseconds: float) -> str:
    """Hours, minutes and seconds; of a time that runs backwards each has its own sign."""
    seconds = js_floor(milliseconds / 1000)
    minutes = js_floor(seconds / 60)
    written = (number_to_string(js_remainder(part, 60)).rjust(2, "0") for part in (minutes, seconds))
    return ":".join((number_to_string(js_floor(minutes / 60)), *written))
