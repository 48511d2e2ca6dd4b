"""The JavaScript engine of this thread that runs LiquidJS, and what that would ask Node, answered by Python."""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
import re
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final, TypeAlias
from zoneinfo import ZoneInfo, available_timezones

import msgspec

from tavernkit.errors import LiquidError, LiquidLimitError
from tavernkit.text.js_dates import parse_date
from tavernkit.text.js_engine import EngineError, JsEngine, ThreadEngine, TimeUpError
from tavernkit.text.js_strings import well_formed
from tavernkit.values import Json, Value

MEMORY_LIMIT = 128 * 1024 * 1024

_LEAST_TIME = 0.001
_TIME_FOR_PLACE = 0.1


NamedVariables: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""Each variable that a template names, with the members that it names of it."""


class Place(Value, frozen=True, kw_only=True):
    """Where something is wrong, counted from 1, and what it is."""

    line: int = 1
    column: int = 1
    partial: str | None = None
    kind: str = ""
    reason: str = ""


class Outcome(Value, frozen=True, kw_only=True):
    """What a verb of `engine.js` comes to: a text, an error, what it wants to know first, or what a template names."""

    text: str = ""
    error: Place | None = None
    wanted: tuple[tuple[Any, ...], ...] = ()
    read: tuple[tuple[str, str], ...] = ()
    variables: NamedVariables = ()


def call(verb: str, *arguments: Json, until: float) -> Outcome:
    """Run a verb of `engine.js`; raises LiquidLimitError when it has no memory left, or at a `time.process_time`."""
    engine = _engines.get()
    try:
        answer = engine.call(dict, verb, *arguments, limit=max(until - time.process_time(), _LEAST_TIME))
    except EngineError as problem:
        discard()
        used_up = "all the time" if isinstance(problem, TimeUpError) else "all the memory"
        raise placed(LiquidLimitError, f"it has used up {used_up} that it may have", _place(engine)) from None
    return msgspec.convert(answer, Outcome)


def placed(kind: type[LiquidError], reason: str, place: Place) -> LiquidError:
    """An error that says where it is."""
    what = "the template" if place.partial is None else f"the partial {place.partial!r}"
    message = f"Line {place.line}, column {place.column} of {what}: {reason}."
    return kind(message, line=place.line, column=place.column)


def _liquid_engine() -> JsEngine:
    folder = files(__package__)
    ours = folder.joinpath("engine.js").read_text(encoding="utf-8")
    liquidjs = folder.joinpath("liquidjs", "liquid.node.js").read_text(encoding="utf-8")
    return JsEngine(ours, f"load(function (exports, require) {{{liquidjs}\n}})", memory=MEMORY_LIMIT)


_engines = ThreadEngine(_liquid_engine)
discard = _engines.discard


def _place(engine: JsEngine) -> Place:
    try:
        return msgspec.convert(engine.call(dict, "place", limit=_TIME_FOR_PLACE), Place)
    except EngineError:
        return Place()


_SHIFT = re.compile(r"(?P<sign>[+-])(?P<hours>[01][0-9]|2[0-3]):?(?P<minutes>[0-5][0-9])?")
_MACHINE_ZONES = frozenset({"Factory", "localtime"})
_FIRST, _LAST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)


def _date(text: str) -> float | None:
    milliseconds = parse_date(text)
    return None if math.isnan(milliseconds) else milliseconds


def _offset(name: str, milliseconds: float) -> float | None:
    """How many milliseconds a zone is ahead of UTC at a moment; None for a zone that there is not."""
    if shift := _SHIFT.fullmatch(name):
        minutes = int(shift["hours"]) * 60 + int(shift["minutes"] or 0)
        return (-minutes if shift["sign"] == "-" else minutes) * 60_000
    zone = _zones().get(name.lower())
    if zone is None:
        return None
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    except OverflowError:
        moment = _FIRST if milliseconds < 0 else _LAST
    shown = min(max(moment, _FIRST), _LAST).astimezone(ZoneInfo(zone)).utcoffset()
    return (shown or timedelta()).total_seconds() * 1000


@lru_cache(maxsize=1)
def _zones() -> dict[str, str]:
    """The names of zones by their lower case; those that mean a setting of the machine are none."""
    return {name.lower(): name for name in available_timezones() - _MACHINE_ZONES}


def _encode(source: str, target: str, text: str) -> str:
    if (source, target) == ("utf8", "base64"):
        return base64.b64encode(well_formed(text).encode()).decode()
    return base64.b64decode(f"{text}===").decode("utf-8", "replace")


ANSWERS: Final[Mapping[str, Callable[..., Json]]] = {
    "date": _date,
    "offset": _offset,
    "encode": _encode,
    "sha256": lambda text: hashlib.sha256(well_formed(text).encode()).hexdigest(),
    "hmac_sha256": lambda text, key: hmac.new(
        well_formed(key).encode(), well_formed(text).encode(), "sha256"
    ).hexdigest(),
}
