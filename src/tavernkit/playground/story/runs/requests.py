"""What people want of replies: one from somebody, one more, another one, or the next words of their own.

Who asks for a reply themselves ends the round that was going on; what comes of it never moves a round. Regenerating
loses nothing: the earlier replies stay as swipes, as hidden messages, or elsewhere. Where later messages or branches
hang on what would be regenerated, a branch is made and told on there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Message, Run, Space, SpaceMembership
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.realtime.outbox import append_event
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import (
    active_members,
    conversation_to_change,
)
from tavernkit.playground.story.conversations.forking import ForkKind, add_fork
from tavernkit.playground.story.paths.state import end_of_path, path_changed, visible_message
from tavernkit.playground.story.runs.planner import cancel_queued, leave_running, plan_run, settle_undecided
from tavernkit.playground.story.runs.queries import active_run, queued_run
from tavernkit.playground.story.runs.rounds import end_round, rules_of, start_round
from tavernkit.playground.story.runs.speakers import choose_speakers, is_group, speaking_member


async def force_talk(runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, speaker_id: UUID | None = None) -> Run:
    """Let a character speak now, muted or not; without one in particular, whoever would speak next."""
    async with runtime.database.write() as session:
        conversation, _access = await conversation_to_change(session, conversation_id, viewer)
        if speaker_id is None:
            seed = runtime.ids().int
            rules = await rules_of(session, conversation)
            chosen = await choose_speakers(session, conversation, rules, seed=seed, said=None, for_people=False)
            if not chosen:
                raise Refused("conflict", _("No character can reply. Add a character or unmute one."))
            speaker_id, reason = chosen[0].member_id, chosen[0].cause
        elif await is_character_here(session, conversation, speaker_id):
            reason = "forced"
        else:
            raise not_found(_("character"))
        await apply_input_policy(session, runtime, conversation)
        return await plan_run(session, runtime, conversation.id, speaker_id, kind="force_talk", reason=reason)


async def continue_reply(
    runtime: Runtime,
    viewer: Viewer,
    conversation_id: UUID,
    *,
    text: str | None = None,
    limits: Mapping[str, Any] | None = None,
) -> Run:
    """Let the last reply go on where it ends; only if it says `text`, where that is given."""
    async with runtime.database.write() as session:
        conversation, _access = await conversation_to_change(session, conversation_id, viewer)
        end = await end_of_path(session, conversation.id)
        if end is None or end[0].role != "assistant":
            raise Refused("conflict", _("The last message is not a reply, so it cannot be continued."))
        if text is not None and end[0].content.strip() != text:
            raise Refused("conflict", _("The conversation no longer ends with this reply. Reload it and try again."))
        await check_is_here(session, end[0].membership_id)
        await apply_input_policy(session, runtime, conversation)
        return await plan_run(
            session,
            runtime,
            conversation.id,
            end[0].membership_id,
            kind="continue",
            reason="asked",
            target_id=end[0].id,
            limits=limits,
        )


async def impersonate(runtime: Runtime, viewer: Viewer, conversation_id: UUID) -> Run:
    """Let a model write the person's next message; it is answered like one that they wrote themselves."""
    async with runtime.database.write() as session:
        conversation, access = await conversation_to_change(session, conversation_id, viewer)
        author = speaking_member(access.member)
        await apply_input_policy(session, runtime, conversation)
        return await plan_run(session, runtime, conversation.id, author.id, kind="impersonate", reason="asked")


async def apply_input_policy(
    session: AsyncSession, runtime: Runtime, conversation: Conversation, *, even_queued: bool = False
) -> None:
    """End what goes on, as the space wants it: refuse while a reply is written, stop it, or let it finish alone.

    `even_queued` refuses also while one is queued, unless it waits for further messages to answer with it. Steps behind
    a reply that is there already are left to finish.
    """
    rules = await rules_of(session, conversation)
    policy = rules.during_generation_user_input_policy
    run = await active_run(session, conversation.id)
    if run is not None and run.replied_at is not None:
        run = await queued_run(session, conversation.id)
    if run is not None and policy == "reject":
        waits_for_more = rules.user_turn_debounce_ms > 0 and run.kind == "user_turn" and run.round_position == 0
        if run.status == "running" or (even_queued and not waits_for_more):
            raise locked()
    if policy == "restart" and run is not None:
        await leave_running(session, runtime, conversation.id)
    await cancel_queued(session, runtime, conversation.id)
    await settle_undecided(session, runtime, conversation.id)
    await end_round(session, runtime, conversation.id, "canceled", reason="something_else")


async def is_character_here(session: AsyncSession, conversation: Conversation, member_id: UUID) -> bool:
    """Whether this is a character in the conversation's space, muted or not."""
    found = await session.scalar(
        select(SpaceMembership.id).where(
            SpaceMembership.id == member_id,
            SpaceMembership.space_id == conversation.space_id,
            SpaceMembership.kind == "character",
            SpaceMembership.status == "active",
        )
    )
    return found is not None


async def check_is_here(session: AsyncSession, member_id: UUID) -> None:
    """Refuse a reply of somebody who is not in the space any more."""
    member = await session.get_one(SpaceMembership, member_id)
    if member.status != "active":
        raise Refused(
            "conflict", _("{name} has left the space. Add them again first.", name=member.cached_display_name)
        )


def locked() -> Refused:
    return Refused("generation_locked", _("A reply is still being written. Wait for it, or stop it first."))


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
        conversation, access = await conversation_to_change(session, conversation_id, viewer)
        end = await end_of_path(session, conversation.id)
        target = await visible_message(session, conversation_id, message_id) if message_id else end and end[0]
        if end is None or target is None:
            raise not_found(_("message"))
        if target.role != "assistant":
            raise Refused("conflict", _("Only a reply can be regenerated. Choose a message of a character."))
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
        raise Refused("conflict", _("There is no message to answer yet. Send one first."))
    if await _hangs_on(session, conversation, asked.seq):
        conversation, asked = await _branch(session, runtime, conversation, space, asked)
    else:
        await _stop_everything(session, runtime, conversation)
        await _hide_behind(session, runtime, conversation, asked.seq)
    await start_round(session, runtime, conversation, trigger=asked)
    planned = await queued_run(session, conversation.id)
    if planned is None:
        raise Refused("conflict", _("No character can reply. Add a character or unmute one."))
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
            .values(
                hidden_from=Message.visibility,
                visibility="hidden",
                trashed_at=runtime.clock(),
                revision=Message.revision + 1,
            )
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
