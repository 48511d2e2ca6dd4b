"""Verdicts about entries that are worked out only when somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar, overload

__all__ = ["LazyVerdicts"]

T = TypeVar("T")


class LazyVerdicts(Sequence[T], Generic[T]):
    """The verdicts of a scan, in the order of the entries.

    They are worked out when they are first asked for: a scan that nobody questions does not pay for them.
    """

    def __init__(self, work_out: Callable[[], Sequence[T]]) -> None:
        self._work_out = work_out
        self._verdicts: tuple[T, ...] | None = None

    def _all(self) -> tuple[T, ...]:
        if self._verdicts is None:
            self._verdicts = tuple(self._work_out())
        return self._verdicts

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...

    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[T]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        return self._all() == other._all() if isinstance(other, LazyVerdicts) else NotImplemented

    def __hash__(self) -> int:
        # Entries hold objects, which have no hash; equal verdicts are equally many.
        return hash(len(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self._all())!r})"
