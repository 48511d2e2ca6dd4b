"""The dialects by name. Anyone can add one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from tavernkit.dialects.options import DialectOptions
from tavernkit.dialects.wire import WireMessage
from tavernkit.errors import UnknownDialectError
from tavernkit.values import Json, Value

Dialect: TypeAlias = Callable[[Sequence[WireMessage], DialectOptions], Json]


class Accepts(Value, frozen=True, kw_only=True):
    """The kinds of attachment a provider takes: as bytes, and by address."""

    data: frozenset[str] = frozenset()
    url: frozenset[str] = frozenset()


_KINDS = frozenset({"image", "audio", "video", "file"})
EVERYTHING = Accepts(data=_KINDS, url=_KINDS)

_dialects: dict[str, tuple[Dialect, Accepts, bool]] = {}


def register(
    name: str,
    dialect: Dialect,
    *,
    accepts: Accepts = EVERYTHING,
    system_anywhere: bool = True,
    replace: bool = False,
) -> None:
    """Add a dialect. Attachments that it does not accept are refused before it is called. `system_anywhere` says
    whether the provider takes system messages in the middle of a conversation; where not, developer notes there are
    joined to a user's message."""
    if name in _dialects and not replace:
        raise ValueError(f"A dialect named {name!r} is registered. Say replace=True to put another in its place.")
    _dialects[name] = (dialect, accepts, system_anywhere)


def get(name: str) -> Dialect:
    return _entry(name)[0]


def accepted(name: str) -> Accepts:
    """The attachments that the dialect of that name takes."""
    return _entry(name)[1]


def takes_system_anywhere(name: str) -> bool:
    """Whether the dialect of that name has system messages in the middle of a conversation."""
    return _entry(name)[2]


def names() -> tuple[str, ...]:
    """Every registered name, in alphabetical order."""
    return tuple(sorted(_dialects))


def _entry(name: str) -> tuple[Dialect, Accepts, bool]:
    try:
        return _dialects[name]
    except KeyError:
        raise UnknownDialectError(f"No dialect named {name!r}. Known: {', '.join(names())}.") from None
