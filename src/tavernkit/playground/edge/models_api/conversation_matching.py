"""Finding the conversation that a program is going on with, or making one with what it says was said before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.bulk import insert_rows
from tavernkit.playground.base.database.models import Conversation, Message, MessageSwipe, Run, TextContent
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import titled
from tavernkit.playground.edge.models_api.queries import (
    SENT_AS,
    AnsweredMessage,
    CharacterModel,
    CommonPart,
    SentMessage,
    common_part,
    fingerprint,
    recent_conversations,
    stored_messages,
)
from tavernkit.playground.story.access.access import Access, conversation_for, require_in_use, space_for
from tavernkit.playground.story.conversations.forking import ForkKind, fork
from tavernkit.playground.story.conversations.service import create_conversation
from tavernkit.playground.story.paths.state import keep_snapshots
from tavernkit.playground.story.runs.speakers import speaking_member

CONVERSATIONS = 20
"""How many of the newest conversations are compared."""

FIRST_WINDOW, WINDOW = 60, 200
"""How many messages of each are read at once; most differ soon, so that few are read twice."""

TITLE_CHARACTERS = 60


class ConversationMatch(NamedTuple):
    """A conversation that shares its beginning with the request; `last` is the last message that both have."""

    conversation: Conversation
    common: CommonPart
    is_whole: bool
    last: AnsweredMessage | None


async def named_conversation(runtime: Runtime, viewer: Viewer, model: CharacterModel, conversation_id: UUID) -> UUID:
    """The conversation that the request names, if it is one of the model's space."""
    async with runtime.database.read() as session:
        conversation, _access = await conversation_for(session, conversation_id, viewer, Access.TAKE_PART)
    if conversation.space_id != model.space.id:
        raise not_found(_("conversation"))
    return conversation_id


async def conversation_for_request(
    runtime: Runtime, viewer: Viewer, model: CharacterModel, earlier: Sequence[SentMessage], last: SentMessage
) -> UUID:
    """Where what was said last belongs: behind what was said before.

    That is the conversation that has just that; or a branch of one that has the beginning of it, where the rest is then
    added; or a new conversation with all of it.
    """
    async with runtime.database.read() as session:
        candidates = await _candidates(session, viewer, model, earlier)
    for candidate in candidates:
        if candidate.is_whole:
            return candidate.conversation.id
    best = max(candidates, key=lambda candidate: candidate.common.asked, default=None)
    # A system prompt alone makes no story: many programs begin each of theirs with the same one.
    if best is not None and best.last is not None and _has_talk(earlier[: best.common.asked]):
        kind: ForkKind = "branch" if model.space.kind == "playground" else "thread"
        made = await fork(runtime, viewer, best.conversation.id, best.last.id, kind=kind)
        rest = earlier[best.common.asked :]
    else:
        first = next((text for role, text in (*earlier, last) if role == "user"), last.text)
        title = titled(first, "", limit=TITLE_CHARACTERS)
        made = await create_conversation(runtime, viewer, model.space.id, title=title, greeting=not _has_talk(earlier))
        rest = earlier
    if rest:
        await store_said(runtime, viewer, made.id, rest, character_id=model.member.id)
    return made.id


async def _candidates(
    session: AsyncSession, viewer: Viewer, model: CharacterModel, earlier: Sequence[SentMessage]
) -> list[ConversationMatch]:
    """The newest conversations, each with how far it is the same; read no further than that."""
    access = await space_for(session, model.space.id, viewer, Access.TAKE_PART)
    # Before anything is written down for who may not speak.
    member = speaking_member(access.member)
    conversations = await recent_conversations(session, access, limit=CONVERSATIONS)
    stored: dict[UUID, list[AnsweredMessage]] = {conversation.id: [] for conversation in conversations}
    common = {id: common_part((), earlier) for id in stored}
    reading, after, until = list(conversations), 0, FIRST_WINDOW
    while reading:
        ids = [conversation.id for conversation in reading]
        read = await stored_messages(session, ids, member.id, after=after, until=until)
        for id, messages in read.items():
            stored[id] += messages
            common[id] = common_part(stored[id], earlier)
        reading = [each for each in reading if common[each.id].is_open and each.last_seq > until]
        after, until = until, until + WINDOW
    return [
        _candidate(conversation, stored[conversation.id], common[conversation.id], len(earlier))
        for conversation in conversations
    ]


def _candidate(
    conversation: Conversation, stored: Sequence[AnsweredMessage], common: CommonPart, earlier: int
) -> ConversationMatch:
    return ConversationMatch(
        conversation=conversation,
        common=common,
        is_whole=common.asked == earlier and common.stored == len(stored),
        last=stored[common.stored - 1] if common.stored else None,
    )


def _has_talk(said: Sequence[SentMessage]) -> bool:
    return any(message.role != "system" for message in said)


async def store_said(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, said: Sequence[SentMessage], *, character_id: UUID
) -> None:
    """Put messages at the end of a conversation that nobody looks at yet: the person's own, and the character's."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.TAKE_PART, lock=True)
        require_in_use(conversation)
        author = speaking_member(access.member)
        texts: list[dict[str, Any]] = []
        messages: list[dict[str, Any]] = []
        swipes: list[dict[str, Any]] = []
        for seq, (role, text) in enumerate(said, start=conversation.last_seq + 1):
            message_id, swipe_id, text_id = runtime.ids(), runtime.ids(), runtime.ids()
            texts.append({"id": text_id, "content": text})
            messages.append(
                {
                    "id": message_id,
                    "conversation_id": conversation_id,
                    "membership_id": character_id if role == "assistant" else author.id,
                    "seq": seq,
                    "role": role,
                    "text_id": text_id,
                    "visibility": "normal",
                    "active_swipe_id": swipe_id,
                    "swipes_count": 1,
                    "revision": 1,
                    "metadata_": {},
                    "created_at": now,
                }
            )
            swipes.append(
                {
                    "id": swipe_id,
                    "message_id": message_id,
                    "position": 0,
                    "text_id": text_id,
                    "metadata_": {},
                    "created_at": now,
                }
            )
        await insert_rows(session, TextContent, texts)
        await insert_rows(session, Message, messages)
        await insert_rows(session, MessageSwipe, swipes)
        conversation.last_seq += len(said)
        conversation.messages_count += len(said)
        conversation.updated_at = now
        await session.flush()
        await keep_snapshots(session, conversation_id, conversation.last_seq)


async def note_sent_text(runtime: Runtime, run_id: UUID, text: str) -> None:
    """Remember what a program has received of a reply that was tidied up in the end: it will send it along as such."""
    async with runtime.database.write() as session:
        run = await session.get(Run, run_id, with_for_update=True)
        if run is not None:
            run.debug = {**run.debug, SENT_AS: fingerprint(text)}
