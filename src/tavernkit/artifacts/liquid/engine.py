"""The JavaScript engine of this thread that runs LiquidJS."""

from __future__ import annotations

import threading
import time
from importlib.resources import files

from tavernkit.errors import LiquidError, LiquidLimitError
from tavernkit.text.js_engine import EngineError, JsEngine, TimeUpError
from tavernkit.values import Json, JsonObject

MEMORY_LIMIT = 128 * 1024 * 1024

_LEAST_TIME = 0.001
_TIME_FOR_PLACE = 0.1
_threads = threading.local()


def call(verb: str, *arguments: Json, until: float) -> JsonObject:
    """Run a verb of `engine.js`; raises LiquidLimitError when it has no memory left, or at a `time.process_time`."""
    engine = _engine()
    try:
        answer: JsonObject = engine.call(verb, *arguments, limit=max(until - time.process_time(), _LEAST_TIME))
    except EngineError as problem:
        discard()
        used_up = "all the time" if isinstance(problem, TimeUpError) else "all the memory"
        raise placed(LiquidLimitError, f"it has used up {used_up} that it may have", _place(engine)) from None
    return answer


def placed(kind: type[LiquidError], reason: str, place: JsonObject) -> LiquidError:
    """An error that says where it is."""
    line, column, partial = place["line"], place["column"], place["partial"]
    what = "the template" if partial is None else f"the partial {partial!r}"
    return kind(f"Line {line}, column {column} of {what}: {reason}.", line=line, column=column)


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


def _place(engine: JsEngine) -> JsonObject:
    try:
        place: JsonObject = engine.call("place", limit=_TIME_FOR_PLACE)
    except EngineError:
        return {"line": 1, "column": 1, "partial": None}
    return place
