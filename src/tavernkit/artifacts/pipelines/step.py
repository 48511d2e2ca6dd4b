"""One step of a pipeline: when it runs, what it has around it while it works, and what becomes of what it makes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar, Literal, TypeAlias, TypeVar, TypeVarTuple

import msgspec

from tavernkit.artifacts.artifact import ArtifactDefinition, NonBlank
from tavernkit.artifacts.liquid import LiquidTemplate
from tavernkit.artifacts.pipelines.model import (
    ModelCall,
    ModelRequest,
    ModelUsage,
    StepFunctionCall,
    StepFunctions,
    ask_counted,
)
from tavernkit.artifacts.wire import Notes, Wire
from tavernkit.errors import StepFailed, TavernKitError
from tavernkit.load_hooks import LoadScope
from tavernkit.values import Value

T = TypeVar("T")
S = TypeVar("S", bound="Step")
Arguments = TypeVarTuple("Arguments")

# Few, and no others' threads: a profile with very many costly steps keeps other steps waiting and nobody else.
_workers = ThreadPoolExecutor(max_workers=2, thread_name_prefix="steps")


async def in_thread(work: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
    """What the work comes to. Who is cancelled while waiting for it leaves it to end by itself, as its limits say."""
    return await asyncio.get_running_loop().run_in_executor(_workers, work, *arguments)


@dataclass
class StepScope:
    """`input` and `usage` are filled in by the step's work: what it was worked out from, and what it has cost, also
    before it was interrupted."""

    run_id: str
    step: str
    values: Mapping[str, object]
    now: datetime
    random: Callable[[], float]
    call: ModelCall
    functions: StepFunctions
    usage: ModelUsage
    input: object = None

    async def render(self, template: str) -> str:
        """A template's text. Values are put in once: what looks like a template in them stays as it is."""
        return await in_thread(self._rendered, template)

    def _rendered(self, template: str) -> str:
        return LiquidTemplate.parse(template).render(self.values, clock=lambda: self.now, random=self.random)

    def find(self, path: str) -> object:
        """The value at a dotted path, such as `art.world.value`; StepFailed if there is none."""
        value: object = self.values
        for name in path.split("."):
            if isinstance(value, Mapping) and name in value:
                value = value[name]
            else:
                raise StepFailed(f"There is no {path}: nothing is at {name!r}.", code="source_missing")
        # Each key is asked for, so that reading all of `art` is noted as reading each of it.
        return {key: value[key] for key in value} if isinstance(value, Mapping) else value

    async def ask(self, request: ModelRequest) -> str:
        """What a model says."""
        self.input = [{"role": message.role, "content": message.content} for message in request.messages]
        return (await ask_counted(self.call, request, self._count)).text

    def _count(self, usage: ModelUsage) -> None:
        self.usage = self.usage.plus(usage)

    async def call_function(self, name: str, arguments: Mapping[str, object]) -> object:
        """What a registered function gives; StepFailed if there is none of that name."""
        function = self.functions.get(name)
        if function is None:
            raise StepFailed(f"No step function named {name!r} is registered.", code="function_unknown")
        self.input = dict(arguments)
        return await function(
            StepFunctionCall(arguments=arguments, values=self.values, now=self.now, random=self.random)
        )


Severity: TypeAlias = Literal["error", "warning"]

_SUBJECTS = {"kind": "The kind of a step", "hook": "The hook of a step", "output": "The output", "engine": "The engine"}


class ProfileProblem(Value, frozen=True, kw_only=True):
    """`path` is where it stands in the JSON, such as `pipelines[0].steps[2].dependsOn[0]`. A profile with an error
    cannot be used; a warning says what is probably not meant."""

    path: str
    message: str
    severity: Severity = "error"


class Problems(Notes):
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
        self.warn(path, "This field is unknown and not used.")

    def found(self) -> tuple[ProfileProblem, ...]:
        return tuple(self._found)


Hook: TypeAlias = Literal["before", "after"]
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

    @classmethod
    def variants(cls) -> Mapping[str, type[Wire]]:
        return step_kinds()

    @property
    def kind(self) -> str:
        return str(self.__struct_config__.tag)

    @property
    def makes(self) -> Literal["text", "json"]:
        """What its output is."""
        return "json"

    def check(self, problems: Problems, path: str) -> None:
        """Report what is wrong with the fields of its kind."""

    async def run(self, scope: StepScope) -> object:
        """Do it; what comes out is the step's output."""
        raise NotImplementedError  # every kind of step has its own; a Struct cannot be abstract


class StepKinds(dict[str, type[Step]]):
    """The kinds of steps that profiles may have, by their tags."""

    def register(self, kind: type[S]) -> type[S]:
        """Add a kind, by its class; a tag that is taken is a mistake of the program."""
        tag = str(kind.__struct_config__.tag)
        if kind.run is Step.run:
            raise ValueError(f"The step kind {tag!r} cannot be run: {kind.__name__} has no method run.")
        if tag in self:
            raise ValueError(f"A step kind {tag!r} is registered already.")
        self[tag] = kind
        return kind


BUILT_IN_KINDS = StepKinds()
step_kinds = LoadScope("tavernkit.pipeline_steps", lambda: BUILT_IN_KINDS)
