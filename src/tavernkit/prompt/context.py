"""The workbench of one build: inputs, sources of chance and time, and what the stages have made so far."""

from __future__ import annotations

import copy
import itertools
import random
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, NoReturn, TypeAlias, TypedDict, TypeVar, Unpack

from tavernkit.characters.character import Character, User
from tavernkit.errors import MissingInputError, StrictModeError, TavernKitError
from tavernkit.history import ChatHistory, HistorySource, wrap
from tavernkit.hooks import BuildHook, BuildHooks, HookRegistry
from tavernkit.injections import InjectionRegistry, Injections
from tavernkit.lore.book import Book
from tavernkit.lore.engine import LoreResult
from tavernkit.macros.variables import Variables, VariablesStore
from tavernkit.presets import BudgetPreset, Preset
from tavernkit.prompt.block import Block
from tavernkit.prompt.message import Attachment
from tavernkit.prompt.plan import Plan
from tavernkit.prompt.tokens import TokenEstimator, default_estimator
from tavernkit.prompt.trace import Event, Instrumenter
from tavernkit.prompt.trimming import TrimReport, TrimStrategy
from tavernkit.prompt.warning import BuildWarning
from tavernkit.values import JsonObject, check_choice

GenerationType: TypeAlias = Literal["normal", "continue", "impersonate", "swipe", "regenerate", "quiet"]

Clock: TypeAlias = Callable[[], datetime]
IdSource: TypeAlias = Callable[[], str]
MessageWriter: TypeAlias = Callable[[str, str], str]
"""How a message of some role is written where the prompt is one text."""

T = TypeVar("T")


class BuildInputs(TypedDict, total=False):
    """What a build is given; all of it is optional."""

    character: Character | None
    user: User | None
    history: HistorySource
    message: str
    attachments: Iterable[Attachment]
    preset: Preset | None
    books: Iterable[Book]
    trim_strategy: TrimStrategy | None
    keep_user_message: bool
    generation_type: str
    model: str | None
    variables: VariablesStore | None
    estimator: TokenEstimator | None
    hooks: HookRegistry | None
    injections: InjectionRegistry | None
    clock: Clock | None
    rng: random.Random | None
    ids: IdSource | None
    strict: bool
    instrumenter: Instrumenter | None
    warning_handler: Callable[[BuildWarning], None] | None
    metadata: Mapping[str, Any] | None


class Context:
    """What flows through the pipeline. Stages read the inputs and earlier products and add their own.

    A platform layer attaches one object of its own type with `attach` and reads it back with `platform`. Everything
    else that has no field goes into `metadata`, also reached as `ctx["key"]`. Two contexts with equal inputs, clock,
    seed and ids build the same bytes.

    Who must know what trimming has left, such as a hook whose block stands beside a message, puts a function into
    `after_trimming`. Where the blocks are pieces of one text, `wording` says how a message is written in it.
    `user_message` is the source of the user's latest message, once a stage has laid out the chat.
    """

    def __init__(self, **inputs: Unpack[BuildInputs]) -> None:
        unknown = inputs.keys() - BuildInputs.__annotations__.keys()
        if unknown:
            raise TypeError(f"a build has no input {min(unknown)!r}")
        self.character = inputs.get("character")
        self.user = inputs.get("user")
        self.history: ChatHistory = wrap(inputs.get("history"))
        self.message = inputs.get("message", "")
        self.attachments = tuple(inputs.get("attachments", ()))
        self.preset: Preset = _given(inputs.get("preset"), BudgetPreset)
        self.books = tuple(inputs.get("books", ()))
        self.trim_strategy = inputs.get("trim_strategy")
        if self.trim_strategy is not None:
            check_choice("trim_strategy", self.trim_strategy, TrimStrategy)
        self.keep_user_message = inputs.get("keep_user_message", False)
        self.generation_type = inputs.get("generation_type", "normal")
        check_choice("generation_type", self.generation_type, GenerationType)
        self.model = inputs.get("model")
        self.variables: VariablesStore = _given(inputs.get("variables"), Variables)
        self.estimator: TokenEstimator = _given(inputs.get("estimator"), default_estimator)
        self.hooks: HookRegistry = _given(inputs.get("hooks"), BuildHooks)
        self.injections: InjectionRegistry = _given(inputs.get("injections"), Injections)
        self.clock: Clock = inputs.get("clock") or _utc_now
        self.rng = _given(inputs.get("rng"), lambda: random.Random(0))  # noqa: S311 - stories, not secrets
        self.ids: IdSource = inputs.get("ids") or _counted("b")
        self.timer: Callable[[], float] = time.perf_counter
        self.strict = inputs.get("strict", False)
        self.instrumenter = inputs.get("instrumenter")
        self.warning_handler = inputs.get("warning_handler")
        self.metadata: dict[str, Any] = dict(inputs.get("metadata") or {})

        self.blocks: list[Block] = []
        self.after_trimming: list[BuildHook] = []
        self.wording: MessageWriter | None = None
        self.outlets: dict[str, str] = {}
        self.lore_result: LoreResult | None = None
        self.llm_options: dict[str, Any] = {}
        self.dialect_options: dict[str, Any] = {}
        self.greeting: str | None = None
        self.user_message: str | None = None
        self.trim_report: TrimReport | None = None
        self.warnings: list[BuildWarning] = []
        self.plan: Plan | None = None

        self.current_stage: str | None = None
        self.verdict: TavernKitError | None = None
        self._platform: object | None = None

    def __getitem__(self, key: str) -> Any:
        return self.metadata[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.metadata[key] = value

    def __contains__(self, key: str) -> bool:
        return key in self.metadata

    def get(self, key: str, default: Any = None) -> Any:
        return self.metadata.get(key, default)

    def attach(self, platform: object) -> None:
        """Give the platform layer's own object a place for this build."""
        self._platform = platform

    def platform(self, kind: type[T]) -> T:
        """The attached object, which must be of `kind`."""
        if not isinstance(self._platform, kind):
            self.fail(MissingInputError(f"this stage needs a {kind.__name__}: build through the platform that has it"))
        return self._platform

    def dup(self) -> Context:
        """A copy for a what-if: its own lists, metadata and random state, the same values in them.

        The variables store, the history and the registries are shared, as they belong to the application.
        """
        twin = copy.copy(self)
        twin.blocks = list(self.blocks)
        twin.after_trimming = list(self.after_trimming)
        twin.outlets = dict(self.outlets)
        twin.llm_options = dict(self.llm_options)
        twin.dialect_options = dict(self.dialect_options)
        twin.warnings = list(self.warnings)
        twin.metadata = dict(self.metadata)
        twin.rng = copy.copy(self.rng)
        twin._platform = copy.copy(self._platform)
        return twin

    def require_character(self) -> Character:
        if self.character is None:
            self.fail(MissingInputError("a prompt needs a character: pass character=…"))
        return self.character

    def require_user(self) -> User:
        if self.user is None:
            self.fail(MissingInputError("a prompt needs a user: pass user=User(name=…)"))
        return self.user

    def validate(self) -> None:
        """Raise MissingInputError unless there is a character and a user."""
        self.require_character()
        self.require_user()

    def add_block(self, *, source: str, stage: str | None = None, **fields: Any) -> Block:
        """Append a block that says it came from `source`, by way of `stage` or the current one."""
        block = self.new_block(source=source, stage=stage, **fields)
        self.blocks.append(block)
        return block

    def new_block(
        self, *, source: str, stage: str | None = None, metadata: JsonObject | None = None, **fields: Any
    ) -> Block:
        """A block with an id and provenance, not yet placed."""
        provenance = {"source": {"stage": stage or self.current_stage, "id": source}}
        return Block(id=self.ids(), metadata={**metadata, **provenance} if metadata else provenance, **fields)

    def must_keep(self, source: str) -> bool:
        """Whether this is the user's latest message, and the caller wants it to be sent in any case."""
        return self.keep_user_message and source == self.user_message

    def warn(self, code: str, message: str, *, error: TavernKitError | None = None, **where: Any) -> None:
        """Record that something is off and go on; a strict build raises `error`, or a StrictModeError, instead."""
        warning = BuildWarning(code=code, message=message, stage=self.current_stage, where=where)
        self.warnings.append(warning)
        self.instrument("warning", warning=warning)
        if self.strict:
            self.fail(StrictModeError(message, code=code) if error is None else error)
        if self.warning_handler is not None:
            self.warning_handler(warning)

    def fail(self, error: TavernKitError) -> NoReturn:
        """End the build with exactly this error; the pipeline does not wrap it."""
        self.verdict = error
        raise error

    def instrument(self, event: Event, /, lazy: Callable[[], Mapping[str, Any]] | None = None, **payload: Any) -> None:
        """Tell the instrumenter, if there is one; `lazy` is called for more payload only then."""
        if self.instrumenter is None:
            return
        if lazy is not None:
            payload.update(lazy())
        self.instrumenter(event, **payload)

    def stat(self, key: str, value: object) -> None:
        """Attach a counter to the current stage's trace."""
        if self.instrumenter is not None:
            self.instrumenter("stat", stage=self.current_stage, key=key, value=value)


def _given(value: T | None, otherwise: Callable[[], T]) -> T:
    return otherwise() if value is None else value


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _counted(prefix: str) -> IdSource:
    numbers = itertools.count(1)
    return lambda: f"{prefix}{next(numbers)}"
