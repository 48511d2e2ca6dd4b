"""What went wrong while a text was expanded: records, for whoever watches a build."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from tavernkit.errors import StrictModeError, TavernKitError
from tavernkit.risuai.errors import CBSError, CBSStackOverflowError, CBSSyntaxError
from tavernkit.values import Value

ProblemCode: TypeAlias = Literal["unknown_macro", "cbs_syntax", "cbs_stack_overflow", "macro_limit"]

FOR_LATER = frozenset(
    {"asset", "emotion", "audio", "bg", "bgm", "video", "videoimg", "image", "img", "path", "raw", "inlay", "inlayed"}
    | {"inlayeddata", "source", "slot", "position", "original", "arg", "return"}
)
"""Macros that are no functions of the table: the page shows them, or a stage of the prompt fills them."""


class CBSProblem(Value, frozen=True, kw_only=True):
    """A macro or block that stayed as text, or a text that cost too much; `snippet` is how it is written."""

    code: ProblemCode
    message: str
    snippet: str

    def error(self, sentence: str) -> TavernKitError:
        """What a strict build raises, with a sentence that has the place in it."""
        return CBSError(sentence) if self.code == "macro_limit" else StrictModeError(sentence, code=self.code)


class SyntaxProblem(CBSProblem, frozen=True, kw_only=True):
    """A block or macro that is malformed; `position` is known where parsing is strict."""

    code: ProblemCode = "cbs_syntax"
    position: int | None = None
    block_type: str | None = None

    def error(self, sentence: str) -> TavernKitError:
        return CBSSyntaxError(sentence, position=self.position, block_type=self.block_type)


class StackProblem(CBSProblem, frozen=True, kw_only=True):
    """A text that brings in too many others."""

    code: ProblemCode = "cbs_stack_overflow"

    def error(self, sentence: str) -> TavernKitError:
        return CBSStackOverflowError(sentence)


ProblemHandler: TypeAlias = Callable[[CBSProblem], None]
