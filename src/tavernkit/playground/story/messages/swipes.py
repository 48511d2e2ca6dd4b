"""The versions of a message: choosing, adding, rewriting and removing them, on any message."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Message, MessageSwipe
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access
from tavernkit.playground.story.paths.messages import active_swipe
from tavernkit.playground.story.paths.state import path_changed
from tavernkit.playground.story.paths.writing import add_text, changeable_message, clean_text, note_change, refuse_stale

MAX_SWIPES = 1_000


async def edit_message(
    runtime: Runtime, viewer: Viewer, message_id: UUID, *, content: str, revision: int | None
) -> Message:
    """Give the active swipe another text; what it does to the story's state stays."""
    return await edit_swipe(runtime, viewer, message_id, None, content=content, revision=revision)


async def edit_swipe(
    runtime: Runtime, viewer: Viewer, message_id: UUID, swipe_id: UUID | None, *, content: str, revision: int | None
) -> Message:
    """Give one swipe, or the active one, another text."""
    text = clean_text(content)
    async with runtime.database.write() as session:
        message, _ = await changeable_message(session, message_id, viewer, Access.MODERATE)
        swipe = await _swipe(session, message, swipe_id or message.active_swipe_id)
        if swipe is None:
            raise not_found("swipe")
        if swipe.content == text:
            # Perhaps the answer to the same change was lost; there is nothing to refuse.
            return message
        await refuse_stale(session, message, revision)
        swipe.text = await add_text(session, runtime.ids, text)
        if swipe.id == message.active_swipe_id:
            message.text = swipe.text
        await note_change(session, runtime, message, "message_changed")
        return message


async def select_swipe(
    runtime: Runtime,
    viewer: Viewer,
    message_id: UUID,
    to: int | Literal["left", "right"],
    *,
    revision: int | None = None,
) -> Message:
    """Show the swipe at a position, or the one beside the one that is shown; behind the ends there is none."""
    async with runtime.database.write() as session:
        message, _ = await changeable_message(session, message_id, viewer, Access.TAKE_PART)
        await refuse_stale(session, message, revision)
        current = await active_swipe(session, message)
        chosen = await _swipe_at(session, message, _position(message, current, to))
        if chosen is None:
            raise not_found("swipe")
        if chosen.id != current.id:
            await _show(session, runtime, message, current, chosen)
        return message


async def add_swipe(
    runtime: Runtime, viewer: Viewer, message_id: UUID, *, swipe_id: UUID, content: str, activate: bool = True
) -> MessageSwipe:
    """Add a version that was written by hand behind the others; it changes nothing in the story's state."""
    text = clean_text(content)
    try:
        async with runtime.database.write() as session:
            message, _ = await changeable_message(session, message_id, viewer, Access.MODERATE)
            known = await session.get(MessageSwipe, swipe_id)
            if known is not None:
                if known.message_id != message_id:
                    raise _taken()
                return known
            if message.swipes_count >= MAX_SWIPES:
                raise Refused(
                    code="conflict", sentence=f"A message has at most {MAX_SWIPES:,} swipes. Remove one of them first."
                )
            swipe = MessageSwipe(
                id=swipe_id,
                message_id=message.id,
                position=message.swipes_count,
                text=await add_text(session, runtime.ids, text),
                created_at=runtime.clock(),
            )
            session.add(swipe)
            message.swipes_count += 1
            await session.flush()
            if activate:
                await _show(session, runtime, message, await active_swipe(session, message), swipe)
            else:
                await note_change(session, runtime, message, "message_changed")
            return swipe
    except IntegrityError:
        # The same id was given to a swipe of another message at the same moment.
        raise _taken() from None


async def delete_swipe(
    runtime: Runtime, viewer: Viewer, message_id: UUID, swipe_id: UUID, *, revision: int | None = None
) -> Message:
    """Remove a version, never the last; where it was shown, its neighbour is shown instead."""
    async with runtime.database.write() as session:
        message, _ = await changeable_message(session, message_id, viewer, Access.MODERATE)
        swipe = await _swipe(session, message, swipe_id)
        if swipe is None:
            raise not_found("swipe")
        await refuse_stale(session, message, revision)
        if message.swipes_count == 1:
            raise Refused(
                code="conflict", sentence="This is the only version of the message. Delete the message instead."
            )
        neighbour = await _swipe_at(session, message, swipe.position + (1 if swipe.position == 0 else -1))
        message.swipes_count -= 1
        if swipe.id == message.active_swipe_id and neighbour is not None:
            await _show(session, runtime, message, swipe, neighbour)
        else:
            await note_change(session, runtime, message, "message_changed")
        await _remove(session, swipe)
        return message


def _position(message: Message, current: MessageSwipe, to: int | Literal["left", "right"]) -> int:
    if isinstance(to, int):
        return to
    return max(current.position - 1, 0) if to == "left" else min(current.position + 1, message.swipes_count - 1)


async def _remove(session: AsyncSession, swipe: MessageSwipe) -> None:
    """Take it out of the row and close the gap, by way of numbers that nobody has."""
    await session.delete(swipe)
    await session.flush()
    later = update(MessageSwipe).where(MessageSwipe.message_id == swipe.message_id)
    options = {"synchronize_session": False}
    await session.execute(
        later.where(MessageSwipe.position > swipe.position).values(position=-MessageSwipe.position),
        execution_options=options,
    )
    await session.execute(
        later.where(MessageSwipe.position < 0).values(position=-MessageSwipe.position - 1), execution_options=options
    )


async def _show(
    session: AsyncSession, runtime: Runtime, message: Message, before: MessageSwipe, chosen: MessageSwipe
) -> None:
    message.active_swipe_id, message.text, message.run_id = chosen.id, chosen.text, chosen.run_id
    await note_change(session, runtime, message, "message_changed")
    if (before.state_delta or None) != (chosen.state_delta or None):
        await path_changed(session, message.conversation_id, message.seq)


async def _swipe(session: AsyncSession, message: Message, swipe_id: UUID | None) -> MessageSwipe | None:
    return await session.scalar(
        select(MessageSwipe).where(MessageSwipe.id == swipe_id, MessageSwipe.message_id == message.id)
    )


async def _swipe_at(session: AsyncSession, message: Message, position: int) -> MessageSwipe | None:
    return await session.scalar(
        select(MessageSwipe).where(MessageSwipe.message_id == message.id, MessageSwipe.position == position)
    )


def _taken() -> Refused:
    return Refused(code="taken", sentence="Another swipe has this id. Add it again under a new one.")
