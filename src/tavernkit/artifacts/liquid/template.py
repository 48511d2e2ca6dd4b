"""The door: a template that is read once and rendered as often as wanted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache

from liquid import exceptions
from liquid.template import BoundTemplate

from tavernkit.artifacts.liquid.environment import environment
from tavernkit.artifacts.liquid.limits import MAX_NESTING, MAX_SOURCE, LiquidLimits
from tavernkit.artifacts.liquid.nodes import Output, line_of, render_all
from tavernkit.artifacts.liquid.options import LiquidOptions
from tavernkit.artifacts.liquid.scope import Rendering
from tavernkit.errors import LiquidLimitError, LiquidRenderError, LiquidSyntaxError
from tavernkit.text.js_strings import join_halves
from tavernkit.values import Json

__all__ = ["LiquidTemplate"]

_MOST_CACHED = 1024
_DEFAULT_LIMITS = LiquidLimits()
_DEFAULT_OPTIONS = LiquidOptions()
_LONE_HALF = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"


class LiquidTemplate:
    """A template that has been read. `parse` makes it; the same text is read once."""

    def __init__(self, parsed: BoundTemplate, options: LiquidOptions) -> None:
        self._parsed = parsed
        self._options = options

    @classmethod
    def parse(cls, source: str, *, options: LiquidOptions = _DEFAULT_OPTIONS) -> LiquidTemplate:
        """Read a template; raises LiquidSyntaxError, or LiquidLimitError when it is too long or too deep."""
        return cls(_parsed(source, strict_filters=options.strict_filters), options)

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
        rendering = Rendering(self._parsed, values, clock=clock, random=random, options=self._options, limits=limits)
        buffer = Output(rendering.meter)
        try:
            render_all(self._parsed.nodes, rendering, buffer)
        except (RecursionError, MemoryError):
            message = "The template or a value in it is nested too deeply to be rendered. Make it flatter."
            raise LiquidLimitError(message, line=1) from None
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            # A filter that met a value nobody thought of must fail like any other, not end the run it is part of.
            message = f"The template met a value it can do nothing with ({type(error).__name__}: {error})."
            raise LiquidRenderError(message, line=1) from error
        return _LONE_HALF.sub(_REPLACEMENT, join_halves(buffer.getvalue()))


@lru_cache(maxsize=_MOST_CACHED)
def _parsed(source: str, *, strict_filters: bool) -> BoundTemplate:
    if len(source) > MAX_SOURCE:
        message = f"The template is longer than {MAX_SOURCE} characters. Make several of it."
        raise LiquidLimitError(message, line=1)
    try:
        return environment(strict_filters=strict_filters).from_string(source)
    except exceptions.BlockNestingError:
        message = f"The template has tags in tags more than {MAX_NESTING} deep. Make it flatter."
        raise LiquidLimitError(message, line=1) from None
    except exceptions.LiquidSyntaxError as error:
        line = 1 if error.token is None else line_of(error.token)
        raise LiquidSyntaxError(f"Line {line} of the template: {error.message}.", line=line) from None
    except exceptions.LiquidError as error:
        message = "The template has values in values too deep to be read. Make it flatter."
        raise LiquidLimitError(message, line=1) from error
