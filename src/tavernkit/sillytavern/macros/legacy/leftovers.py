"""What is still a macro when all passes are done, told as problems."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from itertools import islice

from tavernkit.sillytavern.macros.legacy.passes import Pass, folded
from tavernkit.sillytavern.macros.problems import MacroProblem, ProblemCode

MAX_PROBLEMS = 100

_LEFT = re.compile(r"\{\{(?:(//|[A-Za-z][A-Za-z0-9_-]*)[^{}]*\}\})?")
_NAME = re.compile(rb"\{\{(//|[a-z][a-z0-9_-]*)")


def leftovers(given: str, result: str, passes: Iterable[Pass]) -> Iterator[MacroProblem]:
    """The first hundred macros that are left, in the order of the result."""
    openings = {opening for kind in passes for opening in kind.openings}
    names = {match[1] for opening in openings if (match := _NAME.match(opening))}
    searched = 0
    for left in islice(_LEFT.finditer(result), MAX_PROBLEMS):
        place = _place(given, left, searched)
        if place is not None:
            searched = place + len(left[0])
        code, message = _verdict(left, openings, names)
        position = left.start() if place is None else place
        yield MacroProblem(code=code, message=message, name=left[1] or "", position=position)


def _place(given: str, left: re.Match[str], start: int) -> int | None:
    """Where the same thing stands in the text that was given, unless it came out of a value."""
    if left[1]:
        place = given.find(left[0], start)
        return None if place < 0 else place
    return next((match.start() for match in _LEFT.finditer(given, start) if not match[1]), None)


def _verdict(left: re.Match[str], openings: Set[bytes], names: Set[bytes]) -> tuple[ProblemCode, str]:
    name = left[1]
    if not name:
        return "macro_syntax", "A call opens here that is malformed or has no end."
    if folded(left[0]) in openings:
        return "unconsumed_macro", f"The placeholder {name!r} came out of a value, too late for its own pass."
    if folded(name) in names:
        return "macro_syntax", f"The legacy engine does not understand {{{{{name}}}}} when it is called like this."
    return "unknown_macro", f"There is no macro {name!r}."
