"""JavaScript engines, and the one of this thread that runs `js_regex.js` and nothing else."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from importlib.resources import files
from typing import TypeVar

import quickjs

from tavernkit.values import Json

T = TypeVar("T")

MEMORY_LIMIT = 64 * 1024 * 1024


class EngineError(Exception):
    """A call into JavaScript that gave no answer; whoever called turns it into an error of its own."""


class PatternError(EngineError):
    """The pattern is not one; the message is JavaScript's reason."""


class TimeUpError(EngineError):
    """The time was up."""


class SpaceUpError(EngineError):
    """Memory or stack were used up."""


class JsEngine:
    """One JavaScript context with a memory of its own; it must stay in the thread that made it.

    The scripts define a function `call` that takes a verb and its arguments as JSON, and gives its answer as JSON.
    """

    def __init__(self, *scripts: str, memory: int) -> None:
        self._context = quickjs.Context()
        self._context.set_memory_limit(memory)
        for script in scripts:
            self._context.eval(script)
        self._call = self._context.get("call")

    def call(self, kind: type[T], verb: str, *arguments: Json, limit: float) -> T:
        """Run one verb, whose answers are of that kind; `limit` is in seconds of processor time, which the engine
        counts for the whole process."""
        self._context.set_time_limit(limit)
        try:
            text: str = self._call(verb, json.dumps(arguments, allow_nan=False))
        except quickjs.JSException as error:
            raise _problem(str(error)) from None
        answer = json.loads(text)
        if not isinstance(answer, kind):
            raise TypeError(f"{verb} was to give a {kind.__name__}, not a {type(answer).__name__}")
        return answer


def _problem(message: str) -> EngineError:
    kind, _, reason = message.split("\n", 1)[0].partition(": ")
    if kind == "SyntaxError" and reason != "out of memory":
        return PatternError(reason)
    return TimeUpError() if reason == "interrupted" else SpaceUpError()


class ThreadEngine(threading.local):
    """The engine of each thread that asks for one, made at its first use."""

    def __init__(self, make: Callable[[], JsEngine]) -> None:
        self._make = make
        self._engine: JsEngine | None = None

    def get(self) -> JsEngine:
        if self._engine is None:
            self._engine = self._make()
        return self._engine

    def discard(self) -> None:
        """Throw this thread's engine away: what is left of its memory is not known."""
        self._engine = None


def _regex_engine() -> JsEngine:
    script = files(__package__).joinpath("js_regex.js").read_text(encoding="utf-8")
    return JsEngine(script, memory=MEMORY_LIMIT)


engine = ThreadEngine(_regex_engine).get
