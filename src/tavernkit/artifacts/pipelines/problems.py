"""What is wrong with a profile, at the place where it is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

from tavernkit.errors import TavernKitError
from tavernkit.values import Value

Severity: TypeAlias = Literal["error", "warning"]

_SUBJECTS = {"kind": "The kind of a step", "hook": "The hook of a step", "output": "The output", "engine": "The engine"}


class ProfileProblem(Value, frozen=True, kw_only=True):
    """`path` is where it stands in the JSON, such as `pipelines[0].steps[2].dependsOn[0]`. A profile with an error
    cannot be used; a warning says what is probably not meant."""

    path: str
    message: str
    severity: Severity = "error"


class Problems:
    """Collects problems while a profile is read."""

    def __init__(self) -> None:
        self._found: list[ProfileProblem] = []

    def error(self, path: str, message: str) -> None:
        self._found.append(ProfileProblem(path=path, message=message))

    def warn(self, path: str, message: str) -> None:
        self._found.append(ProfileProblem(path=path, message=message, severity="warning"))

    @contextmanager
    def caught_at(self, path: str) -> Iterator[None]:
        """What is raised inside becomes an error at that path, and reading goes on."""
        try:
            yield
        except TavernKitError as error:
            self.error(path, str(error))

    def subject(self, path: str) -> str:
        name = path.rpartition(".")[2]
        return "This" if name.endswith("]") else _SUBJECTS.get(name, name)

    def refused(self, path: str, sentence: str) -> None:
        self.error(path, sentence)

    def mistyped(self, path: str, message: str) -> None:
        self.error(path, f"{message[0].upper()}{message[1:]}.")

    def unknown(self, path: str) -> None:
        self.warn(path, "Nobody reads this field.")

    def found(self) -> tuple[ProfileProblem, ...]:
        return tuple(self._found)
