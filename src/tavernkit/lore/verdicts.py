"""What a scan leaves behind: what became of entries, and the effects that last until the next build."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

from tavernkit.prompt.parts import LoreCause
from tavernkit.values import Value


class TimedEffect(Value, frozen=True, kw_only=True):
    """An effect from one length of the chat up to another. `fingerprint` is that of the entry as it was: an effect does
    not carry over to an entry that was edited since. A protected effect outlives deleted messages."""

    start: int
    end: int
    fingerprint: str
    protected: bool = False


class TimedState(Value, frozen=True, kw_only=True):
    """The effects of a chat, by the entry's reference. It comes out of one turn and goes into the next."""

    sticky: Mapping[str, TimedEffect] = {}
    cooldown: Mapping[str, TimedEffect] = {}


T = TypeVar("T")


class LoreVerdict(Value, frozen=True, kw_only=True):
    """What became of an entry of a lorebook that was activated, or came close; `sentence` is for people.

    `cause` says why it was activated, also where it was left out afterwards, and `key` which key was found. `content`
    is what the prompt says of an activated entry, of others what is written in it. `book` is empty where the book has
    no name.
    """

    book: str
    entry: str
    name: str
    reason: str
    sentence: str
    content: str = ""
    is_activated: bool = False
    cause: LoreCause | None = None
    key: str | None = None


class LazyVerdicts(Sequence[T], Generic[T]):
    """The verdicts of a scan, in the order of the entries.

    They are worked out when they are first asked for: a scan that nobody questions does not pay for them. What is
    pickled are the verdicts.
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
        return self._all() == tuple(other) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        # Entries hold objects, which have no hash; equal verdicts are equally many.
        return hash(len(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._all(),)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self._all())!r})"
