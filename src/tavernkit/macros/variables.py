"""What a story remembers between messages: variables, in scopes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Protocol

CORE_SCOPES = ("local", "global")


class VariablesStore(Protocol):
    """Named values in scopes. `local` (one chat) and `global` (all chats) are always there; a platform may add more. A
    subclass gets `has` and `add` for nothing."""

    @property
    @abstractmethod
    def version(self) -> int:
        """Grows with every change, so that whoever caches can tell."""

    @abstractmethod
    def get(self, name: str, scope: str = "local") -> Any: ...

    @abstractmethod
    def set(self, name: str, value: Any, scope: str = "local") -> None: ...

    def has(self, name: str, scope: str = "local") -> bool:
        """Whether somebody has set it."""
        return name in self.snapshot(scope)

    @abstractmethod
    def delete(self, name: str, scope: str = "local") -> None: ...

    def add(self, name: str, value: Any, scope: str = "local") -> None:
        """Sum two numbers, append to a list, otherwise join as text; an absent variable counts as nothing."""
        self.set(name, _sum(self.get(name, scope), value) if self.has(name, scope) else value, scope)

    @abstractmethod
    def snapshot(self, scope: str = "local") -> dict[str, Any]:
        """A copy of one scope."""


class Variables(VariablesStore):
    """A store in memory."""

    def __init__(self, local: Mapping[str, Any] | None = None, global_: Mapping[str, Any] | None = None) -> None:
        self._scopes: dict[str, dict[str, Any]] = {"local": dict(local or {}), "global": dict(global_ or {})}
        self._version = 0

    @property
    def version(self) -> int:
        return self._version

    @property
    def scopes(self) -> tuple[str, ...]:
        return tuple(self._scopes)

    def get(self, name: str, scope: str = "local") -> Any:
        """The value, or None when nobody has set it."""
        return self._scope(scope).get(name)

    def set(self, name: str, value: Any, scope: str = "local") -> None:
        self._scope(scope)[name] = value
        self._version += 1

    def has(self, name: str, scope: str = "local") -> bool:
        return name in self._scope(scope)

    def delete(self, name: str, scope: str = "local") -> None:
        if self._scope(scope).pop(name, _ABSENT) is not _ABSENT:
            self._version += 1

    def snapshot(self, scope: str = "local") -> dict[str, Any]:
        return dict(self._scope(scope))

    def _scope(self, scope: str) -> dict[str, Any]:
        try:
            return self._scopes[scope]
        except KeyError:
            raise ValueError(f"no variable scope {scope!r}; there are {', '.join(self._scopes)}") from None


_ABSENT = object()


def _sum(old: Any, new: Any) -> Any:
    if isinstance(old, list):
        return [*old, new]
    if _is_number(old) and _is_number(new):
        return old + new
    return f"{'' if old is None else old}{'' if new is None else new}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
