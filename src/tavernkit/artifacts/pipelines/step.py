"""One step of a pipeline: when it runs and what becomes of what it makes. What it does is for each kind to say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, ClassVar, Literal, TypeAlias, cast

import msgspec

from tavernkit.artifacts.artifact import ArtifactDefinition, NonBlank
from tavernkit.artifacts.pipelines.scope import StepScope
from tavernkit.artifacts.wire import Wire
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


Hook: TypeAlias = Literal["before", "after"]
StepKind: TypeAlias = Literal["template", "llm", "transform", "message_transform", "guard", "python"]
Id: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class StepCondition(Wire, frozen=True, kw_only=True):
    """A step runs only if this guard, on which it depends, has said so."""

    spellings: ClassVar[Mapping[str, str]] = {"step": "guard", "is": "equals"}
    needs: ClassVar[Mapping[str, str]] = {"guard": "A condition names the guard that decides."}

    guard: NonBlank
    equals: bool = True


class StepArtifact(ArtifactDefinition, frozen=True, kw_only=True):
    """An artifact that a step writes: all of its output, or what a JSON pointer finds in it. It belongs to no session
    yet."""

    blank: ClassVar[Mapping[str, object]] = {"access": "run_only", "contentType": "json"}

    pointer: str = ""


class Step(Wire, frozen=True, kw_only=True, tag_field="kind"):
    """One action; its class says what it does, and its fields here when, and what becomes of it.

    `depends_on` names steps of the same pipeline and hook, all of which must be done. A required step that fails
    before the main call keeps it from being made. `every_n_turns` counts turns of the user since the step's last
    success. `timeout` is in seconds.
    """

    spellings: ClassVar[Mapping[str, str]] = {"type": "kind"}
    synonyms: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "hook": {"before_main_llm": "before", "after_main_llm": "after"}
    }
    needs: ClassVar[Mapping[str, str]] = {"id": "A step needs an id.", "hook": "A step needs a hook."}
    blank: ClassVar[Mapping[str, object]] = {"hook": "before"}

    id: Id
    hook: Hook
    name: str = ""
    order: int = 0
    enabled: bool = True
    required: bool = False
    depends_on: tuple[str, ...] = ()
    conditions: tuple[StepCondition, ...] = msgspec.field(default=(), name="runConditions")
    every_n_turns: Annotated[int, msgspec.Meta(ge=1)] = 1
    timeout: Annotated[float, msgspec.Meta(gt=0, le=60 * 60)] = msgspec.field(default=60, name="timeoutSeconds")
    artifacts: tuple[StepArtifact, ...] = ()

    @property
    def kind(self) -> StepKind:
        return cast(StepKind, self.__struct_config__.tag)

    @property
    def makes(self) -> Literal["text", "json"]:
        """What its output is."""
        return "json"

    def check(self, problems: Problems, path: str) -> None:
        """Report what is wrong with the fields of its kind."""

    async def run(self, scope: StepScope) -> object:
        """Do it; what comes out is the step's output."""
        raise NotImplementedError  # every kind of step has its own; a Struct cannot be abstract
