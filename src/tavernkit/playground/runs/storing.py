"""Putting a reply where it belongs, inside the transaction that ends its run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.database.models import Message, MessageSwipe, Run
from tavernkit.playground.messages.changeable import note_change
from tavernkit.playground.messages.writing import add_message, add_text
from tavernkit.playground.paths.snapshots import path_changed
from tavernkit.playground.paths.state import changed_delta
from tavernkit.playground.realtime.outbox import append_event
from tavernkit.playground.runs.states import AGAINST_A_TARGET, WRITTEN_FOR_A_PERSON
from tavernkit.playground.runtime import Runtime
from tavernkit.values import Json

__all__ = ["store_reply"]


async def store_reply(
    session: AsyncSession,
    runtime: Runtime,
    run: Run,
    *,
    text: str,
    metadata: Mapping[str, Any],
    state_delta: Mapping[str, Json] | None,
    now: datetime,
) -> Message:
    """A message at the end; or another swipe of the message that was told anew or continued, if it is still there.

    The conversation is locked by who calls this.
    """
    target = None if run.target_message_id is None else await _target(session, run)
    if target is not None and run.kind in AGAINST_A_TARGET:
        return await _another_swipe(
            session, runtime, target, run, text=text, metadata=metadata, state_delta=state_delta, now=now
        )
    message = await add_message(
        session,
        runtime.ids,
        conversation_id=run.conversation_id,
        id=runtime.ids(),
        membership_id=run.speaker_membership_id,
        role="user" if run.kind in WRITTEN_FOR_A_PERSON else "assistant",
        content=text,
        run_id=run.id,
        metadata=metadata,
        state_delta=state_delta,
        now=now,
    )
    await append_event(session, run.conversation_id, "reply", now, run_id=str(run.id), message_id=str(message.id))
    return message


async def _target(session: AsyncSession, run: Run) -> Message | None:
    found: Message | None = await session.scalar(
        select(Message).where(
            Message.id == run.target_message_id,
            Message.conversation_id == run.conversation_id,
            Message.visibility != "hidden",
        )
    )
    return found


async def _another_swipe(
    session: AsyncSession,
    runtime: Runtime,
    message: Message,
    run: Run,
    *,
    text: str,
    metadata: Mapping[str, Any],
    state_delta: Mapping[str, Json] | None,
    now: datetime,
) -> Message:
    """The reply beside the earlier ones, and shown; one that goes on with an earlier one does to the state what both
    do."""
    before = await session.get_one(MessageSwipe, message.active_swipe_id)
    changes = state_delta or {}
    swipe = MessageSwipe(
        id=runtime.ids(),
        message_id=message.id,
        position=message.swipes_count,
        text=await add_text(session, runtime.ids, text),
        state_delta=changed_delta(
            before.state_delta if run.kind == "continue" else None,
            set=changes.get("set", {}),
            unset=changes.get("unset", ()),
        ),
        metadata_=dict(metadata),
        run_id=run.id,
        created_at=now,
    )
    session.add(swipe)
    message.swipes_count += 1
    message.active_swipe_id, message.text, message.run_id = swipe.id, swipe.text, run.id
    await session.flush()
    if (before.state_delta or None) != (swipe.state_delta or None):
        await path_changed(session, message.conversation_id, message.seq)
    await note_change(session, runtime, message, "message_changed")
    await append_event(session, message.conversation_id, "run", now, run_id=str(run.id))
    return message
