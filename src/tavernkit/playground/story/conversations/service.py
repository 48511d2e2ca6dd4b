"""Beginning, changing and deleting conversations, one transaction each."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import User as LibraryUser
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.base import advance
from tavernkit.playground.base.database.models import Conversation, Space
from tavernkit.playground.base.realtime.bus import conversation_topic
from tavernkit.playground.base.realtime.outbox import announce_access_change, append_event
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.access.access import Access, SpaceAccess, conversation_for, require_in_use, space_for
from tavernkit.playground.story.access.events import append_space_event
from tavernkit.playground.story.access.identity import story_user
from tavernkit.playground.story.access.members import active_members
from tavernkit.playground.story.conversations.documents import ConversationOut
from tavernkit.playground.story.conversations.opening import greet, open_root
from tavernkit.playground.story.conversations.removing import regraft_branches, remove_conversation_rows

MAX_ROOTS = 1_000

Visibility = Literal["shared", "private", "public"]


async def create_conversation(
    runtime: Runtime,
    viewer: Viewer,
    space_id: UUID,
    *,
    title: str = "",
    visibility: Visibility = "shared",
    greeting: bool = True,
) -> Conversation:
    """Begin another story in a space, with the greetings of those who are in it now."""
    async with runtime.database.write() as session:
        access = await space_for(session, space_id, viewer, Access.TAKE_PART, lock=True)
        if visibility != "shared" and access.level < Access.ADMINISTER:
            raise _owners_choice()
        roots = await _count_roots(session, space_id)
        if roots >= MAX_ROOTS:
            raise Refused(code="conflict", sentence=f"A space holds at most {MAX_ROOTS:,} conversations.")
        conversation = await open_root(
            session, runtime, space_id, title=titled(title, f"Conversation {roots + 1}"), visibility=visibility
        )
        if greeting:
            members = await active_members(session, space_id)
            speakers = [member for member in members if member.kind == "character"]
            person = access.member or next((member for member in members if member.kind == "human"), None)
            user = LibraryUser(name="") if person is None else await story_user(session, person)
            await greet(session, runtime, conversation, speakers, user)
            await session.refresh(conversation)
        return conversation


async def change_conversation(
    runtime: Runtime,
    viewer: Viewer,
    conversation_id: UUID,
    *,
    settings_version: int,
    title: str | None = None,
    visibility: Visibility | None = None,
    archived: bool | None = None,
) -> Conversation:
    """Rename a conversation, put it aside or bring it back; only the owner decides who else may see it."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.MODERATE, lock=True)
        if conversation.status != "archived":
            require_in_use(conversation)
        if visibility not in (None, conversation.visibility) and access.level < Access.ADMINISTER:
            raise _owners_choice()
        if title is not None:
            title = titled(title, "")
            if not title:
                raise Refused(code="blank", sentence="A conversation needs a title.")
        current = ConversationOut.of_row(conversation).model_dump(mode="json")
        advance(conversation, settings_version, what="conversation", current=current)
        if title is not None:
            conversation.title = title
        if visibility is not None:
            conversation.visibility = visibility
            announce_access_change(session, conversation_topic(conversation_id))
        if archived is not None:
            conversation.status = "archived" if archived else "ready"
        await session.flush()
        await append_event(session, conversation_id, "conversation", now)
        await session.refresh(conversation)
        return conversation


def may_restore(access: SpaceAccess) -> bool:
    """Whether this person may restore an archived conversation; its space comes back with it."""
    return access.level >= (Access.ADMINISTER if access.space.status == "archived" else Access.MODERATE)


async def restore_conversation(runtime: Runtime, viewer: Viewer, conversation_id: UUID) -> Conversation:
    """Bring an archived conversation back into use, and its space if that is archived."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        space_id = await session.scalar(select(Conversation.space_id).where(Conversation.id == conversation_id))
        if space_id is None:
            raise not_found("conversation")
        # The space before its conversations, as everybody locks them.
        await session.execute(select(Space.id).where(Space.id == space_id).with_for_update(key_share=True))
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.READ, lock=True)
        if not may_restore(access):
            raise Refused(code="forbidden", sentence="You may look at this, but not change it.")
        if access.space.status == "archived":
            access.space.status, access.space.updated_at = "active", now
            access.space.settings_version += 1
            await append_space_event(session, space_id, "space", now)
        if conversation.status == "archived":
            conversation.status = "ready"
            conversation.settings_version += 1
            await session.flush()
            await append_event(session, conversation_id, "conversation", now)
        await session.refresh(conversation)
        return conversation


async def delete_conversation(runtime: Runtime, viewer: Viewer, conversation_id: UUID) -> None:
    """Remove a conversation with its messages. What branches from it stays, and hangs where this one hung."""
    async with runtime.database.write() as session:
        space_id = await session.scalar(select(Conversation.space_id).where(Conversation.id == conversation_id))
        if space_id is None:
            raise not_found("conversation")
        # Locked first, so that of two who delete the last two conversations, one is refused.
        await space_for(session, space_id, viewer, Access.READ, lock=True, what="conversation")
        found = await conversation_for(session, conversation_id, viewer, Access.ADMINISTER, lock=True)
        others = await session.scalar(
            select(func.count())
            .select_from(Conversation)
            .where(Conversation.space_id == space_id, Conversation.id != conversation_id)
        )
        if not others:
            raise Refused(
                code="conflict", sentence="A space keeps at least one conversation. Delete the space instead."
            )
        announce_access_change(session, conversation_topic(conversation_id))
        await regraft_branches(session, found[0])
        await remove_conversation_rows(session, conversation_id)


async def _count_roots(session: AsyncSession, space_id: UUID) -> int:
    count = await session.scalar(
        select(func.count())
        .select_from(Conversation)
        .where(Conversation.space_id == space_id, Conversation.kind == "root")
    )
    return count or 0


def _owners_choice() -> Refused:
    return Refused(
        code="forbidden", sentence="Only the owner of the space decides that a conversation is private or public."
    )
