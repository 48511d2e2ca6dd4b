"""Telling a reply anew, without losing anything: the earlier ones stay as swipes, as hidden messages, or elsewhere.

Where later messages or branches hang on what would be regenerated, a branch is made and told on there.
"""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Message, Run, Space
from tavernkit.playground.base.realtime.outbox import append_event
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, conversation_for, require_in_use
from tavernkit.playground.story.access.members import active_members
from tavernkit.playground.story.conversations.forking import ForkKind, add_fork
from tavernkit.playground.story.paths.queries import end_of_path
from tavernkit.playground.story.paths.snapshots import path_changed
from tavernkit.playground.story.runs.planner import cancel_queued, leave_running, plan_run
from tavernkit.playground.story.runs.queries import queued_run
from tavernkit.playground.story.runs.requests import check_is_here
from tavernkit.playground.story.runs.rounds import end_round, rules_of, start_round
from tavernkit.playground.story.runs.speakers import is_group

MOST_HIDDEN = 100
"""A longer turn than this is regenerated in a branch."""


async def regenerate(
    runtime: Runtime,
    viewer: Viewer,
    conversation_id: UUID,
    *,
    message_id: UUID | None = None,
    only_message: bool = False,
) -> Run:
    """Regenerate a reply, or the last one.

    In a group whose space regenerates turns, the last reply stands for everything since a person spoke, unless
    `only_message`. The run says in which conversation that happens: another one, if it needs a branch.
    """
    async with runtime.database.write() as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.TAKE_PART, lock=True)
        require_in_use(conversation)
        end = await end_of_path(session, conversation.id)
        target = await _target(session, conversation, message_id) if message_id else end and end[0]
        if end is None or target is None:
            raise not_found("message")
        if target.role != "assistant":
            sentence = "Only a reply can be told anew. Choose a message of a character."
            raise Refused(code="conflict", sentence=sentence)
        rules = await rules_of(session, conversation)
        is_turn = target.id == end[0].id and not only_message and rules.group_regenerate_mode == "last_turn"
        if is_turn and is_group(await active_members(session, conversation.space_id)):
            return await _last_turn(session, runtime, conversation, access.space)
        await check_is_here(session, target.membership_id)
        if target.id != end[0].id:
            conversation, target = await _branch(session, runtime, conversation, access.space, target)
        else:
            await _stop_everything(session, runtime, conversation)
        return await plan_run(
            session,
            runtime,
            conversation.id,
            target.membership_id,
            kind="regenerate",
            reason="asked",
            target_id=target.id,
        )


async def _last_turn(session: AsyncSession, runtime: Runtime, conversation: Conversation, space: Space) -> Run:
    """Everything since a person spoke: hidden, where nothing hangs on it, and told by a new round."""
    asked: Message | None = await session.scalar(
        select(Message)
        .where(Message.conversation_id == conversation.id, Message.role == "user", Message.visibility != "hidden")
        .order_by(Message.seq.desc())
        .limit(1)
    )
    if asked is None:
        raise Refused(code="conflict", sentence="Nobody has said anything yet that could be answered anew.")
    if await _hangs_on(session, conversation, asked.seq):
        conversation, asked = await _branch(session, runtime, conversation, space, asked)
    else:
        await _stop_everything(session, runtime, conversation)
        await _hide_behind(session, runtime, conversation, asked.seq)
    await start_round(session, runtime, conversation, trigger=asked)
    planned = await queued_run(session, conversation.id)
    if planned is None:
        raise Refused(code="conflict", sentence="Nobody here can speak. Add a character, or unmute one.")
    return planned


async def _hangs_on(session: AsyncSession, conversation: Conversation, seq: int) -> bool:
    """Whether a branch begins in what was said behind a message, or there is too much of it to be put away."""
    behind = select(Message.id).where(
        Message.conversation_id == conversation.id, Message.seq > seq, Message.visibility != "hidden"
    )
    count = await session.scalar(select(func.count()).select_from(behind.subquery()))
    if (count or 0) > MOST_HIDDEN:
        return True
    branch = select(Conversation.id).where(Conversation.forked_from_message_id.in_(behind)).limit(1)
    return await session.scalar(branch) is not None


async def _hide_behind(session: AsyncSession, runtime: Runtime, conversation: Conversation, seq: int) -> None:
    """Delete softly what was said behind a message: it can be brought back."""
    hidden = list(
        await session.scalars(
            update(Message)
            .where(Message.conversation_id == conversation.id, Message.seq > seq, Message.visibility != "hidden")
            .values(hidden_from=Message.visibility, visibility="hidden", revision=Message.revision + 1)
            .returning(Message.id),
            execution_options={"synchronize_session": False},
        )
    )
    conversation.messages_count -= len(hidden)
    await session.flush()
    await path_changed(session, conversation.id, seq + 1)
    for message_id in hidden:
        await append_event(session, conversation.id, "message_hidden", runtime.clock(), message_id=str(message_id))


async def _branch(
    session: AsyncSession, runtime: Runtime, conversation: Conversation, space: Space, message: Message
) -> tuple[Conversation, Message]:
    """The conversation anew up to a message, and that message there; what goes on in the old one goes on."""
    kind: ForkKind = "branch" if space.kind == "playground" else "thread"
    branch = await add_fork(session, runtime, conversation, message.id, message.seq, kind=kind)
    copied = await session.scalars(
        select(Message).where(Message.conversation_id == branch.id, Message.seq == message.seq)
    )
    return branch, copied.one()


async def _stop_everything(session: AsyncSession, runtime: Runtime, conversation: Conversation) -> None:
    await leave_running(session, runtime, conversation.id)
    await cancel_queued(session, runtime, conversation.id)
    await end_round(session, runtime, conversation.id, "canceled", reason="told_anew")


async def _target(session: AsyncSession, conversation: Conversation, message_id: UUID) -> Message | None:
    found: Message | None = await session.scalar(
        select(Message).where(
            Message.id == message_id, Message.conversation_id == conversation.id, Message.visibility != "hidden"
        )
    )
    return found
