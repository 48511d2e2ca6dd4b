"""What SillyTavern's macros can see: one typed value that all three engines read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from operator import attrgetter
from typing import Any, Literal, TypeAlias

import msgspec

from tavernkit.macros.engine import BorrowedVariables, MacroEnvironment
from tavernkit.macros.variables import Variables, VariablesStore
from tavernkit.prompt.parts import rewritten
from tavernkit.sillytavern.presets import ContextTemplate, Instruct, ReasoningTemplate, SystemPrompt
from tavernkit.text.replies import collapse_newlines
from tavernkit.values import Json, Value

DynamicMacro: TypeAlias = Json | Callable[[], str]
"""The value of a macro that is known for one expansion only, or what makes it when it is asked for."""


class CardFields(Value, frozen=True, kw_only=True):
    """The character's texts as they were written: macros in them are expanded when they are asked for.

    Where a chat overrides the scenario, the examples or the system prompt, the override stands here already.
    """

    description: str = ""
    personality: str = ""
    scenario: str = ""
    first_message: str = ""
    alternate_greetings: tuple[str, ...] = ()
    message_examples: str = ""
    system_prompt: str = ""
    post_history_instructions: str = ""
    depth_prompt: str = ""
    creator_notes: str = ""
    version: str = ""


class GroupNames(Value, frozen=True, kw_only=True):
    """The names of a group's members, and of those who are muted."""

    members: tuple[str, ...]
    muted: frozenset[str] = frozenset()


class ChatLine(Value, frozen=True, kw_only=True):
    """One message of the chat. `swipe` counts from 0; it equals `swipe_count` while a new swipe is being written."""

    text: str
    name: str = ""
    is_user: bool = False
    is_system: bool = False
    sent: str | int | None = None
    swipe: int | None = None
    swipe_count: int = 0


class MacroSettings(Value, frozen=True, kw_only=True):
    """The templates and switches that some macros quote."""

    instruct: Instruct = Instruct(enabled=False)
    context: ContextTemplate = ContextTemplate()
    system_prompt: SystemPrompt = SystemPrompt(enabled=True)
    reasoning: ReasoningTemplate = ReasoningTemplate()
    prefer_character_prompt: bool = True
    prefer_character_jailbreak: bool = True
    collapse_newlines: bool = False


class ModelState(Value, frozen=True, kw_only=True):
    """What will answer, and how much it can hold. `chat` is chat completion, `text` text completion."""

    name: str = ""
    api: Literal["chat", "text"] = "chat"
    max_context: int = 8192
    max_response: int = 0
    max_prompt: int | None = None

    @property
    def prompt_tokens(self) -> int:
        """What is left for the prompt when the response has its place."""
        return self.max_context - self.max_response if self.max_prompt is None else self.max_prompt


class AuthorsNotes(Value, frozen=True, kw_only=True):
    """The chat's note, the character's own, and the one for new chats."""

    chat: str = ""
    character: str = ""
    default: str = ""


class MacroInputs(Value, frozen=True, kw_only=True):
    """What an expansion may read, as far as it is made of values.

    `chat_id_hash` and `reroll_seed` decide what `{{pick}}` picks. `original` is None where there is nothing to refer
    back to. `expands_card` is False while a text of the card itself is being expanded: the card's macros are then
    empty.
    """

    user_name: str = ""
    character_name: str = ""
    names_in_card: tuple[str, str] | None = None
    """User and character as the card's own texts call them, where a caller has overridden the two names above."""
    group: GroupNames | None = None
    group_override: str = ""
    card: CardFields = CardFields()
    persona: str = ""
    expands_card: bool = True
    chat: Sequence[ChatLine] = ()
    first_included_message: int | None = None
    first_displayed_message: int | None = None
    chat_id_hash: int = 0
    reroll_seed: str | int | float | None = None
    settings: MacroSettings = MacroSettings()
    model: ModelState = ModelState()
    generation_type: str = ""
    is_mobile: bool = False
    input_text: str = ""
    original: str | None = None
    outlets: Mapping[str, str] = {}
    notes: AuthorsNotes = AuthorsNotes()
    summary: str = ""
    image_prefix: str = ""
    image_negative_prefix: str = ""
    extensions: frozenset[str] = frozenset()
    locale: str = "en-US"


_inputs_of = attrgetter(*MacroInputs.__struct_fields__)


class Environment(MacroInputs, frozen=True, kw_only=True):
    """Everything that one expansion may read, and the two things it may change: `variables` and `banned_words`.

    `random` gives numbers from 0 up to 1, as Math.random does.
    """

    variables: VariablesStore = msgspec.field(default_factory=Variables)
    dynamic_macros: Mapping[str, DynamicMacro] = {}
    post_process: Callable[[str], str] | None = None
    """What is done to the answer of each macro before it goes into the text; a regular expression needs it escaped."""
    banned_words: list[str] = msgspec.field(default_factory=list)
    clock: Callable[[], datetime] = lambda: datetime(1970, 1, 1, tzinfo=UTC)
    zone: tzinfo = UTC
    random: Callable[[], float] = lambda: 0.5

    @property
    def inputs(self) -> MacroInputs:
        """What of it is made of values."""
        return MacroInputs(**dict(zip(MacroInputs.__struct_fields__, _inputs_of(self), strict=True)))

    def now(self) -> datetime:
        """The moment of the clock, in the user's zone."""
        return self.clock().astimezone(self.zone)

    def get_var(self, name: str, scope: str = "local") -> Any:
        return self.variables.get(name, scope)

    def set_var(self, name: str, value: Any, scope: str = "local") -> None:
        self.variables.set(name, value, scope)

    def has_var(self, name: str, scope: str = "local") -> bool:
        return self.variables.has(name, scope)

    def for_card_text(self) -> Environment:
        """The environment in which a text of the card is expanded: without the card, without an original."""
        user, character = self.names_in_card or (self.user_name, self.character_name)
        return self.with_(
            user_name=user,
            character_name=character,
            group_override="",
            expands_card=False,
            original=None,
            dynamic_macros={},
            post_process=None,
        )

    def tidied(self, card_text: str) -> str:
        """An expanded text of the card as it goes into the prompt: on fewer lines, if so set."""
        text = rewritten(card_text, collapse_newlines) if self.settings.collapse_newlines else card_text
        return text.replace("\r", "")

    def random_index(self, length: int) -> int:
        """A place in a list of that length, by chance."""
        return math.floor(self.random() * length)


def as_environment(environment: MacroEnvironment) -> Environment:
    """The environment itself where it is SillyTavern's; else one with its names and its variables."""
    if isinstance(environment, Environment):
        return environment
    return Environment(
        user_name=environment.user_name,
        character_name=environment.character_name,
        variables=BorrowedVariables(environment),
    )
