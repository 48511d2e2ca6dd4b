"""Going on differently from a message: branches, threads and checkpoints.

A branch or checkpoint belongs to a Playground, where one person tells the story; threads are for everybody.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, cast
from uuid import UUID

from sqlalchemy import CursorResult, func, literal, or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.bulk import copy_rows
from tavernkit.playground.base.database.functions import derived_id
from tavernkit.playground.base.database.models import (
    Conversation,
    ConversationInjection,
    LorebookLink,
    Message,
    MessagePicture,
    MessageSwipe,
    PathSnapshot,
    PersonaConnection,
    TextContent,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.names import branch_name
from tavernkit.playground.base.realtime.outbox import append_event
from tavernkit.playground.base.refused import Refused, existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import titled
from tavernkit.playground.base.text.markdown import render_markdown
from tavernkit.playground.story.access.access import Access, SpaceAccess, conversation_for
from tavernkit.playground.story.artifacts.path import copy_artifacts
from tavernkit.playground.story.conversations.reading import expect_readers
from tavernkit.playground.story.paths.state import visible_message


async def copy_path(session: AsyncSession, source_id: UUID, target_id: UUID, until: int) -> int:
    """Copy the visible messages of a conversation up to number `until`, their swipes and pictures, the state and the
    artifacts along them, the books, the injections and the locked personas of the conversation; how many messages that
    were.

    The caller has locked the source. The target has no messages yet.
    """
    is_copied = (Message.conversation_id == source_id, Message.seq <= until, Message.visibility != "hidden")
    copied = await session.execute(
        copy_rows(
            Message,
            *is_copied,
            id=derived_id(target_id, Message.id),
            conversation_id=literal(target_id),
            hidden_from=literal(None),
            active_swipe_id=derived_id(target_id, Message.active_swipe_id),
            origin_message_id=Message.id,
            revision=literal(1),
        ).execution_options(preserve_rowcount=True)
    )
    await session.execute(
        copy_rows(
            MessageSwipe,
            MessageSwipe.message_id == Message.id,
            *is_copied,
            id=derived_id(target_id, MessageSwipe.id),
            message_id=derived_id(target_id, MessageSwipe.message_id),
        )
    )
    await session.execute(
        copy_rows(
            MessagePicture,
            MessagePicture.swipe_id == MessageSwipe.id,
            MessageSwipe.message_id == Message.id,
            *is_copied,
            id=derived_id(target_id, MessagePicture.id),
            swipe_id=derived_id(target_id, MessagePicture.swipe_id),
        )
    )
    await session.execute(
        copy_rows(
            PathSnapshot,
            PathSnapshot.conversation_id == source_id,
            PathSnapshot.seq <= until,
            conversation_id=literal(target_id),
        )
    )
    await session.execute(
        copy_rows(
            LorebookLink,
            LorebookLink.conversation_id == source_id,
            id=derived_id(target_id, LorebookLink.id),
            conversation_id=literal(target_id),
        )
    )
    await session.execute(
        copy_rows(
            PersonaConnection,
            PersonaConnection.conversation_id == source_id,
            id=derived_id(target_id, PersonaConnection.id),
            conversation_id=literal(target_id),
        )
    )
    await session.execute(
        copy_rows(
            ConversationInjection,
            ConversationInjection.conversation_id == source_id,
            or_(~ConversationInjection.ephemeral, ConversationInjection.after_seq <= until),
            conversation_id=literal(target_id),
        )
    )
    await copy_artifacts(session, source_id, target_id, until)
    return cast(CursorResult[Any], copied).rowcount


ForkKind: TypeAlias = Literal["branch", "thread", "checkpoint"]
ForkVisibility: TypeAlias = Literal["shared", "private", "public"]

MAX_TITLE_CHARACTERS = 200
WORDS_CHARACTERS = 42
QUOTED_CHARACTERS = 600
"""How much of the message is read for a name: enough for a few words, whatever marks are in it."""


async def fork(
    runtime: Runtime,
    viewer: Viewer,
    conversation_id: UUID,
    message_id: UUID,
    *,
    kind: ForkKind = "branch",
    title: str = "",
    visibility: ForkVisibility | None = None,
    fork_id: UUID | None = None,
) -> Conversation:
    """A conversation of its own with everything up to a message, in one transaction.

    It keeps the numbers, times, swipes, state, settings, books and injections of the path. Tokens are not counted
    again: they were spent where they were spent. The client may make the id, so that asking again never doubles it.
    """
    name = titled(title, "", limit=MAX_TITLE_CHARACTERS + 1)
    if len(name) > MAX_TITLE_CHARACTERS:
        raise Refused("too_long", _("A title has at most {limit} characters.", limit=MAX_TITLE_CHARACTERS))
    try:
        async with runtime.database.write() as session:
            parent, access = await conversation_for(session, conversation_id, viewer, Access.TAKE_PART, lock=True)
            known = await session.get(Conversation, fork_id) if fork_id is not None else None
            if known is not None:
                is_same = (known.parent_conversation_id, known.forked_from_message_id) == (conversation_id, message_id)
                if not is_same or known.status == "deleting":
                    raise _taken()
                return known
            shown = visibility or _visibility_of(parent)
            _require_forkable(parent, access, kind, shown)
            seq = existing(await visible_message(session, parent.id, message_id), _("message")).seq
            made = await add_fork(
                session, runtime, parent, message_id, seq, kind=kind, title=name, visibility=shown, id=fork_id
            )
            await expect_readers(session, made, viewer)
            return made
    except IntegrityError:
        # The same id was given to another conversation at the same moment.
        raise _taken() from None


async def add_fork(
    session: AsyncSession,
    runtime: Runtime,
    parent: Conversation,
    message_id: UUID,
    seq: int,
    *,
    kind: ForkKind,
    title: str = "",
    visibility: ForkVisibility | None = None,
    id: UUID | None = None,
) -> Conversation:
    """Copy everything up to a message, whose number is `seq`, inside a transaction that holds the parent's lock."""
    now = runtime.clock()
    left_at = None if title else await where_it_leaves(session, message_id, seq)
    child = Conversation(
        id=id or runtime.ids(),
        space_id=parent.space_id,
        kind=kind,
        title=title if left_at is None else branch_name(left_at),
        left_at=left_at,
        visibility=visibility or _visibility_of(parent),
        parent_conversation_id=parent.id,
        root_conversation_id=parent.root_conversation_id or parent.id,
        forked_from_message_id=message_id,
        settings=parent.settings,
        last_seq=seq,
        created_at=now,
        updated_at=now,
    )
    session.add(child)
    await session.flush()
    child.messages_count = await copy_path(session, parent.id, child.id, seq)
    await append_event(session, parent.id, "forked", now, fork_id=str(child.id))
    return child


async def where_it_leaves(session: AsyncSession, message_id: UUID, seq: int) -> dict[str, Any]:
    """What a branch is named after: the number of the message that it goes on from, and its first words without
    markup."""
    text = await session.scalar(
        select(func.substr(TextContent.content, 1, QUOTED_CHARACTERS))
        .join(Message, Message.text_id == TextContent.id)
        .where(Message.id == message_id)
    )
    words = titled(" ".join(render_markdown(text or "").striptags().split()), "")
    return {"number": seq, "words": _shortened(words)}


async def where_it_left(session: AsyncSession, conversation: Conversation) -> dict[str, Any] | None:
    """The same of a branch that there is; None where it goes on from nothing any more."""
    message_id = conversation.forked_from_message_id
    seq = None if message_id is None else await session.scalar(select(Message.seq).where(Message.id == message_id))
    return None if message_id is None or seq is None else await where_it_leaves(session, message_id, seq)


def _shortened(words: str) -> str:
    """The first words, cut between two of them where that leaves something to read."""
    if len(words) <= WORDS_CHARACTERS:
        return words
    cut = words[:WORDS_CHARACTERS]
    whole = cut if words[WORDS_CHARACTERS] == " " else cut.rpartition(" ")[0]
    return f"{(whole if len(whole) > WORDS_CHARACTERS // 2 else cut).rstrip(' ,.;:')}…"


def _require_forkable(parent: Conversation, access: SpaceAccess, kind: ForkKind, visibility: str) -> None:
    if parent.status in ("pending", "failed"):
        raise Refused("conflict", _("This conversation is still being copied. Try again in a moment."))
    if kind != "thread" and access.space.kind != "playground":
        raise Refused("conflict", _("Only a playground has branches and checkpoints. Create a thread instead."))
    if visibility != "shared" and visibility != parent.visibility and access.level < Access.ADMINISTER:
        raise Refused("forbidden", _("Only the owner of the space can make a conversation private or public."))


def _visibility_of(parent: Conversation) -> ForkVisibility:
    return "private" if parent.visibility == "private" else "public" if parent.visibility == "public" else "shared"


def _taken() -> Refused:
    return Refused("taken", _("Another conversation has this id. Try again with a new id."))
