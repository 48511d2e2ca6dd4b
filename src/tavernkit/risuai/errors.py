"""Every error that only RisuAI's layer raises.

TavernKitError
├── CBSError                      a CBS macro that failed; `.position` and `.block_type` say where
│   ├── CBSSyntaxError            a block that is malformed or never closed
│   └── CBSStackOverflowError     functions that call each other deeper than 20 levels
├── DecoratorParseError           a lore decorator (`@@…`) that cannot be read
├── MemoryStateError              a chat's memory that does not fit the chat
├── SendingStopped                a trigger that wants nothing to be sent
└── TriggerError                  a trigger that failed; `.trigger_type` and `.effect_type` say which
    └── TriggerRecursionError     triggers that run each other deeper than 10 levels
"""

from __future__ import annotations

from tavernkit.errors import TavernKitError


class CBSError(TavernKitError):
    """A CBS macro that failed; `position` counts characters from the start of the text."""

    def __init__(self, message: str, *, position: int | None = None, block_type: str | None = None) -> None:
        super().__init__(message)
        self.position = position
        self.block_type = block_type


class CBSSyntaxError(CBSError):
    """A CBS block that is malformed or never closed."""


class CBSStackOverflowError(CBSError):
    """CBS functions that call each other too deeply."""


class DecoratorParseError(TavernKitError):
    """A lore decorator that cannot be read."""


class MemoryStateError(TavernKitError):
    """A chat's memory that does not fit the chat."""


class SendingStopped(TavernKitError):  # noqa: N818 - what the card's author wants is no failure
    """A trigger that wants nothing to be sent to the model now."""


class TriggerError(TavernKitError):
    """A trigger that failed while it ran."""

    def __init__(self, message: str, *, trigger_type: str | None = None, effect_type: str | None = None) -> None:
        super().__init__(message)
        self.trigger_type = trigger_type
        self.effect_type = effect_type


class TriggerRecursionError(TriggerError):
    """Triggers that run each other too deeply."""
