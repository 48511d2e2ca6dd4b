"""Variables that belong to an environment of another kind of build."""

from __future__ import annotations

from typing import Any

from tavernkit.macros.engine import MacroEnvironment


class BorrowedVariables:
    """A store over an environment that can only read and write; what is deleted there is set to nothing, and a
    snapshot has what was written here."""

    def __init__(self, environment: MacroEnvironment) -> None:
        self._environment = environment
        self._version = 0
        self._written: dict[str, set[str]] = {}

    @property
    def version(self) -> int:
        return self._version

    def get(self, name: str, scope: str = "local") -> Any:
        return self._environment.get_var(name, scope)

    def set(self, name: str, value: Any, scope: str = "local") -> None:
        self._environment.set_var(name, value, scope)
        self._written.setdefault(scope, set()).add(name)
        self._version += 1

    def has(self, name: str, scope: str = "local") -> bool:
        return self._environment.has_var(name, scope) and self.get(name, scope) is not None

    def delete(self, name: str, scope: str = "local") -> None:
        if self.has(name, scope):
            self.set(name, None, scope)

    def add(self, name: str, value: Any, scope: str = "local") -> None:
        current = self.get(name, scope)
        self.set(name, value if current is None else current + value, scope)

    def snapshot(self, scope: str = "local") -> dict[str, Any]:
        return {name: self.get(name, scope) for name in sorted(self._written.get(scope, ())) if self.has(name, scope)}
