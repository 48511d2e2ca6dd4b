"""Commands over several files: one that fails does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from tavernkit.cli.errors import BatchError, FileError
from tavernkit.cli.output import progress

T = TypeVar("T")
R = TypeVar("R")


def each(title: str, items: Sequence[T], act: Callable[[T], R]) -> list[R | FileError]:
    """What comes of each of several things, or why it failed; the others go on."""
    outcomes: list[R | FileError] = []
    with progress(title, len(items)) as advance:
        for item in items:
            try:
                outcomes.append(act(item))
            except FileError as error:
                outcomes.append(error)
            advance()
    return outcomes


def raise_failed(outcomes: Sequence[object]) -> None:
    """Raise what went wrong, once everything else is done."""
    errors = [outcome for outcome in outcomes if isinstance(outcome, FileError)]
    if errors:
        raise BatchError(errors)
