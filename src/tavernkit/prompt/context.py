"""The workbench of one build: inputs, sources of chance and time, and what the stages have made so far."""

from __future__ import annotations

import copy
import itertools
import random
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, NoReturn, TypeAlias, TypedDict, TypeVar, Unpack

from tavernkit.characters.character import Bundle, Character, CharacterCard, User
from tavernkit.errors import MissingInputError, PipelineError, StrictModeError, TavernKitError
from tavernkit.history import ChatHistory, HistorySource, InMemoryHistory
from tavernkit.hooks import BuildHook, HookRegistry, with_shared
from tavernkit.injections import InjectionRegistry, Injections
from tavernkit.lore.book import Book
from tavernkit.lore.engine import LoreEngine, LoreResult, ScanInput
from tavernkit.macros.variables import Variables, VariablesStore
from tavernkit.presets import BudgetPreset, Preset
from tavernkit.prompt.block import Block
from tavernkit.prompt.inputs import taken
from tavernkit.prompt.message import Attachment
from tavernkit.prompt.plan import Plan
from tavernkit.prompt.tokens import TokenEstimator, default_estimator
from tavernkit.prompt.trace import Event, Instrumenter
from tavernkit.prompt.trimming import TrimReport, TrimStrategy
from tavernkit.prompt.warning import BuildWarning
from tavernkit.reading import Imported, ImportReport
from tavernkit.values import JsonObject, check_choice

GenerationType: TypeAlias = Literal["normal", "continue", "impersonate", "swipe", "regenerate", "quiet"]

Clock: TypeAlias = Callable[[], datetime]
IdSource: TypeAlias = Callable[[], str]
MessageWriter: TypeAlias = Callable[[str, str], str]
"""How a message of some role is written where the prompt is one text."""

T = TypeVar("T")


class BuildInputs(TypedDict, total=False):
    """What a build is given; all of it is optional, save that a prompt needs a character and a user.

    character          who speaks
    user               whom they speak with
    history            the chat so far, oldest message first: a ChatHistory, or any iterable of messages and mappings
    message            what the user says now
    attachments        what the user shows with it
    preset             the token budget, and on a platform all that its presets say
    books              lorebooks besides the character's own
    lore_engine        what finds the activated entries, in a build without a platform
    trim_strategy      what is left out first where there is no room: group_order or priority
    keep_user_message  send the user's latest message in any case
    generation_type    normal, continue, impersonate, swipe, regenerate or quiet
    model              the model's name, for counting tokens
    variables          where macros keep their variables
    estimator          what counts tokens
    hooks              the application's hooks
    injections         texts that the application puts into the prompt by name
    clock              what gives the current time
    rng                what decides chance
    ids                what gives each block its id
    strict             raise an error where a build would warn
    instrumenter       who is told of every stage
    warning_handler    who is told of every warning
    metadata           anything else that your stages need, as ctx["key"]
    reports            what readers said of the files behind the other inputs; what is broken is warned of
    """

    character: Character | CharacterCard | Bundle | Imported[CharacterCard] | None
    user: User | None
    history: HistorySource
    message: str
    attachments: Iterable[Attachment]
    preset: Preset | Imported[Any] | None
    books: Iterable[Book | Imported[Book]]
    lore_engine: LoreEngine[ScanInput] | None
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
    reports: Iterable[ImportReport]


class Context:
    """What flows through the pipeline. Stages read the inputs and earlier products and add their own.

    A platform layer attaches one object of its own type with `attach` and reads it back with `platform`. Everything
    else that has no field goes into `metadata`, also reached as `ctx["key"]`. Two contexts with equal inputs, clock,
    seed and ids build the same bytes.

    Who must know what trimming has left, such as a hook whose block stands beside a message, puts a function into
    `after_trimming`. Where the blocks are pieces of one text, `wording` says how a message is written in it.
    `user_message` is the source of the user's latest message, once a stage has laid out the chat. `is_settled` says
    that the blocks have been trimmed, `failure` names the stage that has failed, with what it raised as its cause. In a
    traced build (`is_traced`) texts know where their characters come from.
    """

    def __init__(self, **given: Unpack[BuildInputs]) -> None:
        unknown = given.keys() - BuildInputs.__annotations__.keys()
        if unknown:
            raise TypeError(f"a build has no input {min(unknown)!r}")
        inputs, self.reports = taken(given)
        self.character: Character | None = inputs.get("character")
        self.user: User | None = inputs.get("user")
        self.history: ChatHistory = _given(inputs.get("history"), InMemoryHistory)
        self.message: str = inputs.get("message", "")
        self.attachments: tuple[Attachment, ...] = inputs.get("attachments", ())
        self.preset: Preset = _given(inputs.get("preset"), BudgetPreset)
        self.books: tuple[Book, ...] = inputs.get("books", ())
        self.lore_engine: LoreEngine[ScanInput] | None = inputs.get("lore_engine")
        self.trim_strategy: TrimStrategy | None = inputs.get("trim_strategy")
        if self.trim_strategy is not None:
            check_choice("trim_strategy", self.trim_strategy, TrimStrategy)
        self.keep_user_message: bool = inputs.get("keep_user_message", False)
        self.generation_type: str = inputs.get("generation_type", "normal")
        check_choice("generation_type", self.generation_type, GenerationType)
        self.model: str | None = inputs.get("model")
        self.variables: VariablesStore = _given(inputs.get("variables"), Variables)
        self.estimator: TokenEstimator = _given(inputs.get("estimator"), default_estimator)
        self.hooks: HookRegistry = with_shared(inputs.get("hooks"))
        self.injections: InjectionRegistry = _given(inputs.get("injections"), Injections)
        self.clock: Clock = inputs.get("clock") or _utc_now
        self.rng: random.Random = _given(inputs.get("rng"), lambda: random.Random(0))  # noqa: S311 - stories, not secrets
        self.ids: IdSource = inputs.get("ids") or _counted("b")
        self.timer: Callable[[], float] = time.perf_counter
        self.is_traced = False
        self.strict: bool = inputs.get("strict", False)
        self.instrumenter: Instrumenter | None = inputs.get("instrumenter")
        self.warning_handler: Callable[[BuildWarning], None] | None = inputs.get("warning_handler")
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
        self.failure: PipelineError | None = None
        self.is_settled = False
        self._has_begun = False
        self.verdict: TavernKitError | None = None
        self._platform: object | None = None
        self._told: set[tuple[str, str]] = set()
        for report in self.reports:
            self._warn_of_broken(report)

    def __getitem__(self, key: str) -> Any:
        return self.metadata[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.metadata[key] = value

    def __contains__(self, key: str) -> bool:
        return key in self.metadata

    def get(self, key: str, default: Any = None) -> Any:
        return self.metadata.get(key, default)

    def begin(self) -> None:
        """Say that a pipeline runs over this context; raises RuntimeError when one has done so already."""
        if self._has_begun:
            raise RuntimeError(
                "A pipeline has run over this context: make a new one, or dup() it before the first run."
            )
        self._has_begun = True

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
        twin._told = set(self._told)
        twin.metadata = dict(self.metadata)
        twin.rng = copy.copy(self.rng)
        twin._has_begun = self.plan is not None
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
        """Record that something is off and go on; a strict build raises `error`, or a StrictModeError, instead.

        The sentence says where, so the same one twice is told once.
        """
        if (code, message) in self._told:
            return
        self._told.add((code, message))
        warning = BuildWarning(code=code, message=message, stage=self.current_stage, where=where)
        self.warnings.append(warning)
        self.instrument("warning", warning=warning)
        if self.strict:
            self.fail(StrictModeError(message, code=code) if error is None else error)
        if self.warning_handler is not None:
            self.warning_handler(warning)

    def note(self, code: str, message: str, **where: Any) -> None:
        """Record what this build does otherwise than usual because it was asked to; a strict build goes on, too."""
        if (code, message) not in self._told:
            self._told.add((code, message))
            self.warnings.append(BuildWarning(code=code, message=message, stage=self.current_stage, where=where))

    def _warn_of_broken(self, report: ImportReport) -> None:
        """Tell what a reader has found broken in a file."""
        if self.strict:
            report.refuse_broken()
        for note in report.broken:
            place = report.file or report.format
            self.warn("broken_input", f"{place}: {note}.", file=report.file, field=note.path)

    def fail(self, error: TavernKitError) -> NoReturn:
        """End the build with exactly this error; the pipeline does not wrap it."""
        self.verdict = error
        raise error

    def instrument(self, event: Event, /, lazy: Callable[[], Mapping[str, Any]] | None = None, **payload: Any) -> None:
        """Tell the instrumenter, if there is one; `lazy` is called for more payload only then.

        The payload's `stage` is the current one, unless it names another.
        """
        if self.instrumenter is None:
            return
        payload.setdefault("stage", self.current_stage)
        if lazy is not None:
            payload.update(lazy())
        self.instrumenter(event, **payload)

    def stat(self, key: str, value: object) -> None:
        """Attach a counter to the current stage's trace."""
        self.instrument("stat", key=key, value=value)


def _given(value: T | None, otherwise: Callable[[], T]) -> T:
    return otherwise() if value is None else value


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _counted(prefix: str) -> IdSource:
    numbers = itertools.count(1)
    return lambda: f"{prefix}{next(numbers)}"
