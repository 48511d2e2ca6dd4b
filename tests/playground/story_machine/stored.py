"""What the database holds of a story, read at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import (
    Conversation,
    Message,
    MessageSwipe,
    OutboxEvent,
    PathSnapshot,
    Round,
    RoundSlot,
    Run,
    SpaceMembership,
)
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.paths.state import replay, state_at
from tavernkit.values import Json, Value

__all__ = ["Stored", "read_run", "read_stored"]

R = TypeVar("R")


class Stored(Value, frozen=True, kw_only=True):
    """The rows of one conversation, each kind in its order."""

    conversation: Conversation
    messages: Sequence[Message]
    swipes: Mapping[UUID, Sequence[MessageSwipe]]
    events: Sequence[int]
    snapshots: Sequence[PathSnapshot]
    runs: Sequence[Run]
    rounds: Sequence[Round]
    slots: Mapping[UUID, Sequence[RoundSlot]]
    members: Mapping[UUID, SpaceMembership]
    state: Mapping[str, Json]
    replayed: Mapping[str, Json]

    @property
    def running(self) -> Run | None:
        return next((run for run in self.runs if run.status == "running"), None)

    @property
    def queued(self) -> Run | None:
        return next((run for run in self.runs if run.status == "queued"), None)

    @property
    def speaking(self) -> Run | None:
        return self.running or self.queued

    @property
    def round(self) -> Round | None:
        return next((round for round in self.rounds if round.status == "active"), None)


async def read_run(runtime: Runtime, id: UUID) -> Run:
    async with runtime.database.read() as session:
        return await session.get_one(Run, id)


async def read_stored(runtime: Runtime, space_id: UUID, ids: Sequence[UUID]) -> dict[UUID, Stored]:
    """The conversations with these ids, which are all there are in the space."""
    async with runtime.database.read() as session:
        conversations = await _rows(session, select(Conversation).where(Conversation.space_id == space_id))
        assert {row.id for row in conversations} == set(ids)
        members = await _rows(session, select(SpaceMembership).where(SpaceMembership.space_id == space_id))
        messages = await _rows(session, select(Message).where(Message.conversation_id.in_(ids)).order_by(Message.seq))
        swipes = await _rows(
            session,
            select(MessageSwipe)
            .join(Message, Message.id == MessageSwipe.message_id)
            .where(Message.conversation_id.in_(ids))
            .order_by(MessageSwipe.position),
        )
        events = list(
            await session.execute(
                select(OutboxEvent.conversation_id, OutboxEvent.seq)
                .where(OutboxEvent.conversation_id.in_(ids))
                .order_by(OutboxEvent.seq)
            )
        )
        snapshots = await _rows(
            session, select(PathSnapshot).where(PathSnapshot.conversation_id.in_(ids)).order_by(PathSnapshot.seq)
        )
        runs = await _rows(session, select(Run).where(Run.conversation_id.in_(ids)).order_by(Run.created_at))
        rounds = await _rows(session, select(Round).where(Round.conversation_id.in_(ids)).order_by(Round.created_at))
        slots = await _rows(
            session,
            select(RoundSlot)
            .join(Round, Round.id == RoundSlot.round_id)
            .where(Round.conversation_id.in_(ids))
            .order_by(RoundSlot.position),
        )
        return {
            conversation.id: Stored(
                conversation=conversation,
                messages=[row for row in messages if row.conversation_id == conversation.id],
                swipes=_by(swipes, "message_id"),
                events=[seq for id, seq in events if id == conversation.id],
                snapshots=[row for row in snapshots if row.conversation_id == conversation.id],
                runs=[row for row in runs if row.conversation_id == conversation.id],
                rounds=[row for row in rounds if row.conversation_id == conversation.id],
                slots=_by(slots, "round_id"),
                members={member.id: member for member in members},
                state=await state_at(session, conversation.id, conversation.last_seq),
                replayed=await replay(session, conversation.id, conversation.last_seq),
            )
            for conversation in conversations
        }


async def _rows(session: AsyncSession, query: Select[R]) -> list[R]:
    return list(await session.scalars(query))


def _by(rows: Sequence[Any], column: str) -> dict[UUID, list[Any]]:
    found: dict[UUID, list[Any]] = {}
    for row in rows:
        found.setdefault(getattr(row, column), []).append(row)
    return found
