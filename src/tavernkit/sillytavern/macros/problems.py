"""What went wrong while a text was expanded: records first, errors for those who are strict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from tavernkit.sillytavern.errors import MacroError, MacroSyntaxError, UnconsumedMacroError, UnknownMacroError
from tavernkit.values import Value

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


class MacroFailure(Exception):  # noqa: N818 - never leaves the engine: the call stays as text
    """Raised by a macro that cannot answer; its message says why."""
