"""Putting a reply where it belongs, inside the transaction that ends its run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.artifacts.pipelines import Wording
from tavernkit.playground.base.database.models import Message, MessageSwipe, Run
from tavernkit.playground.base.realtime.outbox import append_event
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.paths.pictures import Expression, set_expression
from tavernkit.playground.story.paths.state import changed_delta, changes_in, path_changed, visible_message
from tavernkit.playground.story.paths.writing import add_message, add_text, note_change
from tavernkit.playground.story.prompting.inputs import WORDINGS
from tavernkit.playground.story.runs.planner import AGAINST_A_TARGET, WRITTEN_FOR_A_PERSON
from tavernkit.values import Json, Value


class ReplyIds(Value, frozen=True, kw_only=True):
    """The message and the swipe that a reply is going to be: what steps write before it already belongs to them."""

    message_id: UUID
    swipe_id: UUID


class Wordings(Value, frozen=True, kw_only=True):
    """What steps have made of the message that a reply answers; its text, by which an edit is noticed."""

    message_id: UUID
    typed: str
    made: tuple[Wording, ...]


async def keep_wordings(session: AsyncSession, wordings: Wordings) -> None:
    """Keep them beside what was typed, unless that was changed meanwhile."""
    message = await session.get(Message, wordings.message_id)
    if message is None or message.content != wordings.typed:
        return
    swipe = await session.get_one(MessageSwipe, message.active_swipe_id)
    made = [msgspec.to_builtins(one) for one in wordings.made]
    swipe.metadata_ = {**swipe.metadata_, WORDINGS: {"of": str(message.text_id), "made": made}}
    await session.flush()


async def store_reply(
    session: AsyncSession,
    runtime: Runtime,
    run: Run,
    *,
    text: str,
    metadata: Mapping[str, Any],
    state_delta: Mapping[str, Json] | None,
    now: datetime,
    ids: ReplyIds | None = None,
    expression: Expression | None = None,
) -> Message:
    """A message at the end; or another swipe of the message that was regenerated or continued, if it is still there.

    `ids` are those that were decided before the reply was there. The conversation is locked by who calls this.
    """
    message_id, swipe_id = (None, None) if ids is None else (ids.message_id, ids.swipe_id)
    target = await visible_message(session, run.conversation_id, run.target_message_id)
    if target is not None and run.kind in AGAINST_A_TARGET:
        # Beside the earlier ones, and shown; one that goes on with an earlier one does to the state what both do.
        before = await session.get_one(MessageSwipe, target.active_swipe_id)
        put, gone = changes_in(state_delta)
        swipe = MessageSwipe(
            id=swipe_id or runtime.ids(),
            message_id=target.id,
            position=target.swipes_count,
            text=await add_text(session, runtime.ids, text),
            state_delta=changed_delta(before.state_delta if run.kind == "continue" else None, set=put, unset=gone),
            metadata_=dict(metadata),
            run_id=run.id,
            created_at=now,
        )
        session.add(swipe)
        target.swipes_count += 1
        target.active_swipe_id, target.text, target.run_id = swipe.id, swipe.text, run.id
        await session.flush()
        if expression is not None:
            await set_expression(session, runtime, swipe.id, expression)
        if (before.state_delta or None) != (swipe.state_delta or None):
            await path_changed(session, target.conversation_id, target.seq)
        await note_change(session, runtime, target, "message_changed")
        await append_event(session, target.conversation_id, "run", now, run_id=str(run.id))
        return target
    if message_id == run.target_message_id:
        # The message is gone, of which it was to be a swipe.
        message_id = None
    message = await add_message(
        session,
        runtime.ids,
        conversation_id=run.conversation_id,
        id=message_id or runtime.ids(),
        swipe_id=swipe_id,
        membership_id=run.speaker_membership_id,
        role="user" if run.kind in WRITTEN_FOR_A_PERSON else "assistant",
        content=text,
        run_id=run.id,
        metadata=metadata,
        state_delta=state_delta,
        now=now,
    )
    if expression is not None and message.active_swipe_id is not None:
        await set_expression(session, runtime, message.active_swipe_id, expression)
    await append_event(session, run.conversation_id, "reply", now, run_id=str(run.id), message_id=str(message.id))
    return message
