"""Reading messages with everything that pages show beside them: a fixed number of statements for any number of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import Character, Message, MessageSwipe, Persona, Run, SpaceMembership


class MessageRow(NamedTuple):
    """A message, who said it, which of its versions is seen, and what the run that wrote it took."""

    message: Message
    author_name: str
    author_kind: str
    author_status: str
    character_id: UUID | None
    thumbnail: str | None
    avatar: str | None
    swipe_position: int
    swipe_metadata: Mapping[str, Any]
    prompt_tokens: int | None
    completion_tokens: int | None
    debug: Mapping[str, Any] | None


async def read_message_rows(
    session: AsyncSession, conversation_id: UUID, *, before: int | None, limit: int
) -> list[MessageRow]:
    """The newest `limit` messages below `before` that are not hidden, oldest first."""
    query = _shown().where(Message.conversation_id == conversation_id).order_by(Message.seq.desc()).limit(limit)
    if before is not None:
        query = query.where(Message.seq < before)
    return [MessageRow(*row) for row in reversed((await session.execute(query)).all())]


async def read_message_row(session: AsyncSession, message_id: UUID) -> MessageRow | None:
    """One message, unless it is hidden."""
    row = (await session.execute(_shown().where(Message.id == message_id))).one_or_none()
    return None if row is None else MessageRow(*row)


def _shown() -> Select[
    Message, str, str, str, UUID | None, str | None, str | None, int, Any, int | None, int | None, Any
]:
    return (
        select(
            Message,
            SpaceMembership.cached_display_name,
            SpaceMembership.kind,
            SpaceMembership.status,
            SpaceMembership.character_id,
            Character.thumbnail_sha256,
            Persona.avatar_sha256,
            MessageSwipe.position,
            MessageSwipe.metadata_,
            Run.prompt_tokens,
            Run.completion_tokens,
            Run.debug,
        )
        .join(SpaceMembership, SpaceMembership.id == Message.membership_id)
        .join(MessageSwipe, MessageSwipe.id == Message.active_swipe_id)
        .outerjoin(Character, Character.id == SpaceMembership.character_id)
        .outerjoin(Persona, Persona.id == SpaceMembership.persona_id)
        .outerjoin(Run, Run.id == Message.run_id)
        .where(Message.visibility != "hidden")
    )
