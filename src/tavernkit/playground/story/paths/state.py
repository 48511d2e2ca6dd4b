"""The messages of a path, the state of a story, and what one swipe of a message changes in it.

The state is a flat mapping: `variables.gold`, `lore_timers.…`. A swipe keeps its change as a delta,
`{"set": {key: value}, "unset": [key]}`. The state behind a message is the fold of the deltas up to it, so that after
choosing another swipe, hiding a message or going down a branch it is right without anybody repairing anything.

It is read from the nearest snapshot before the message. Snapshots stand behind every message whose number is a multiple
of `EVERY`, so that the state anywhere costs at most `EVERY` messages. The one numbered 0 is what the story begins with.
Whoever changes what has already been said, in the transaction that locks the conversation, calls `path_changed`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias
from uuid import UUID

from sqlalchemy import Row, Select, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Conversation,
    Message,
    MessagePicture,
    MessageSwipe,
    PathSnapshot,
    SpaceMembership,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, conversation_for
from tavernkit.playground.story.access.personas import AUTHOR_NAME, with_locks
from tavernkit.playground.story.paths.pictures import pictures_of_swipes
from tavernkit.values import Json, JsonObject

State: TypeAlias = dict[str, Json]
Delta: TypeAlias = JsonObject


def changes_in(delta: Delta | None) -> tuple[State, list[str]]:
    """What a delta sets and what it unsets."""
    put, gone = (delta or {}).get("set"), (delta or {}).get("unset")
    return (put if isinstance(put, dict) else {}), (gone if isinstance(gone, list) else [])


def apply(state: State, delta: Delta | None) -> None:
    """Change the state as the delta says; a key is never both set and unset."""
    if not delta:
        return
    put, gone = changes_in(delta)
    for key in gone:
        state.pop(key, None)
    state.update(put)


def fold(state: JsonObject, deltas: Iterable[Delta | None]) -> State:
    """The state behind all of these, one after the other."""
    folded = dict(state)
    for delta in deltas:
        apply(folded, delta)
    return folded


def changed_delta(delta: Delta | None, *, set: Mapping[str, Json], unset: Iterable[str]) -> dict[str, Json] | None:
    """One delta that does what this one does, and then sets and unsets; None when that is nothing."""
    before, unset_before = changes_in(delta)
    values, gone = dict(before), dict.fromkeys(unset_before)
    for key in unset:
        values.pop(key, None)
        gone[key] = None
    for key, value in set.items():
        gone.pop(key, None)
        values[key] = value
    return {"set": values, "unset": list(gone)} if values or gone else None


EVERY = 50


async def state_at(session: AsyncSession, conversation_id: UUID, seq: int) -> State:
    """The state right behind message `seq`, or behind the last visible one before it."""
    start, state = await _nearest(session, conversation_id, seq)
    return fold(state, (delta for _, delta in await _deltas(session, conversation_id, start, seq)))


async def replay(session: AsyncSession, conversation_id: UUID, seq: int) -> State:
    """The same as `state_at`, replayed from the beginning; it trusts no snapshot but the first."""
    _, state = await _nearest(session, conversation_id, 0)
    return fold(state, (delta for _, delta in await _deltas(session, conversation_id, 0, seq)))


async def keep_snapshots(session: AsyncSession, conversation_id: UUID, seq: int) -> None:
    """Write the snapshots that are missing up to message `seq`."""
    start, state = await _nearest(session, conversation_id, seq)
    if seq - start < EVERY:
        return
    deltas = await _deltas(session, conversation_id, start, seq)
    rows: list[dict[str, Json]] = []
    applied = 0
    for due in range(start - start % EVERY + EVERY, seq + 1, EVERY):
        while applied < len(deltas) and deltas[applied].seq <= due:
            apply(state, deltas[applied].state_delta)
            applied += 1
        rows.append({"conversation_id": conversation_id, "seq": due, "state": dict(state)})
    await session.execute(insert(PathSnapshot), rows)


async def message_added(session: AsyncSession, conversation_id: UUID, seq: int) -> None:
    """The path has become longer by message `seq`."""
    if seq % EVERY == 0:
        await keep_snapshots(session, conversation_id, seq)


async def path_changed(session: AsyncSession, conversation_id: UUID, seq: int) -> None:
    """Something at message `seq` has changed: the snapshots behind it are written anew."""
    await session.execute(
        delete(PathSnapshot).where(
            PathSnapshot.conversation_id == conversation_id, PathSnapshot.seq >= seq, PathSnapshot.seq > 0
        )
    )
    last: int | None = await session.scalar(select(Conversation.last_seq).where(Conversation.id == conversation_id))
    await keep_snapshots(session, conversation_id, last or 0)


async def set_beginning(session: AsyncSession, conversation_id: UUID, state: State) -> None:
    """What the story begins with, before anybody has said anything."""
    await session.merge(PathSnapshot(conversation_id=conversation_id, seq=0, state=state))
    await session.flush()
    await path_changed(session, conversation_id, 0)


async def _nearest(session: AsyncSession, conversation_id: UUID, seq: int) -> tuple[int, State]:
    """The last snapshot at or before `seq`; a story without any begins with nothing."""
    row = (
        await session.execute(
            select(PathSnapshot.seq, PathSnapshot.state)
            .where(PathSnapshot.conversation_id == conversation_id, PathSnapshot.seq <= seq)
            .order_by(PathSnapshot.seq.desc())
            .limit(1)
        )
    ).one_or_none()
    return (0, {}) if row is None else (row.seq, row.state)


async def _deltas(session: AsyncSession, conversation_id: UUID, after: int, until: int) -> list[Row[int, Delta | None]]:
    """What the active swipes of the visible messages behind `after`, up to `until`, have changed, in order."""
    rows = await session.execute(
        select(Message.seq, MessageSwipe.state_delta)
        .join(MessageSwipe, MessageSwipe.id == Message.active_swipe_id)
        .where(
            Message.conversation_id == conversation_id,
            Message.seq > after,
            Message.seq <= until,
            Message.visibility != "hidden",
            MessageSwipe.state_delta.is_not(None),
        )
        .order_by(Message.seq)
    )
    return list(rows)


class ShownMessage(NamedTuple):
    """A message with what is shown beside it: who said it, which of its swipes is seen, and its pictures."""

    message: Message
    author_name: str
    author_kind: str
    swipe_position: int
    pictures: Sequence[MessagePicture] = ()


async def messages_before(
    session: AsyncSession, conversation_id: UUID, *, before: int | None, limit: int
) -> list[ShownMessage]:
    """The newest visible messages below `before`, oldest first."""
    query = _visible(conversation_id).order_by(Message.seq.desc()).limit(limit)
    if before is not None:
        query = query.where(Message.seq < before)
    return await _with_pictures(session, [ShownMessage(*row) for row in reversed((await session.execute(query)).all())])


async def messages_after(session: AsyncSession, conversation_id: UUID, *, after: int, limit: int) -> list[ShownMessage]:
    """The oldest visible messages above `after`, oldest first."""
    query = _visible(conversation_id).where(Message.seq > after).order_by(Message.seq).limit(limit)
    return await _with_pictures(session, [ShownMessage(*row) for row in await session.execute(query)])


async def shown_message(session: AsyncSession, message_id: UUID) -> ShownMessage:
    """One message that is known to be there, hidden or not."""
    row = (await session.execute(_shown().where(Message.id == message_id))).one()
    return (await _with_pictures(session, [ShownMessage(*row)]))[0]


async def _with_pictures(session: AsyncSession, shown: list[ShownMessage]) -> list[ShownMessage]:
    pictures = await pictures_of_swipes(session, [one.message.active_swipe_id for one in shown])
    return [one._replace(pictures=pictures.get(one.message.active_swipe_id, ())) for one in shown]


async def visible_message(session: AsyncSession, conversation_id: UUID, message_id: UUID | None) -> Message | None:
    """A message of the conversation that is not hidden."""
    return await session.scalar(
        select(Message).where(
            Message.id == message_id, Message.conversation_id == conversation_id, Message.visibility != "hidden"
        )
    )


async def swipes_of(
    session: AsyncSession, message_id: UUID, *, after: int = -1, limit: int | None = None
) -> list[MessageSwipe]:
    """The swipes of a message behind position `after`, in order."""
    rows = await session.scalars(
        select(MessageSwipe)
        .where(MessageSwipe.message_id == message_id, MessageSwipe.position > after)
        .order_by(MessageSwipe.position)
        .limit(limit)
    )
    return list(rows)


async def active_swipe(session: AsyncSession, message: Message) -> MessageSwipe:
    """The swipe that is seen; every message has one."""
    return await session.get_one(MessageSwipe, message.active_swipe_id)


def _shown() -> Select[Message, str, str, int]:
    return with_locks(
        select(Message, AUTHOR_NAME, SpaceMembership.kind, MessageSwipe.position)
        .join(SpaceMembership, SpaceMembership.id == Message.membership_id)
        .join(MessageSwipe, MessageSwipe.id == Message.active_swipe_id)
    )


def _visible(conversation_id: UUID) -> Select[Message, str, str, int]:
    return _shown().where(Message.conversation_id == conversation_id, Message.visibility != "hidden")


async def end_of_path(session: AsyncSession, conversation_id: UUID) -> tuple[Message, MessageSwipe] | None:
    """The last visible message with the swipe that is seen."""
    row = (
        await session.execute(
            select(Message, MessageSwipe)
            .join(MessageSwipe, MessageSwipe.id == Message.active_swipe_id)
            .where(Message.conversation_id == conversation_id, Message.visibility != "hidden")
            .order_by(Message.seq.desc())
            .limit(1)
        )
    ).one_or_none()
    return None if row is None else (row[0], row[1])


async def read_state(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, message_id: UUID | None = None
) -> tuple[int, State]:
    """The state behind a message, or at the end, with the number of the message it was asked for."""
    async with runtime.database.read() as session:
        conversation, _access = await conversation_for(session, conversation_id, viewer, Access.READ)
        seq = conversation.last_seq
        if message_id is not None:
            seq = existing(await visible_message(session, conversation_id, message_id), _("message")).seq
        return seq, await state_at(session, conversation_id, seq)
