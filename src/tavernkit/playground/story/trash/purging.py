"""Removing for good what has been in the trash for long enough.

Each piece goes in small transactions. Its first marks it, so that nobody restores what is half gone: whoever is killed
in between has removed less, and the next one goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeAlias
from uuid import UUID

from sqlalchemy import delete, exists, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    Message,
    MessageSwipe,
    PromptSnapshot,
    Run,
)
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.characters.queries import has_spoken
from tavernkit.playground.story.characters.service import remove_character
from tavernkit.playground.story.conversations.service import (
    regraft_branches,
    remove_conversation_in_steps,
    remove_messages,
)
from tavernkit.playground.story.prompting.records import note_removed_prompts
from tavernkit.playground.story.retention import EXPIRED, read_retention
from tavernkit.playground.story.spaces.service import remove_in_steps
from tavernkit.playground.story.trash.queries import TABLES, TrashKind

AT_ONCE = 200
Purge: TypeAlias = Callable[[Runtime, UUID, Callable[[], None]], Awaitable[None]]
ROWS: tuple[TrashKind, ...] = ("lorebook", "preset", "persona", "quick_reply_set", "pipeline_profile")


class _StopPurging(Exception):  # noqa: N818 - not an error: somebody asked for it
    """The purge is to stop between two steps."""


async def purge(runtime: Runtime, until: asyncio.Event) -> dict[str, int]:
    """Remove everything whose period in the trash is over, or as much as can be removed until an event happens; how
    much of each kind that was."""
    async with runtime.database.read() as session:
        period = timedelta(days=(await read_retention(session)).trash_days)
    before = runtime.clock() - period
    removed: dict[str, int] = dict.fromkeys(TABLES, 0)

    def check() -> None:
        if until.is_set():
            raise _StopPurging

    try:
        for kind, remove in _PURGES.items():
            row = TABLES[kind]
            over = select(row.id).where(row.trashed_at <= before).order_by(row.trashed_at, row.id).limit(AT_ONCE)
            while ids := await _ids(runtime, over):
                for id in ids:
                    check()
                    if await _mark(runtime, row, id, before):
                        await remove(runtime, id, check)
                        removed[kind] += 1
        removed["message"] += await _purge_messages(runtime, before, check)
        removed["character"] += await _remove_silent(runtime, check)
    except _StopPurging:
        pass
    return removed


async def _ids(runtime: Runtime, query: Any) -> list[UUID]:
    async with runtime.database.read() as session:
        return list(await session.scalars(query))


async def _mark(runtime: Runtime, row: Any, id: UUID, before: datetime) -> bool:
    """Let nobody restore it any more; false where somebody just has."""
    async with runtime.database.write() as session:
        marked = await session.scalars(
            update(row).where(row.id == id, row.trashed_at <= before).values(trashed_at=EXPIRED).returning(row.id),
            execution_options={"synchronize_session": False},
        )
        return bool(marked.all())


async def _purge_space(runtime: Runtime, id: UUID, check: Callable[[], None]) -> None:
    await remove_in_steps(runtime, id, check)


async def _purge_conversation(runtime: Runtime, id: UUID, check: Callable[[], None]) -> None:
    async with runtime.database.write() as session:
        row = await session.get(Conversation, id, with_for_update=True)
        if row is not None:
            await regraft_branches(session, row)
    await remove_conversation_in_steps(runtime, id, check)


async def _purge_character(runtime: Runtime, id: UUID, _check: Callable[[], None]) -> None:
    async with runtime.database.write() as session:
        row = await session.get(Character, id, with_for_update=True)
        if row is not None:
            await remove_character(session, row, runtime.clock())


def _purge_row(kind: TrashKind) -> Purge:
    """How something goes that is one row, with what belongs to it alone."""
    row = TABLES[kind]

    async def remove(runtime: Runtime, id: UUID, _check: Callable[[], None]) -> None:
        async with runtime.database.write() as session:
            await session.execute(delete(row).where(row.id == id))

    return remove


_PURGES: Mapping[TrashKind, Purge] = {
    "space": _purge_space,
    "conversation": _purge_conversation,
    "character": _purge_character,
    **{kind: _purge_row(kind) for kind in ROWS},
}


async def _purge_messages(runtime: Runtime, before: datetime, check: Callable[[], None]) -> int:
    """Messages whose period is over, those of one conversation at a time, with the prompts of their runs. A branch that
    left at one of them leaves at the last message before it."""
    over = Message.trashed_at <= before
    removed = 0
    while found := await _ids(runtime, select(Message.conversation_id).where(over).distinct().limit(AT_ONCE)):
        for conversation_id in found:
            check()
            async with runtime.database.write() as session:
                locked = select(Conversation.id).where(Conversation.id == conversation_id).with_for_update()
                await session.execute(locked)
                those = select(Message.id).where(Message.conversation_id == conversation_id, over)
                ids = (await session.scalars(those.order_by(Message.seq).limit(AT_ONCE))).all()
                gone, left = aliased(Message), aliased(Message)
                earlier = (
                    select(left.id)
                    .join(gone, gone.conversation_id == left.conversation_id)
                    .where(gone.id == Conversation.forked_from_message_id, left.seq < gone.seq, left.id.not_in(ids))
                    .order_by(left.seq.desc())
                    .limit(1)
                    .correlate(Conversation)
                    .scalar_subquery()
                )
                await session.execute(
                    update(Conversation)
                    .where(Conversation.forked_from_message_id.in_(ids))
                    .values(forked_from_message_id=earlier),
                    execution_options={"synchronize_session": False},
                )
                runs = select(MessageSwipe.run_id).where(MessageSwipe.message_id.in_(ids)).distinct()
                run_ids = [id for id in await session.scalars(runs) if id is not None]
                await remove_messages(session, conversation_id, Message.id.in_(ids))
                await _forget_words(session, run_ids)
                removed += len(ids)
    return removed


async def _forget_words(session: AsyncSession, run_ids: Sequence[UUID]) -> None:
    """Keep of runs that no message is left of, in no branch either, what they have used, and nothing that was said."""
    left = select(Run.id).where(Run.id.in_(run_ids), ~exists().where(MessageSwipe.run_id == Run.id))
    silent = (await session.scalars(left)).all()
    if silent:
        await session.execute(update(Run).where(Run.id.in_(silent)).values(text=""))
        await session.execute(delete(PromptSnapshot).where(PromptSnapshot.run_id.in_(silent)))
        await note_removed_prompts(session)


async def _remove_silent(runtime: Runtime, check: Callable[[], None]) -> int:
    """What is left of characters that are gone, once no message of theirs is there any more."""
    removed, after = 0, UUID(int=0)
    while True:
        page = select(Character.id).where(Character.status == "deleted", Character.id > after).order_by(Character.id)
        ids = await _ids(runtime, page.limit(AT_ONCE))
        if not ids:
            return removed
        after = ids[-1]
        for id in ids:
            check()
            async with runtime.database.write() as session:
                row = await session.get(Character, id, with_for_update=True)
                if row is not None and row.status == "deleted" and not await has_spoken(session, id):
                    await remove_character(session, row, runtime.clock())
                    removed += 1
