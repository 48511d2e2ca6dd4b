"""What goes wrong inside, before anybody knows on which line; `template` turns it into the public errors."""

from __future__ import annotations

from liquid.exceptions import LiquidSyntaxError
from liquid.token import TOKEN_EXPRESSION, Token

__all__ = ["CannotRenderError", "TooCostlyError", "syntax_error"]


class CannotRenderError(Exception):
    """A rendering that cannot go on; the message completes "This template cannot be rendered: "."""


class TooCostlyError(CannotRenderError):
    """A rendering that costs too much."""


def syntax_error(message: str, source: str, position: int) -> LiquidSyntaxError:
    """An error of python-liquid for this place, which its parser passes on; `message` is the end of a sentence."""
    return LiquidSyntaxError(message, token=Token(TOKEN_EXPRESSION, "", min(position, len(source)), source))
