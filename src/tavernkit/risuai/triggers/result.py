"""What a run of triggers leaves for its caller."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, TypeAlias

from tavernkit.prompt.warning import BuildWarning
from tavernkit.risuai.chat import RisuMessage
from tavernkit.values import Json, Value

TriggerMode: TypeAlias = Literal["start", "manual", "output", "input", "display", "request"]


class TriggerOutcome(StrEnum):
    """How a run ended."""

    DONE = "done"
    NO_TRIGGERS = "no_triggers"
    RETURNED = "returned"
    """An effect ended the whole run, as those do that are not for this mode."""
    FAILED = "failed"
    """An effect failed or the budget was spent; a warning says which."""


class SystemPrompts(Value, frozen=True, kw_only=True):
    """Texts for the start of the prompt, the end of the history, and the end of the prompt."""

    start: str = ""
    historyend: str = ""
    promptend: str = ""


class TriggerResult(Value, frozen=True, kw_only=True):
    """What the triggers did beyond the scene.

    Variables, the character, the persona and the author's note are changed in the scene while the triggers run.
    `messages` and `note` are the chat as it should be afterwards, which the caller writes down; a run that was not done
    leaves them as they were. `variables` are those that were written, with their last values. `tokens` is what the
    system prompts cost. `display_data` and `temporary` belong to the modes display and request.
    """

    outcome: TriggerOutcome
    messages: tuple[RisuMessage, ...]
    note: str = ""
    prompts: SystemPrompts = SystemPrompts()
    tokens: int = 0
    stop_sending: bool = False
    send_ai_prompt: bool = False
    variables: Mapping[str, Json] = {}
    display_data: str | None = None
    temporary: Mapping[str, Json] = {}
    log: tuple[str, ...] = ()
    warnings: tuple[BuildWarning, ...] = ()
