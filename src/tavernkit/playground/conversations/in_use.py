"""Whether a conversation may be changed at all."""

from __future__ import annotations

from tavernkit.playground.database.models import Conversation
from tavernkit.playground.outcome import Refused

__all__ = ["not_in_use"]


def not_in_use(conversation: Conversation) -> Refused | None:
    """Why nothing may be changed in a conversation that is not in use."""
    if conversation.status == "ready":
        return None
    if conversation.status == "archived":
        return Refused(
            code="conflict", sentence="This conversation is archived. Bring it back into use before you change it."
        )
    return Refused(code="conflict", sentence="This conversation is still being copied. Wait until it is complete.")
