"""The JavaScript engine of this thread that runs LiquidJS."""

from __future__ import annotations

import threading
import time
from importlib.resources import files
from typing import Any

import msgspec

from tavernkit.artifacts.liquid.values import NamedVariables
from tavernkit.errors import LiquidError, LiquidLimitError
from tavernkit.text.js_engine import EngineError, JsEngine, TimeUpError
from tavernkit.values import Json, Value

MEMORY_LIMIT = 128 * 1024 * 1024

_LEAST_TIME = 0.001
_TIME_FOR_PLACE = 0.1
_threads = threading.local()


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
    engine = _engine()
    try:
        answer = engine.call(verb, *arguments, limit=max(until - time.process_time(), _LEAST_TIME))
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


def discard() -> None:
    """Throw this thread's engine away: what is left of its memory is not known."""
    _threads.engine = None


def _engine() -> JsEngine:
    found: JsEngine | None = getattr(_threads, "engine", None)
    if found is None:
        folder = files(__package__)
        ours = folder.joinpath("engine.js").read_text(encoding="utf-8")
        liquidjs = folder.joinpath("liquidjs", "liquid.node.js").read_text(encoding="utf-8")
        define = f"load(function (exports, require) {{{liquidjs}\n}})"
        found = _threads.engine = JsEngine(ours, define, memory=MEMORY_LIMIT)
    return found


def _place(engine: JsEngine) -> Place:
    try:
        return msgspec.convert(engine.call("place", limit=_TIME_FOR_PLACE), Place)
    except EngineError:
        return Place()
