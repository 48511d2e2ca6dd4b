"""Whether a conversation may be changed at all."""

from __future__ import annotations

from tavernkit.playground.base.database.models import Conversation
from tavernkit.playground.base.refused import Refused


def require_in_use(conversation: Conversation) -> None:
    """Refuse a change in a conversation that is archived or not complete yet."""
    if conversation.status == "archived":
        raise Refused(
            code="conflict", sentence="This conversation is archived. Bring it back into use before you change it."
        )
    if conversation.status != "ready":
        raise Refused(code="conflict", sentence="This conversation is still being copied. Wait until it is complete.")
