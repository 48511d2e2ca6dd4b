"""Opening, changing and closing spaces, one transaction each; with one go the texts that nobody else uses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import ColumnElement, delete, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import User as LibraryUser
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.base import advance
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    Message,
    Persona,
    Space,
    SpaceMembership,
    User,
)
from tavernkit.playground.base.jobs.work import JobWork
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import translated
from tavernkit.playground.base.realtime.bus import space_topic
from tavernkit.playground.base.realtime.outbox import announce_access_change
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable, titled
from tavernkit.playground.story.access.access import (
    Access,
    append_space_event,
    character_name,
    display_name,
    persona_of,
    space_for,
    story_user,
)
from tavernkit.playground.story.access.documents import SpaceKind, SpaceOut
from tavernkit.playground.story.access.personas import connected_persona, is_own_persona
from tavernkit.playground.story.access.sharing import usable_characters
from tavernkit.playground.story.conversations.service import (
    FIRST_TITLE,
    _execute,
    end_work,
    greet,
    open_root,
    remove_conversation_in_steps,
    remove_conversation_rows,
)
from tavernkit.playground.story.retention import time_in_trash
from tavernkit.values import Value


def is_removed_with(space_id: UUID) -> ColumnElement[bool]:
    """The conversations of a space, and those that are being imported into it: its members have said something in
    them already."""
    by_members = (
        select(Message.conversation_id)
        .join(SpaceMembership, SpaceMembership.id == Message.membership_id)
        .where(SpaceMembership.space_id == space_id)
    )
    return or_(Conversation.space_id == space_id, Conversation.id.in_(by_members))


async def remove_space(session: AsyncSession, space_id: UUID) -> None:
    """Remove a space and everything in it, in this transaction."""
    # A branch may still have been on its way while its parent was removed.
    while conversations := await _conversations_of(session, space_id):
        await _cut_branches(session, space_id)
        for conversation_id in conversations:
            await remove_conversation_rows(session, conversation_id)
    await _execute(session, delete(Space).where(Space.id == space_id))


async def finish_removing_space(work: JobWork) -> dict[str, Any]:
    """The job: one conversation after the other, then the space. It can be broken off and begun again anywhere.

    Messages go some at a time, so that others need not wait long before they can write.
    """
    space_id = UUID(work.claim.payload["space_id"])
    await remove_in_steps(work.runtime, space_id, work.check, work.report)
    return {"space_id": str(space_id)}


async def remove_in_steps(
    runtime: Runtime,
    space_id: UUID,
    check: Callable[[], None],
    report: Callable[[int, int], Awaitable[None]] | None = None,
) -> None:
    """Remove a space that nobody sees any more, as part of a job; `check` raises to stop between steps, and `report`
    gets how far that has come."""
    database = runtime.database
    async with database.write() as session:
        await _cut_branches(session, space_id)
        conversations = await _conversations_of(session, space_id)
    for done, conversation_id in enumerate(conversations):
        await remove_conversation_in_steps(runtime, conversation_id, check)
        if report is not None:
            await report(done + 1, len(conversations) + 1)
    async with database.write() as session:
        await remove_space(session, space_id)


async def _cut_branches(session: AsyncSession, space_id: UUID) -> None:
    """Nobody sees the tree any more; without it, conversations can go one by one."""
    await _execute(
        session,
        update(Conversation)
        .where(Conversation.space_id == space_id)
        .values(parent_conversation_id=None, root_conversation_id=None),
    )


async def _conversations_of(session: AsyncSession, space_id: UUID) -> Sequence[UUID]:
    found = await session.scalars(select(Conversation.id).where(is_removed_with(space_id)))
    return found.all()


NAMES_IN_NAME = 4


class OpenedSpace(Value, frozen=True, kw_only=True):
    """A space that was just made, and its first conversation."""

    space: Space
    conversation: Conversation


async def create_space(
    runtime: Runtime,
    viewer: Viewer,
    *,
    kind: SpaceKind = "playground",
    name: str = "",
    character_ids: Sequence[UUID] = (),
    persona_id: UUID | Literal["auto"] | None = None,
    persona: str = "",
    name_override: str | None = None,
    greeting: bool = True,
) -> OpenedSpace:
    """Make a space with its owner, its characters and a conversation that begins with their greetings.

    The persona `auto` is the one that a character selects, else the default.
    """
    if len(set(character_ids)) < len(character_ids):
        raise Refused("invalid", _("A character can be in a space only once."))
    async with runtime.database.write() as session:
        characters = await usable_characters(session, viewer, list(character_ids))
        if persona_id == "auto":
            persona_id = await connected_persona(session, viewer.user_id, characters) or await _default_persona(
                session, viewer.user_id
            )
        elif persona_id is not None:
            await persona_of(session, persona_id, viewer.user_id)
        human = SpaceMembership(
            id=runtime.ids(),
            kind="human",
            user_id=viewer.user_id,
            role="owner",
            persona=storable(persona),
            persona_id=persona_id,
            name_override=titled(name_override or "", "") or None,
        )
        return await open_space(session, runtime, human, characters, kind=kind, name=name, greeting=greeting)


async def start_story(
    runtime: Runtime, owner: User, character_id: UUID, *, persona: LibraryUser | None = None
) -> Conversation:
    """Make a space with one character and its first conversation; without a persona, the one that the character selects
    takes part, else the one used last."""
    async with runtime.database.write() as session:
        characters = await usable_characters(session, Viewer(user_id=owner.id), [character_id])
        opened = await begin_story(session, runtime, owner, characters, persona=persona)
        return opened.conversation


async def begin_story(
    session: AsyncSession,
    runtime: Runtime,
    owner: User,
    characters: Sequence[Character],
    *,
    persona: LibraryUser | None = None,
) -> OpenedSpace:
    """Put a story into this transaction; without a persona, the one that the character selects takes part, else the one
    used last."""
    human = SpaceMembership(id=runtime.ids(), kind="human", user_id=owner.id, role="owner", persona="")
    if persona is not None:
        human.name_override, human.persona = titled(persona.name, "") or None, storable(persona.persona)
    else:
        human.persona_id = await connected_persona(session, owner.id, characters)
        if human.persona_id is None:
            await _be_as_before(session, owner, human)
    return await open_space(session, runtime, human, characters, kind="playground", name="", greeting=True)


async def change_space(
    runtime: Runtime,
    viewer: Viewer,
    space_id: UUID,
    *,
    settings_version: int,
    name: str | None = None,
    archived: bool | None = None,
) -> Space:
    """Rename a space, put it aside, or bring it back."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        access = await space_for(session, space_id, viewer, Access.ADMINISTER, lock=True, even_archived=True)
        space = access.space
        if name is not None:
            name = titled(name, "")
            if not name:
                raise Refused("blank", _("Enter a name for the space."))
        advance(space, settings_version, what=_("space"), current=SpaceOut.of_row(space))
        if name is not None:
            space.name = name
        if archived is not None:
            space.status = "archived" if archived else "active"
        space.updated_at = now
        await append_space_event(session, space.id, "space", now)
        return space


async def delete_space(runtime: Runtime, viewer: Viewer, space_id: UUID) -> None:
    """Put a space with everything said in it into the trash; replies that are being written there end."""
    async with runtime.database.write() as session:
        access = await space_for(session, space_id, viewer, Access.ADMINISTER, lock=True, even_archived=True)
        space = access.space
        announce_access_change(session, space_topic(space_id))
        space.trashed_from, space.status = space.status, "deleting"
        space.trashed_at = await time_in_trash(session, runtime, viewer)
        await end_work(session, runtime, Conversation.space_id == space_id)


async def open_space(
    session: AsyncSession,
    runtime: Runtime,
    human: SpaceMembership,
    characters: Sequence[Character],
    *,
    kind: str,
    name: str,
    greeting: bool,
) -> OpenedSpace:
    """Put a space, its members and its first conversation into this transaction."""
    space, speakers = await _add_space(session, runtime, human, characters, kind=kind, name=name)
    conversation = await open_root(session, runtime, space.id, title=FIRST_TITLE)
    if greeting:
        await greet(session, runtime, conversation, speakers, await story_user(session, human))
        await session.refresh(conversation)
    return OpenedSpace(space=space, conversation=conversation)


async def space_for_chats(
    session: AsyncSession,
    runtime: Runtime,
    owner: User,
    *characters: Character,
    name: str = "",
    persona_id: UUID | None = None,
    user_name: str = "",
) -> tuple[Space, SpaceMembership, list[SpaceMembership]]:
    """Put a space with these characters, and no conversation yet, into this transaction; without a persona or a name,
    its owner takes part as the last time. The owner's membership comes first, then those of the characters."""
    human = SpaceMembership(id=runtime.ids(), kind="human", user_id=owner.id, role="owner", persona="")
    human.persona_id, human.name_override = persona_id, None if persona_id else titled(user_name, "") or None
    if persona_id is None and human.name_override is None:
        await _be_as_before(session, owner, human)
    space, speakers = await _add_space(session, runtime, human, characters, kind="playground", name=name)
    return space, human, speakers


async def name_as_before(session: AsyncSession, owner: User) -> str:
    """What a person is called who takes part as the last time."""
    human = SpaceMembership(kind="human", user_id=owner.id, role="owner", persona="")
    await _be_as_before(session, owner, human)
    return await display_name(session, human)


async def _add_space(
    session: AsyncSession,
    runtime: Runtime,
    human: SpaceMembership,
    characters: Sequence[Character],
    *,
    kind: str,
    name: str,
) -> tuple[Space, list[SpaceMembership]]:
    now = runtime.clock()
    names = [character_name(character) for character in characters]
    space = Space(
        id=runtime.ids(),
        owner_id=human.user_id,
        kind=kind,
        name=titled(name, "") or _name_from(names),
        created_at=now,
        updated_at=now,
    )
    session.add(space)
    await session.flush()
    human.space_id, human.position, human.created_at = space.id, 0, now
    human.cached_display_name = await display_name(session, human)
    speakers = [
        SpaceMembership(
            id=runtime.ids(),
            space_id=space.id,
            kind="character",
            character_id=character.id,
            position=position,
            cached_display_name=character_name(character),
            created_at=now,
        )
        for position, character in enumerate(characters, start=1)
    ]
    session.add_all([human, *speakers])
    await session.flush()
    return space, speakers


def _name_from(names: Sequence[str]) -> str:
    """The names of the first few characters, in the language of who opens the space."""
    if len(names) > NAMES_IN_NAME:
        joined: str = _("{names} and others", names=", ".join(names[: NAMES_IN_NAME - 1]))
    elif len(names) > 1:
        joined = _("{names} and {last}", names=", ".join(names[:-1]), last=names[-1])
    else:
        joined = names[0] if names else ""
    return titled(translated(joined), translated(_("New space")))


async def _default_persona(session: AsyncSession, user_id: UUID) -> UUID | None:
    found: UUID | None = await session.scalar(
        select(Persona.id).where(*is_own_persona(user_id), Persona.is_default).limit(1)
    )
    return found


async def _be_as_before(session: AsyncSession, owner: User, human: SpaceMembership) -> None:
    """Take part as the last time; the first time, as the default persona."""
    last: SpaceMembership | None = await session.scalar(
        select(SpaceMembership)
        .where(SpaceMembership.user_id == owner.id)
        .order_by(SpaceMembership.created_at.desc())
        .limit(1)
    )
    if last is None:
        human.persona_id = await _default_persona(session, owner.id)
        return
    human.persona, human.persona_id, human.name_override = last.persona, last.persona_id, last.name_override
    if last.persona_id is None and last.name_override is None and last.cached_display_name != owner.name:
        human.name_override = last.cached_display_name
