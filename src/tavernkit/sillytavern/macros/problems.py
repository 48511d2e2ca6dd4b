"""What went wrong while a text was expanded, and how much expanding may cost: records first, errors for the strict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias

from tavernkit.sillytavern.errors import MacroError, MacroSyntaxError, UnconsumedMacroError, UnknownMacroError
from tavernkit.values import Value


class MacroLimits(Value, frozen=True, kw_only=True):
    """Calls inside calls; pieces of text and calls worked through; characters put together; characters read again.

    The last are those of conditions and branches: a block inside ten others is read eleven times.
    """

    nesting: int = 100
    steps: int = 500_000
    output: int = 20_000_000
    rereading: int = 1_000_000


DEFAULT_LIMITS = MacroLimits()


class LimitReached(Exception):  # noqa: N818 - never leaves the engine: the text stays as it was
    """Raised when an expansion has cost too much; its message says what there was too much of."""


ProblemCode: TypeAlias = Literal["unknown_macro", "macro_syntax", "unconsumed_macro", "macro_limit"]

_ERRORS: dict[ProblemCode, type[MacroError]] = {
    "unknown_macro": UnknownMacroError,
    "macro_syntax": MacroSyntaxError,
    "unconsumed_macro": UnconsumedMacroError,
    "macro_limit": MacroError,
}


class MacroProblem(Value, frozen=True, kw_only=True):
    """A call that stayed as text, or a limit that was reached.

    `position` counts characters of the text that was given; of an unconsumed placeholder that came out of a value,
    which has no place there, characters of the result.
    """

    code: ProblemCode
    message: str
    name: str
    position: int

    def error(self) -> MacroError:
        """The same as an exception, for a strict build."""
        return _ERRORS[self.code](self.message, macro_name=self.name, position=self.position)


ProblemHandler: TypeAlias = Callable[[MacroProblem], None]


class PlacedProblems(Protocol):
    """Is told of a problem, of the text that was expanded, and of the place where that stands, "" if it is made of
    several."""

    def __call__(self, problem: MacroProblem, text: str = "", place: str = "") -> None: ...


class MacroFailure(Exception):  # noqa: N818 - never leaves the engine: the call stays as text
    """Raised by a macro that cannot answer; its message says why."""
