"""The door: a template that is read once and rendered as often as wanted, with only the values that it reads."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec

from tavernkit.artifacts.liquid import engine
from tavernkit.artifacts.liquid.engine import ANSWERS, NamedVariables
from tavernkit.errors import LiquidError, LiquidLimitError, LiquidRenderError, LiquidSyntaxError
from tavernkit.values import Json, JsonObject, Value


class TextObject(dict[str, Json]):
    """A variable that prints as a text of its own, as a character prints as its name."""

    def __init__(self, fields: Mapping[str, Json], *, text: str) -> None:
        super().__init__(fields)
        self.text = text


class LazyObject(dict[str, Json]):
    """A variable of which a template is given only the members that it names, one by one."""

    def mark_read(self, name: str) -> None:
        """Called for each member that a rendering has read."""


def first_answers(variables: NamedVariables, values: Mapping[str, Json]) -> Iterator[tuple[list[str], JsonObject]]:
    """What a template is going to ask for, as far as its text shows."""
    for name, members in variables:
        if name not in values:
            continue
        paths = [[name]]
        variable = values[name]
        if isinstance(variable, LazyObject):
            paths += [[name, member] for member in members if member in variable]
        yield from ((["value", *path], answer(values, path)) for path in paths)


def answer(values: Mapping[str, Json], path: Iterable[str]) -> JsonObject:
    """The value of a variable or of a member of a lazy one, as `engine.js` wants it."""
    value: Json = values
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(value, LazyObject):
        return {"names": list(value)}
    return {"value": value, "text": value.text} if isinstance(value, TextObject) else {"value": value}


_MOST_CACHED = 1024
_MOST_ROUNDS = 50
_SEEDS = 2**32


class LiquidLimits(Value, frozen=True, kw_only=True):
    """What one rendering may use.

    `steps` counts every tag, output, path, operator and filter, and each item of a list that is given to one; `output`
    the characters of the result, and `memory` the characters and items that filters make on the way. These are the same
    everywhere; `seconds` of processor time are for what cannot be counted.
    """

    steps: int = 250_000
    output: int = 1_000_000
    memory: int = 4_000_000
    seconds: float = 10.0


class LiquidOptions(Value, frozen=True, kw_only=True, rename="camel"):
    """LiquidJS's switches. The defaults are what story templates get.

    `strict_variables` refuses a variable that is not there, `lenient_if` allows it in conditions, in assignments and
    before `default` all the same. Without `strict_filters` an unknown filter changes nothing. `preserve_timezones`
    shows a date at the offset that it is written with; any other is shown in `zone`, or in UTC. `partials` are the
    texts that `render` and `include` find by name; there is no file system.
    """

    strict_variables: bool = False
    lenient_if: bool = False
    strict_filters: bool = True
    preserve_timezones: bool = False
    zone: str | None = msgspec.field(default=None, name="timezoneOffset")
    partials: Mapping[str, str] = msgspec.field(default={}, name="templates")

    def as_json(self) -> str:
        return json.dumps({**msgspec.to_builtins(self), "timezoneOffset": self.zone or 0})


_DEFAULT_LIMITS = LiquidLimits()
_DEFAULT_OPTIONS = LiquidOptions()


class LiquidTemplate:
    """A template that has been read. `parse` makes it; the same text is read once."""

    def __init__(self, source: str, options: str, variables: NamedVariables) -> None:
        self._source = source
        self._options = options
        self._variables = variables

    @classmethod
    def parse(cls, source: str, *, options: LiquidOptions = _DEFAULT_OPTIONS) -> LiquidTemplate:
        """Read a template; raises LiquidSyntaxError, or LiquidLimitError when it is too long or too deep."""
        return _parsed(source, options.as_json())

    def render(
        self,
        values: Mapping[str, Json],
        *,
        clock: Callable[[], datetime],
        random: Callable[[], float],
        limits: LiquidLimits = _DEFAULT_LIMITS,
    ) -> str:
        """The text for these values, which stay as they are; raises LiquidRenderError or LiquidLimitError.

        `clock` says what "now" is and `random` what `sample` picks: the same of all of them give the same text.
        """
        until = time.process_time() + limits.seconds
        around = {
            "names": list(values),
            "now": int(clock().timestamp() * 1000),
            "limits": {"steps": limits.steps, "output": limits.output, "memory": limits.memory},
        }

        def answered(kind: str, *details: Any) -> Json:
            if kind == "value":
                return answer(values, details)
            return int(random() * _SEEDS) if kind == "seed" else ANSWERS[kind](*details)

        try:
            known = list(first_answers(self._variables, values))
            outcome = engine.call("render", self._options, self._source, around, known, until=until)
            for _ in range(_MOST_ROUNDS):
                if not outcome.wanted:
                    break
                learned = [(question, answered(*question)) for question in outcome.wanted]
                outcome = engine.call("again", learned, until=until)
        except RecursionError:
            message = "The template was given a value that is nested too deeply. Make it flatter."
            raise LiquidLimitError(message, line=1, column=1) from None
        except (TypeError, ValueError):
            message = "The template was given a value that is not JSON, such as a number that is infinite."
            raise LiquidRenderError(message, line=1, column=1) from None
        if outcome.wanted:
            message = f"The template has more than {_MOST_ROUNDS} dates or values that depend on each other."
            raise LiquidLimitError(message, line=1, column=1)
        for name, member in outcome.read:
            variable = values[name]
            if isinstance(variable, LazyObject):
                variable.mark_read(member)
        if outcome.error is not None:
            raise _error(outcome.error, LiquidRenderError)
        return outcome.text


@lru_cache(maxsize=_MOST_CACHED)
def _parsed(source: str, options: str) -> LiquidTemplate:
    until = time.process_time() + _DEFAULT_LIMITS.seconds
    outcome = engine.call("parse", options, source, until=until)
    if outcome.error is not None:
        raise _error(outcome.error, LiquidSyntaxError)
    return LiquidTemplate(source, options, outcome.variables)


def _error(found: engine.Place, kind: type[LiquidError]) -> LiquidError:
    if found.kind == "memory":
        engine.discard()
        return engine.placed(LiquidLimitError, "it has used up all the memory that it may have", found)
    return engine.placed(LiquidLimitError if found.kind == "limit" else kind, found.reason, found)
