"""How much a space may use."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.database.models import Conversation, Space
from tavernkit.playground.story.settings_schema.resolving import effective


class OverLimitError(TavernKitError):
    """A space has used as many tokens as its owner allows it."""


async def check_tokens(session: AsyncSession, conversation_id: UUID) -> None:
    """Raise OverLimitError when the conversation's space has used up its tokens."""
    space = (
        await session.scalars(
            select(Space)
            .join(Conversation, Conversation.space_id == Space.id)
            .where(Conversation.id == conversation_id)
        )
    ).one()
    limit = effective(space).settings.space.token_limit
    used = space.prompt_tokens_total + space.completion_tokens_total
    if 0 < limit <= used:
        raise OverLimitError(
            f"This space has used {used:,} of the {limit:,} tokens that it may use. Raise the limit in its settings."
        )
