"""What keeps a prompt from being built or sent."""

from __future__ import annotations

from uuid import UUID

from tavernkit.errors import TavernKitError


class UnpromptableError(TavernKitError):
    """Something that a prompt cannot do without is gone; the message is a sentence for the user, with what to do."""


class PromptTooLargeError(TavernKitError):
    """The prompt does not fit into the context size; the message says what is large, and what to do."""

    def __init__(self, message: str, *, provider_id: UUID) -> None:
        super().__init__(message)
        self.provider_id = provider_id
