"""Saying something, and changing what was said: its versions, whether models read it, and whether it is there at all.

A message that branches begin at may be changed like any other: a branch has rows of its own and shares only texts,
which never change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Message, MessagePicture, MessageSwipe
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.realtime.outbox import append_event
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, conversation_for, message_for, require_in_use
from tavernkit.playground.story.paths.pictures import (
    PictureIn,
    are_changed,
    check_pictures,
    pictures_of_swipes,
    set_pictures,
)
from tavernkit.playground.story.paths.state import (
    ShownMessage,
    active_swipe,
    messages_after,
    messages_before,
    path_changed,
    shown_message,
    swipes_of,
)
from tavernkit.playground.story.paths.writing import (
    add_message,
    add_text,
    changeable_message,
    clean_text,
    note_change,
    refuse_stale,
)
from tavernkit.playground.story.prompting.scripts import typed_text
from tavernkit.playground.story.retention import EXPIRED, time_in_trash
from tavernkit.playground.story.runs.planner import plan_run
from tavernkit.playground.story.runs.requests import apply_input_policy, is_character_here
from tavernkit.playground.story.runs.round_control import before_hiding
from tavernkit.playground.story.runs.rounds import answer_person
from tavernkit.playground.story.runs.speakers import has_copilot, speaking_member

SentRole: TypeAlias = Literal["user", "system"]


async def send_message(
    runtime: Runtime,
    viewer: Viewer,
    conversation_id: UUID,
    *,
    message_id: UUID,
    content: str,
    role: SentRole = "user",
    pictures: Sequence[PictureIn] = (),
    speaker_id: UUID | None = None,
    limits: Mapping[str, Any] | None = None,
    runs_scripts: bool = True,
) -> Message:
    """Store what the person said and begin a round of replies, in one transaction; narration, of the role `system`,
    gets none, unless a speaker is named.

    While a reply is written, the space's policy decides: refuse, stop that reply, or answer behind it. `speaker_id` is
    the character who answers, whoever else would, within the `limits`. The client makes the id, so that sending again
    what may or may not have arrived never doubles it. Without `runs_scripts`, the text is stored as it was typed.
    """
    check_pictures(pictures)
    text = clean_text(content, has_pictures=bool(pictures))
    if runs_scripts:
        text = await _sent_text(runtime, viewer, conversation_id, message_id, text, role)
    try:
        async with runtime.database.write() as session:
            conversation, access = await conversation_for(session, conversation_id, viewer, Access.TAKE_PART, lock=True)
            known: Message | None = await session.scalar(select(Message).where(Message.id == message_id))
            if known is not None:
                if known.conversation_id != conversation_id:
                    raise _taken()
                return known
            require_in_use(conversation)
            author = speaking_member(access.member)
            if has_copilot(author, conversation.id):
                raise Refused("copilot_blocked", _("The copilot is writing your messages. Stop it to send your own."))
            if speaker_id is not None and not await is_character_here(session, conversation, speaker_id):
                raise not_found(_("character"))
            if role == "user" or speaker_id is not None:
                await apply_input_policy(session, runtime, conversation, even_queued=True)
            now = runtime.clock()
            message = await add_message(
                session,
                runtime.ids,
                id=message_id,
                conversation_id=conversation.id,
                membership_id=author.id,
                role=role,
                content=text,
                now=now,
            )
            if pictures and message.active_swipe_id is not None:
                await set_pictures(session, runtime, viewer, message.active_swipe_id, pictures)
            await append_event(session, conversation.id, "message", now, message_id=str(message_id))
            if speaker_id is not None:
                await plan_run(
                    session, runtime, conversation.id, speaker_id, kind="force_talk", reason="asked", limits=limits
                )
            elif role == "user":
                await answer_person(session, runtime, conversation, message)
            return message
    except IntegrityError:
        # The same id was sent into another conversation at the same moment.
        raise _taken() from None


async def _sent_text(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, message_id: UUID, text: str, role: SentRole
) -> str:
    """What the regex scripts for it make of a text that somebody sends; they have no lock to hold meanwhile."""
    async with runtime.database.read() as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.TAKE_PART)
        member_id = conversation_id if access.member is None else access.member.id
        now = runtime.clock()
        changed = await typed_text(
            session, conversation, text, role=role, member_id=member_id, now=now, seed=message_id.int
        )
    return _after_scripts(text, changed)


def _after_scripts(text: str, changed: str) -> str:
    """What is stored: what scripts have made of the text, unless that is nothing, or more than a message may have."""
    if changed == text:
        return text
    if not changed.strip():
        raise Refused("blank", _("The regex scripts leave nothing of this text. Change it, or the scripts."))
    return clean_text(changed)


def _taken() -> Refused:
    return Refused("taken", _("Another message has this id. Send it again with a new id."))


async def exclude_message(runtime: Runtime, viewer: Viewer, message_id: UUID) -> Message:
    """Keep it on the page and out of prompts."""
    return await _show_as(runtime, viewer, message_id, "excluded")


async def include_message(runtime: Runtime, viewer: Viewer, message_id: UUID) -> Message:
    """Let models read it again."""
    return await _show_as(runtime, viewer, message_id, "normal")


async def hide_message(runtime: Runtime, viewer: Viewer, message_id: UUID) -> Message:
    """Put it into the trash: gone from pages, prompts, branches and the story's state until it is restored."""
    return await _set_hidden(runtime, viewer, message_id, hidden=True)


async def restore_message(runtime: Runtime, viewer: Viewer, message_id: UUID) -> Message:
    """Bring a hidden message back to where and what it was."""
    return await _set_hidden(runtime, viewer, message_id, hidden=False)


async def _set_hidden(runtime: Runtime, viewer: Viewer, message_id: UUID, *, hidden: bool) -> Message:
    async with runtime.database.write() as session:
        message, conversation = await changeable_message(session, message_id, viewer, Access.MODERATE, hidden=True)
        if (message.visibility == "hidden") is hidden:
            return message
        if hidden:
            await before_hiding(session, runtime, conversation, message)
            message.hidden_from, message.visibility = message.visibility, "hidden"
            message.trashed_at = await time_in_trash(session, runtime, viewer)
        elif message.trashed_at == EXPIRED:
            raise not_found(_("message"))
        else:
            message.visibility, message.hidden_from, message.trashed_at = message.hidden_from or "normal", None, None
        conversation.messages_count += -1 if hidden else 1
        await note_change(session, runtime, message, "message_hidden" if hidden else "message_restored")
        if (await active_swipe(session, message)).state_delta:
            await path_changed(session, conversation.id, message.seq)
        return message


async def _show_as(
    runtime: Runtime, viewer: Viewer, message_id: UUID, visibility: Literal["normal", "excluded"]
) -> Message:
    async with runtime.database.write() as session:
        message, _conversation = await changeable_message(session, message_id, viewer, Access.TAKE_PART)
        if message.visibility != visibility:
            message.visibility = visibility
            await note_change(session, runtime, message, "message_changed")
        return message


class MessageWindow(NamedTuple):
    """Some messages, oldest first, and the number to go on from in the same direction."""

    messages: list[ShownMessage]
    next: int | None


class SwipeWindow(NamedTuple):
    """Some swipes, the pictures of each, and the position to go on behind."""

    swipes: list[MessageSwipe]
    pictures: Mapping[UUID | None, Sequence[MessagePicture]]
    next: int | None


async def read_messages(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, before: int | None, after: int | None, limit: int
) -> MessageWindow:
    """The newest visible messages below `before`, or the oldest above `after`."""
    if before is not None and after is not None:
        raise Refused("invalid", _("Use either before or after, not both."))
    async with runtime.database.read() as session:
        await conversation_for(session, conversation_id, viewer, Access.READ)
        if after is not None:
            newer = await messages_after(session, conversation_id, after=after, limit=limit + 1)
            return MessageWindow(newer[:limit], newer[limit - 1].message.seq if len(newer) > limit else None)
        older = await messages_before(session, conversation_id, before=before, limit=limit + 1)
        return MessageWindow(older[-limit:], older[-limit].message.seq if len(older) > limit else None)


async def read_message(runtime: Runtime, viewer: Viewer, message_id: UUID) -> ShownMessage:
    """One message; hidden ones are not there."""
    async with runtime.database.read() as session:
        await _check_readable(session, viewer, message_id)
        return await shown_message(session, message_id)


async def _check_readable(session: AsyncSession, viewer: Viewer, message_id: UUID) -> None:
    message, _conversation, _access = await message_for(session, message_id, viewer, Access.READ)
    if message.visibility == "hidden":
        raise not_found(_("message"))


async def read_swipes(runtime: Runtime, viewer: Viewer, message_id: UUID, *, after: int, limit: int) -> SwipeWindow:
    """The swipes of a message that is not hidden, behind a position."""
    async with runtime.database.read() as session:
        await _check_readable(session, viewer, message_id)
        swipes = await swipes_of(session, message_id, after=after, limit=limit + 1)
        pictures = await pictures_of_swipes(session, [swipe.id for swipe in swipes])
        return SwipeWindow(swipes[:limit], pictures, swipes[limit - 1].position if len(swipes) > limit else None)


MAX_SWIPES = 1_000


async def edit_message(
    runtime: Runtime,
    viewer: Viewer,
    message_id: UUID,
    *,
    content: str,
    revision: int | None,
    pictures: Sequence[PictureIn] | None = None,
) -> Message:
    """Give the active swipe another text, and exactly these pictures; what it does to the story's state stays."""
    return await edit_swipe(runtime, viewer, message_id, None, content=content, revision=revision, pictures=pictures)


async def edit_swipe(
    runtime: Runtime,
    viewer: Viewer,
    message_id: UUID,
    swipe_id: UUID | None,
    *,
    content: str,
    revision: int | None,
    pictures: Sequence[PictureIn] | None = None,
) -> Message:
    """Give one swipe, or the active one, another text, and exactly these pictures; None leaves those that it has."""
    check_pictures(pictures or ())
    edited = await _edited_text(runtime, viewer, message_id, clean_text(content, has_pictures=True))
    async with runtime.database.write() as session:
        message, _conversation = await changeable_message(session, message_id, viewer, Access.MODERATE)
        swipe = await _swipe(session, message, swipe_id or message.active_swipe_id)
        if swipe is None:
            raise not_found(_("swipe"))
        before = (await pictures_of_swipes(session, [swipe.id]))[swipe.id]
        text = clean_text(edited, has_pictures=bool(before if pictures is None else pictures))
        has_other_pictures = pictures is not None and are_changed(before, pictures)
        if swipe.content == text and not has_other_pictures:
            # Perhaps the answer to the same change was lost; there is nothing to refuse.
            return message
        await refuse_stale(session, message, revision)
        if pictures is not None:
            await set_pictures(session, runtime, viewer, swipe.id, pictures)
        if swipe.content != text:
            swipe.text = await add_text(session, runtime.ids, text)
            if swipe.id == message.active_swipe_id:
                message.text = swipe.text
        await note_change(session, runtime, message, "message_changed")
        return message


async def _edited_text(runtime: Runtime, viewer: Viewer, message_id: UUID, text: str) -> str:
    """What the regex scripts that run on edits make of a text."""
    async with runtime.database.read() as session:
        message, conversation, _access = await message_for(session, message_id, viewer, Access.MODERATE)
        changed = await typed_text(
            session,
            conversation,
            text,
            role=message.role,
            member_id=message.membership_id,
            now=message.created_at,
            seed=message_id.int,
            is_edit=True,
        )
    return _after_scripts(text, changed)


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
        message, _conversation = await changeable_message(session, message_id, viewer, Access.TAKE_PART)
        await refuse_stale(session, message, revision)
        current = await active_swipe(session, message)
        chosen = await _swipe_at(session, message, _position(message, current, to))
        if chosen is None:
            raise not_found(_("swipe"))
        if chosen.id != current.id:
            await _show(session, runtime, message, current, chosen)
        return message


async def add_swipe(
    runtime: Runtime,
    viewer: Viewer,
    message_id: UUID,
    *,
    swipe_id: UUID,
    content: str,
    pictures: Sequence[PictureIn] = (),
    activate: bool = True,
) -> MessageSwipe:
    """Add a version that was written by hand behind the others; it changes nothing in the story's state."""
    check_pictures(pictures)
    text = clean_text(content, has_pictures=bool(pictures))
    try:
        async with runtime.database.write() as session:
            message, _conversation = await changeable_message(session, message_id, viewer, Access.MODERATE)
            known = await session.get(MessageSwipe, swipe_id)
            if known is not None:
                if known.message_id != message_id:
                    raise _swipe_taken()
                return known
            if message.swipes_count >= MAX_SWIPES:
                raise Refused(
                    "conflict", _("A message has at most {limit} swipes. Delete one first.", limit=MAX_SWIPES)
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
            await set_pictures(session, runtime, viewer, swipe.id, pictures)
            if activate:
                await _show(session, runtime, message, await active_swipe(session, message), swipe)
            else:
                await note_change(session, runtime, message, "message_changed")
            return swipe
    except IntegrityError:
        # The same id was given to a swipe of another message at the same moment.
        raise _swipe_taken() from None


async def delete_swipe(
    runtime: Runtime, viewer: Viewer, message_id: UUID, swipe_id: UUID, *, revision: int | None = None
) -> Message:
    """Remove a version, never the last; where it was shown, its neighbour is shown instead."""
    async with runtime.database.write() as session:
        message, _conversation = await changeable_message(session, message_id, viewer, Access.MODERATE)
        swipe = await _swipe(session, message, swipe_id)
        if swipe is None:
            raise not_found(_("swipe"))
        await refuse_stale(session, message, revision)
        if message.swipes_count == 1:
            raise Refused("conflict", _("This is the only swipe of the message. Delete the message instead."))
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


def _swipe_taken() -> Refused:
    return Refused("taken", _("Another swipe has this id. Add it again with a new id."))
