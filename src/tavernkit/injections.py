"""Text that a program puts into a prompt by name: `/inject`, author's notes, tool output."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Literal, Protocol, TypeAlias

from tavernkit.values import CheckedValue, check_choice

InjectionPosition: TypeAlias = Literal["before", "after", "chat", "none"]


class Injection(CheckedValue, frozen=True, kw_only=True):
    """`before` and `after` stand around the character; `chat` counts `depth` messages from the end; `none` is not
    shown but may still be scanned for lore. An ephemeral injection is meant for one build."""

    id: str
    content: str
    position: InjectionPosition = "chat"
    depth: int = 4
    role: str = "system"
    scan: bool = False
    ephemeral: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("The position of an injection", self.position, InjectionPosition)


class InjectionRegistry(Protocol):
    """Injections by id; registering an id again replaces it. A subclass gets `ephemeral_ids` for nothing."""

    @abstractmethod
    def register(self, injection: Injection) -> None: ...

    @abstractmethod
    def remove(self, id: str) -> None: ...

    @abstractmethod
    def __iter__(self) -> Iterator[Injection]:
        """In the order of their ids, so that a prompt does not depend on who registered first."""

    @property
    def ephemeral_ids(self) -> tuple[str, ...]:
        """What the caller should remove once a build has used it."""
        return tuple(injection.id for injection in self if injection.ephemeral)


class Injections(InjectionRegistry):
    """A registry in memory."""

    def __init__(self, *injections: Injection) -> None:
        self._by_id = {injection.id: injection for injection in injections}

    def register(self, injection: Injection) -> None:
        self._by_id[injection.id] = injection

    def remove(self, id: str) -> None:
        self._by_id.pop(id, None)

    def __iter__(self) -> Iterator[Injection]:
        return iter(sorted(self._by_id.values(), key=lambda injection: injection.id))
