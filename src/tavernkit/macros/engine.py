"""What a macro engine is, and the smallest one: names and nothing else.

The two platforms' engines share no grammar, only this contract.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import Any, Protocol

from tavernkit.macros.variables import VariablesStore


class MacroEnvironment(Protocol):
    """What every macro may ask for. Platforms extend it."""

    @property
    @abstractmethod
    def character_name(self) -> str: ...

    @property
    @abstractmethod
    def user_name(self) -> str: ...

    @abstractmethod
    def get_var(self, name: str, scope: str = "local") -> Any: ...

    @abstractmethod
    def set_var(self, name: str, value: Any, scope: str = "local") -> None: ...

    @abstractmethod
    def has_var(self, name: str, scope: str = "local") -> bool: ...


class MacroEngine(Protocol):
    """Turns a template into text."""

    @abstractmethod
    def expand(self, text: str, environment: MacroEnvironment) -> str: ...


class MacroRegistry(Protocol):
    """The macros an engine knows; the metadata's keys are the platform's own."""

    @abstractmethod
    def register(self, name: str, handler: Any, **metadata: Any) -> None: ...

    @abstractmethod
    def get(self, name: str) -> Any: ...

    @abstractmethod
    def has(self, name: str) -> bool: ...


class NameEnvironment:
    """The environment of a plain build: two names and the variables store."""

    def __init__(self, *, character_name: str, user_name: str, variables: VariablesStore) -> None:
        self.character_name = character_name
        self.user_name = user_name
        self._variables = variables

    def get_var(self, name: str, scope: str = "local") -> Any:
        return self._variables.get(name, scope)

    def set_var(self, name: str, value: Any, scope: str = "local") -> None:
        self._variables.set(name, value, scope)

    def has_var(self, name: str, scope: str = "local") -> bool:
        return self._variables.has(name, scope)


class NameMacros(MacroEngine):
    """Replaces `{{char}}`, `{{user}}`, `<BOT>` and `<USER>`, in any case, and leaves every other macro alone.

    What it puts in is not expanded again.
    """

    NAMES = re.compile(r"\{\{(char|user)\}\}|<(bot|char|user)>", re.IGNORECASE)

    def expand(self, text: str, environment: MacroEnvironment) -> str:
        if "{{" not in text and "<" not in text:
            return text
        return self.NAMES.sub(
            lambda match: self.name_of(match, environment),
            text,
        )

    def name_of(self, match: re.Match[str], environment: MacroEnvironment) -> str:
        """What stands for a macro that was found."""
        is_user = (match[1] or match[2]).lower() == "user"
        return environment.user_name if is_user else environment.character_name


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
