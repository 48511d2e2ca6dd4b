"""Expressions as trees, and what they are worth in a rendering."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from tavernkit.artifacts.liquid.comparing import contains, equals, is_truthy, less, less_or_equal
from tavernkit.artifacts.liquid.conversion import js_number
from tavernkit.artifacts.liquid.data import UNDEFINED
from tavernkit.artifacts.liquid.limits import MAX_RANGE, Meter
from tavernkit.artifacts.liquid.problems import TooCostlyError
from tavernkit.artifacts.liquid.scope import Rendering

__all__ = ["Argument", "Expression", "FilterCall", "Filtered", "Literal", "Named", "Operator", "Path", "Range", "Term"]


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that stands in the template itself; a member's name, too."""

    value: object
    text: str

    def evaluate(self, rendering: Rendering, *, lenient: bool = False) -> object:
        del rendering, lenient
        return self.value


@dataclass(frozen=True, slots=True)
class Range:
    """`(1..3)`: a list of numbers, both ends included."""

    first: Term
    last: Term
    text: str

    def evaluate(self, rendering: Rendering, *, lenient: bool = False) -> object:
        del lenient
        first = js_number(self.first.evaluate(rendering), rendering.meter)
        last = js_number(self.last.evaluate(rendering), rendering.meter)
        if math.isnan(first) or math.isnan(last) or last < first:
            return []
        count = last + 1 - first if math.isfinite(first) and math.isfinite(last) else math.inf
        if count > MAX_RANGE:
            raise TooCostlyError(f"a range has more than {MAX_RANGE} numbers")
        rendering.meter.made(math.ceil(count))
        return [first + place for place in range(math.ceil(count))]


@dataclass(frozen=True, slots=True)
class Path:
    """Members of members; the first is a variable unless there is a root."""

    root: Term | None
    members: tuple[Term, ...]
    text: str

    def evaluate(self, rendering: Rendering, *, lenient: bool = False) -> object:
        rendering.meter.step()
        names = [member.evaluate(rendering) for member in self.members]
        if self.root is None:
            return rendering.variable(names, self.text, lenient=lenient)
        return rendering.member(self.root.evaluate(rendering, lenient=lenient), names, self.text, lenient=lenient)


Term: TypeAlias = Literal | Range | Path


@dataclass(frozen=True, slots=True)
class Operator:
    """A sign or word between values."""

    sign: str


_Comparison: TypeAlias = Callable[[object, object, Meter], bool]

_BINARY: Final[dict[str, _Comparison]] = {
    "==": equals,
    "!=": lambda left, right, meter: not equals(left, right, meter),
    "<": less,
    ">": lambda left, right, meter: less(right, left, meter),
    "<=": less_or_equal,
    ">=": lambda left, right, meter: less_or_equal(right, left, meter),
    "contains": contains,
    "and": lambda left, right, _: is_truthy(left) and is_truthy(right),
    "or": lambda left, right, _: is_truthy(left) or is_truthy(right),
}
_STRENGTH: Final = {"and": 0, "or": 0, "not": 1}
_STRONGEST: Final = 2


@dataclass(frozen=True, slots=True)
class Expression:
    """Values and operators, operators behind what they work on."""

    terms: tuple[Term | Operator, ...]

    @classmethod
    def of(cls, read: Sequence[Term | Operator]) -> Expression:
        """Put operators of equal strength in the order right to left."""
        ordered: list[Term | Operator] = []
        waiting: list[Operator] = []
        for term in read:
            if not isinstance(term, Operator):
                ordered.append(term)
                continue
            while waiting and _strength(waiting[-1]) > _strength(term):
                ordered.append(waiting.pop())
            waiting.append(term)
        return cls((*ordered, *reversed(waiting)))

    def evaluate(self, rendering: Rendering, *, lenient: bool = False) -> object:
        """Both sides of an operator are always looked at; what nothing worked on is left lying."""
        values: list[object] = []
        for term in self.terms:
            if not isinstance(term, Operator):
                values.append(term.evaluate(rendering, lenient=lenient))
                continue
            rendering.meter.step()
            right = values.pop() if values else UNDEFINED
            if term.sign == "not":
                values.append(not is_truthy(right))
            else:
                left = values.pop() if values else UNDEFINED
                values.append(_BINARY[term.sign](left, right, rendering.meter))
        return values[0] if values else UNDEFINED


def _strength(operator: Operator) -> int:
    return _STRENGTH.get(operator.sign, _STRONGEST)


@dataclass(frozen=True, slots=True)
class Named:
    """An argument with a name; filters that know no names see a pair."""

    name: str
    value: Term | None


Argument: TypeAlias = Literal | Range | Path | Named


@dataclass(frozen=True, slots=True)
class FilterCall:
    """A filter with its arguments; `position` is where its name stands in the template."""

    name: str
    arguments: tuple[Argument, ...]
    position: int

    def evaluate(self, value: object, rendering: Rendering) -> object:
        rendering.meter.step()
        return rendering.filter(self.name)(rendering, value, *(_argument(given, rendering) for given in self.arguments))


def _argument(given: Argument, rendering: Rendering) -> object:
    if isinstance(given, Named):
        return [given.name, UNDEFINED if given.value is None else given.value.evaluate(rendering)]
    return given.evaluate(rendering)


@dataclass(frozen=True, slots=True)
class Filtered:
    """An expression with its filters."""

    expression: Expression
    filters: tuple[FilterCall, ...]

    def evaluate(self, rendering: Rendering, *, lenient: bool = False) -> object:
        lenient = lenient or (rendering.is_lenient and bool(self.filters) and self.filters[0].name == "default")
        value = self.expression.evaluate(rendering, lenient=lenient)
        for call in self.filters:
            value = call.evaluate(value, rendering)
        return value
