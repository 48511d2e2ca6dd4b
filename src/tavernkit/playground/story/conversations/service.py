"""Beginning, changing and deleting conversations, one transaction each; what each character says first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import ColumnElement, delete, exists, func, select, true, union, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from tavernkit import User as LibraryUser
from tavernkit.playground.base.accounts.profile import time_of
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database import announce
from tavernkit.playground.base.database.base import advance
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    Message,
    MessageSwipe,
    Round,
    Run,
    Space,
    SpaceMembership,
    TextContent,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import translated
from tavernkit.playground.base.names import branch_name
from tavernkit.playground.base.realtime.bus import RUNS, conversation_topic
from tavernkit.playground.base.realtime.outbox import announce_access_change, append_event
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.access.access import (
    Access,
    SpaceAccess,
    active_members,
    append_space_event,
    conversation_for,
    is_usable_in,
    require_in_use,
    space_for,
    story_user,
)
from tavernkit.playground.story.conversations.documents import ConversationOut
from tavernkit.playground.story.conversations.forking import where_it_left
from tavernkit.playground.story.conversations.reading import expect_readers
from tavernkit.playground.story.paths.state import EVERY, keep_snapshots
from tavernkit.playground.story.paths.variables import read_globals
from tavernkit.playground.story.prompting.cast import library_character, platform_for
from tavernkit.playground.story.prompting.macros import ExpandedGreeting, greetings_of
from tavernkit.playground.story.prompting.records import note_removed_prompts
from tavernkit.playground.story.retention import time_in_trash
from tavernkit.playground.story.settings_schema.resolving import effective

FIRST_TITLE = "Main"


async def open_root(
    session: AsyncSession, runtime: Runtime, space_id: UUID, *, title: str, visibility: str = "shared"
) -> Conversation:
    """A conversation that branches from no other."""
    now = runtime.clock()
    conversation = Conversation(
        id=runtime.ids(),
        space_id=space_id,
        title=title,
        visibility=visibility,
        created_at=now,
        updated_at=now,
    )
    session.add(conversation)
    await session.flush()
    conversation.root_conversation_id = conversation.id
    await session.flush()
    return conversation


async def greet(
    session: AsyncSession,
    runtime: Runtime,
    conversation: Conversation,
    speakers: Sequence[SpaceMembership],
    to: LibraryUser,
) -> None:
    """Let each character say its first message; the alternatives are further swipes of it."""
    space = await session.get_one(Space, conversation.space_id)
    cards = {
        row.id: library_character(row)
        for row in await session.scalars(
            select(Character).where(
                Character.id.in_([speaker.character_id for speaker in speakers]),
                Character.status == "ready",
                is_usable_in(Character, space),
            )
        )
    }
    global_variables = await read_globals(session, space.owner_id)
    now = await time_of(session, space.owner_id, runtime.clock())
    names = [speaker.cached_display_name for speaker in speakers]
    said: list[tuple[UUID, SpaceMembership, Sequence[ExpandedGreeting]]] = []
    for speaker in speakers:
        card = None if speaker.character_id is None else cards.get(speaker.character_id)
        if card is not None:
            message_id = runtime.ids()
            prompt = effective(space, member=speaker).settings.prompt
            greetings = greetings_of(
                card,
                to,
                group=names,
                clock=lambda: now,
                seed=message_id.int,
                platform=platform_for(prompt.platform, card),
                engine=prompt.macro_engine,
                global_variables=global_variables,
            )
            if greetings:
                said.append((message_id, speaker, greetings))
    if said:
        await _say(session, runtime, conversation, said)


async def _say(
    session: AsyncSession,
    runtime: Runtime,
    conversation: Conversation,
    said: Sequence[tuple[UUID, SpaceMembership, Sequence[ExpandedGreeting]]],
) -> None:
    """Write all greetings at once: however many characters there are, it takes as many statements."""
    now = runtime.clock()
    texts = [
        [TextContent(id=runtime.ids(), content=greeting.text) for greeting in heard] for _id, _speaker, heard in said
    ]
    session.add_all(text for own in texts for text in own)
    await session.flush()
    messages = [
        Message(
            id=id,
            conversation_id=conversation.id,
            membership_id=speaker.id,
            seq=seq,
            role="assistant",
            text=own[0],
            active_swipe_id=runtime.ids(),
            swipes_count=len(own),
            created_at=now,
        )
        for seq, ((id, speaker, _heard), own) in enumerate(
            zip(said, texts, strict=True), start=conversation.last_seq + 1
        )
    ]
    session.add_all(messages)
    conversation.last_seq += len(messages)
    conversation.messages_count += len(messages)
    conversation.updated_at = now
    await session.flush()
    session.add_all(
        MessageSwipe(
            id=runtime.ids() if position else message.active_swipe_id,
            message_id=message.id,
            position=position,
            text=text,
            state_delta=greeting.state_delta,
            metadata_={"greeting": position},
            created_at=now,
        )
        for message, (_id, _speaker, heard), own in zip(messages, said, texts, strict=True)
        for position, (greeting, text) in enumerate(zip(heard, own, strict=True))
    )
    await session.flush()
    if conversation.last_seq >= EVERY:
        await keep_snapshots(session, conversation.id, conversation.last_seq)


async def regraft_branches(session: AsyncSession, leaving: Conversation) -> dict[str, Any] | None:
    """Hang the branches of a conversation that is about to go somewhere else; the caller has locked it. By the id of
    each branch: what it was, at which message it left, and on what it hangs now."""
    branches = (
        await session.scalars(select(Conversation).where(Conversation.parent_conversation_id == leaving.id))
    ).all()
    if not branches:
        return None
    place = _text(leaving.parent_conversation_id)
    before = {str(branch.id): (branch.kind, _text(branch.forked_from_message_id), place) for branch in branches}
    if leaving.parent_conversation_id is None:
        await _let_stand_alone(session, leaving, branches)
        return before
    points = await _points_in_parent(session, leaving, branches)
    for branch in branches:
        branch.parent_conversation_id = leaving.parent_conversation_id
        branch.forked_from_message_id = points.get(branch.id, leaving.forked_from_message_id)
    await session.flush()
    return before


async def _points_in_parent(
    session: AsyncSession, leaving: Conversation, branches: Sequence[Conversation]
) -> Mapping[UUID, UUID]:
    """For the branches that part before the leaving conversation left its parent: the parent's own message there.

    Copies keep their numbers, so it is the one with the same number.
    """
    ours, theirs, last = aliased(Message), aliased(Message), aliased(Message)
    rows = await session.execute(
        select(Conversation.id, theirs.id)
        .join(ours, ours.id == Conversation.forked_from_message_id)
        .join(last, last.id == leaving.forked_from_message_id)
        .join(
            theirs,
            (theirs.conversation_id == leaving.parent_conversation_id)
            & (theirs.seq == ours.seq)
            & (theirs.seq <= last.seq),
        )
        .where(Conversation.id.in_([branch.id for branch in branches]))
    )
    return dict(rows.all())


async def _let_stand_alone(session: AsyncSession, leaving: Conversation, branches: Sequence[Conversation]) -> None:
    """Each branch of a root becomes a root, and what grew out of it belongs to it."""
    children = await _children_below(session, leaving.id)
    for branch in branches:
        branch.kind, branch.parent_conversation_id, branch.forked_from_message_id = "root", None, None
        await _set_root(session, branch.id, branch.id, children)
    await session.flush()


async def _children_below(session: AsyncSession, root_id: UUID | None) -> Mapping[UUID | None, list[UUID]]:
    """The conversations of a root, by the one that each hangs on."""
    children: defaultdict[UUID | None, list[UUID]] = defaultdict(list)
    rows = await session.execute(
        select(Conversation.id, Conversation.parent_conversation_id).where(
            Conversation.root_conversation_id == root_id, Conversation.parent_conversation_id.is_not(None)
        )
    )
    for id, parent_id in rows:
        children[parent_id].append(id)
    return children


async def _set_root(
    session: AsyncSession, top: UUID, root_id: UUID, children: Mapping[UUID | None, list[UUID]]
) -> None:
    """Let a conversation and everything that grew out of it belong to a root."""
    tree = [top]
    for id in tree:
        tree.extend(children.get(id, ()))
    for start in range(0, len(tree), _CHUNK):
        await session.execute(
            update(Conversation)
            .where(Conversation.id.in_(tree[start : start + _CHUNK]))
            .values(root_conversation_id=root_id)
        )


_CHUNK = 500


async def remove_conversation_in_steps(runtime: Runtime, conversation_id: UUID, check: Callable[[], None]) -> None:
    """Remove a conversation that nobody sees any more and from which no other branches, some messages at a time, so
    that others need not wait long before they can write; `check` raises to stop in between."""
    has_more = True
    while has_more:
        check()
        async with runtime.database.write() as session:
            has_more = await _remove_some_messages(session, conversation_id)
    async with runtime.database.write() as session:
        await remove_conversation_rows(session, conversation_id)


async def _remove_some_messages(session: AsyncSession, conversation_id: UUID) -> bool:
    """Remove the next messages of a conversation that nobody sees any more; whether there were any."""
    numbers = select(Message.seq).where(Message.conversation_id == conversation_id).order_by(Message.seq).limit(_CHUNK)
    seqs = (await session.scalars(numbers)).all()
    if not seqs:
        return False
    await remove_messages(session, conversation_id, Message.seq.between(seqs[0], seqs[-1]))
    return True


async def remove_messages(session: AsyncSession, conversation_id: UUID, these: ColumnElement[bool]) -> None:
    """Remove these messages of a conversation with the texts that nobody else uses."""
    texts = await _texts_of(session, conversation_id, these)
    await _execute(session, delete(Message).where(Message.conversation_id == conversation_id, these))
    await remove_unused_texts(session, texts)


async def remove_conversation_rows(session: AsyncSession, conversation_id: UUID) -> None:
    """Remove a conversation from which no other branches, with its messages, runs and events."""
    texts = await _texts_of(session, conversation_id, true())
    await _execute(session, delete(Conversation).where(Conversation.id == conversation_id))
    await remove_unused_texts(session, texts)
    await note_removed_prompts(session)


async def _texts_of(session: AsyncSession, conversation_id: UUID, these: ColumnElement[bool]) -> list[UUID]:
    of_messages = select(Message.text_id).where(Message.conversation_id == conversation_id, these)
    of_swipes = (
        select(MessageSwipe.text_id)
        .join(Message, Message.id == MessageSwipe.message_id)
        .where(Message.conversation_id == conversation_id, these)
    )
    return list((await session.scalars(union(of_messages, of_swipes))).all())


async def remove_unused_texts(session: AsyncSession, ids: Sequence[UUID]) -> int:
    """Branches share texts: one that is still in use anywhere stays. How many were removed."""
    removed = 0
    for start in range(0, len(ids), _CHUNK):
        gone = await session.scalars(
            delete(TextContent)
            .where(
                TextContent.id.in_(ids[start : start + _CHUNK]),
                ~exists().where(Message.text_id == TextContent.id),
                ~exists().where(MessageSwipe.text_id == TextContent.id),
            )
            .returning(TextContent.id),
            execution_options={"synchronize_session": False},
        )
        removed += len(gone.all())
    return removed


async def _execute(session: AsyncSession, statement: Any) -> None:
    await session.execute(statement, execution_options={"synchronize_session": False})


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
        of_space = (Conversation.space_id == space_id, Conversation.kind == "root", Conversation.status != "deleting")
        roots = await session.scalar(select(func.count()).select_from(Conversation).where(*of_space)) or 0
        if roots >= MAX_ROOTS:
            raise Refused(
                "conflict", _("A space has at most {limit} conversations. Delete one first.", limit=MAX_ROOTS)
            )
        conversation = await open_root(
            session,
            runtime,
            space_id,
            title=titled(title, translated(_("Conversation {number}", number=roots + 1))),
            visibility=visibility,
        )
        await expect_readers(session, conversation, viewer)
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
        left_at = None
        if title is not None:
            title = titled(title, "")
            if not title or (title == conversation.name and not conversation.has_own_title):
                left_at = await where_it_left(session, conversation)
                if left_at is None:
                    raise Refused("blank", _("Enter a title."))
        advance(conversation, settings_version, what=_("conversation"), current=ConversationOut.of_row(conversation))
        if title is not None:
            conversation.title = title if left_at is None else branch_name(left_at)
            conversation.left_at = left_at
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
            raise not_found(_("conversation"))
        # The space before its conversations, as everybody locks them.
        await session.execute(select(Space.id).where(Space.id == space_id).with_for_update(key_share=True))
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.READ, lock=True)
        if not may_restore(access):
            raise Refused("forbidden", _("You can read this, but not change it."))
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
    """Put a conversation into the trash. What branches from it stays, and hangs where this one hung."""
    async with runtime.database.write() as session:
        space_id = await session.scalar(select(Conversation.space_id).where(Conversation.id == conversation_id))
        if space_id is None:
            raise not_found(_("conversation"))
        # Locked first, so that of two who delete the last two conversations, one is refused.
        await space_for(session, space_id, viewer, Access.READ, lock=True, what=_("conversation"))
        conversation, _access = await conversation_for(session, conversation_id, viewer, Access.ADMINISTER, lock=True)
        others = await session.scalar(
            select(func.count())
            .select_from(Conversation)
            .where(
                Conversation.space_id == space_id,
                Conversation.id != conversation_id,
                Conversation.status != "deleting",
            )
        )
        if not others:
            raise Refused("conflict", _("A space has at least one conversation. Delete the space instead."))
        announce_access_change(session, conversation_topic(conversation_id))
        conversation.trashed_from, conversation.status = conversation.status, "deleting"
        conversation.trashed_at = await time_in_trash(session, runtime, viewer)
        conversation.regrafted = await regraft_branches(session, conversation)
        await end_work(session, runtime, Conversation.id == conversation_id)


async def return_conversation(session: AsyncSession, runtime: Runtime, conversation: Conversation) -> None:
    """Take a conversation, which is locked with its space, out of the trash; its branches hang on it again, but for
    those that hang neither where they were put when it left, nor where it hangs itself."""
    conversation.status, conversation.trashed_from = conversation.trashed_from or "ready", None
    conversation.trashed_at, before = None, conversation.regrafted or {}
    conversation.regrafted = None
    branches = await session.scalars(select(Conversation).where(Conversation.id.in_([UUID(id) for id in before])))
    for branch in branches.all():
        kind, message_id, place = before[str(branch.id)]
        if _text(branch.parent_conversation_id) in (place, _text(conversation.parent_conversation_id)):
            children = await _children_below(session, branch.root_conversation_id)
            branch.kind, branch.parent_conversation_id = kind, conversation.id
            branch.forked_from_message_id = None if message_id is None else UUID(message_id)
            await _set_root(session, branch.id, conversation.root_conversation_id or conversation.id, children)
    await session.flush()
    await append_event(session, conversation.id, "conversation", runtime.clock())


async def end_work(session: AsyncSession, runtime: Runtime, these: ColumnElement[bool]) -> None:
    """End what is being written, or waits to be, in conversations that nobody sees any more."""
    now, ids = runtime.clock(), select(Conversation.id).where(these)
    # Conversations before runs, as everybody locks them.
    await _execute(session, update(Conversation).where(these).values(auto_mode_remaining_rounds=None))
    await _execute(
        session,
        update(Run)
        .where(Run.conversation_id.in_(ids), Run.status == "queued")
        .values(status="canceled", finished_at=now, dismissed=True),
    )
    running = update(Run).where(Run.conversation_id.in_(ids), Run.status == "running")
    for run_id in await session.scalars(running.values(cancel_requested_at=now, dismissed=True).returning(Run.id)):
        announce(session, RUNS, stop=str(run_id))
    await _execute(
        session,
        update(Round)
        .where(Round.conversation_id.in_(ids), Round.status == "active")
        .values(status="canceled", scheduling_state=None, ended_reason="trashed", finished_at=now),
    )
    await _execute(
        session,
        update(SpaceMembership)
        .where(SpaceMembership.copilot_conversation_id.in_(ids), SpaceMembership.copilot_mode != "none")
        .values(copilot_mode="none", copilot_remaining_steps=0),
    )


def _text(id: UUID | None) -> str | None:
    return None if id is None else str(id)


def _owners_choice() -> Refused:
    return Refused("forbidden", _("Only the owner of the space can make a conversation private or public."))
