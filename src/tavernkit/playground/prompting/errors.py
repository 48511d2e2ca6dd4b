"""What keeps a prompt from being built."""

from __future__ import annotations

from tavernkit.errors import TavernKitError

__all__ = ["UnpromptableError"]


class UnpromptableError(TavernKitError):
    """Something that a prompt cannot do without is gone; the message is a sentence for the user, with what to do."""
