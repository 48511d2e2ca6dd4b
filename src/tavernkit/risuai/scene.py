"""Everything that RisuAI's parts look at while a prompt is built: the character, the chat, the settings, the world."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate

from tavernkit.macros.engine import MacroEngine
from tavernkit.macros.variables import Variables, VariablesStore
from tavernkit.prompt.tokens import TokenEstimator, default_estimator
from tavernkit.risuai.character import RisuCharacter
from tavernkit.risuai.chat import RisuChat
from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.module import Module
from tavernkit.risuai.problems import ProblemHandler
from tavernkit.risuai.settings import RisuSettings

BEFORE_GPT_4O = ("gpt4_", "gpt35", "gptvi4", "instructgpt35")
"""How RisuAI's own names for OpenAI's older models begin, which nobody else would know."""


@dataclass(frozen=True, kw_only=True)
class Screen:
    """The window that macros may ask the size of, in pixels."""

    width: int = 1280
    height: int = 720


@dataclass(kw_only=True)
class RisuScene:
    """The state that macros, lore, scripts and triggers share; triggers change it, and its owner writes that down.

    `character` is None when none is chosen. `variables` holds the chat's variables in `local` and everybody's in
    `global`, where a toggle `x` is `toggle_x`; all values are texts. `modules` are those that are switched on, in
    their order. `now` and `random` are the only sources of time and chance; the clock's zone is local time.
    `macros` expands texts instead of RisuAI's own functions; `on_problem` is told of macros that
    do not exist, and of a text that costs too much to be expanded.
    """

    character: RisuCharacter | None
    chat: RisuChat
    settings: RisuSettings
    now: Callable[[], datetime]
    random: Callable[[], float]
    user_name: str = "User"
    persona: str = ""
    variables: VariablesStore = field(default_factory=Variables)
    modules: Sequence[Module] = ()
    estimator: TokenEstimator = field(default_factory=default_estimator)
    screen: Screen = Screen()
    trigger_id: str | None = None
    macros: MacroEngine | None = None
    on_problem: ProblemHandler | None = None

    def count_tokens(self, text: str) -> int:
        """What the text costs with the model of the settings."""
        model = self.settings.model
        is_older = model == "gpt4" or model.startswith(BEFORE_GPT_4O)
        return self.estimator.estimate(text, model_hint="cl100k_base" if is_older else model)

    @property
    def greeting(self) -> str:
        """The first message of the chat: the chosen alternate greeting, or the character's own."""
        if self.character is None:
            return ""
        greetings = self.character.alternate_greetings
        index = self.chat.greeting_index
        return greetings[index] if 0 <= index < len(greetings) else self.character.first_message

    def lore(self) -> tuple[LoreEntry, ...]:
        """The lore of the character, of the chat, and of the modules, in this order."""
        of_character = self.character.lore if self.character is not None else ()
        return (*of_character, *self.chat.lore, *(entry for module in self.modules for entry in module.lore))

    def lore_books(self) -> list[tuple[int, str]]:
        """The books of the lore, which are named after the character, `chat`, or after their modules, each with the
        place in the lore behind its last entry."""
        of_character = (self.character.name, self.character.lore) if self.character is not None else ("", ())
        books = (of_character, ("chat", self.chat.lore), *((module.name, module.lore) for module in self.modules))
        return list(zip(accumulate(len(lore) for _, lore in books), (name for name, _ in books), strict=True))


class _CountFor:
    """Counts tokens for one model, whatever the settings name."""

    def __init__(self, estimator: TokenEstimator, model: str) -> None:
        self._estimator = estimator
        self._model = model

    def estimate(self, text: str, model_hint: str | None = None) -> int:  # noqa: ARG002 - the protocol's signature
        return self._estimator.estimate(text, self._model)


def estimator_for(estimator: TokenEstimator, model: str | None, settings: RisuSettings) -> TokenEstimator:
    """What counts tokens for the model that answers, where the settings name another."""
    return estimator if model in (None, "", settings.model) else _CountFor(estimator, model)
