"""What was said, as far as a prompt can need it: the newest messages, however long the chat is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import Message
from tavernkit.history import InMemoryHistory
from tavernkit.playground.base.database import models
from tavernkit.values import Json

REASONING = "reasoning"
"""Where the metadata of a swipe keeps the thoughts that came with it."""

WORDINGS = "wordings"
"""Where the metadata of a person's swipe keeps what steps have made of it: the text that they were made of, and each
wording, of which the last that is selected is told."""

MESSAGE_ID = "id"
TYPED = "typed"
"""Where a message of a prompt says which one it is, and what its person has typed where other words are told."""


class WindowedHistory(InMemoryHistory):
    """The newest messages of a chat, which tells the whole chat's length: lore timers and notes count by it."""

    def __init__(self, window: Iterable[Message], *, length: int, user_messages: int | None = None) -> None:
        super().__init__(window)
        # Where there is nothing to read, nothing is said to be there: a reader would look for it without end.
        self._length = max(length, super().__len__()) if super().__len__() else 0
        self._user_messages = user_messages

    def __len__(self) -> int:
        return self._length

    def append(self, message: Message) -> None:
        super().append(message)
        self._length += 1

    def with_user_text(self, text: str) -> WindowedHistory:
        """The same chat, with the user's last message in other words."""
        messages = list(self)
        for place in range(len(messages) - 1, -1, -1):
            if messages[place].role == "user":
                typed = messages[place].metadata.get(TYPED, messages[place].content)
                metadata = {**messages[place].metadata, TYPED: typed}
                messages[place] = messages[place].with_(content=text, metadata=metadata)
                break
        return WindowedHistory(messages, length=self._length, user_messages=self._user_messages)

    def count_role(self, role: str) -> int:
        if role == "user" and self._user_messages is not None:
            return self._user_messages
        return super().count_role(role)


async def load_history(
    session: AsyncSession,
    conversation: models.Conversation,
    *,
    window: int,
    until: int | None = None,
    person_id: UUID | None = None,
    exact_user_count: bool = False,
) -> WindowedHistory:
    """The newest `window` messages that are for prompts, of those numbered up to `until` if that is given.

    What people other than `person_id` say is told with their names. How many messages people have written is counted
    beyond the window only where somebody needs it exactly: that is the one thing here that grows with the chat.
    """
    query = (
        select(
            models.Message.id,
            models.Message.text_id,
            models.Message.role,
            models.Message.membership_id,
            models.Message.created_at,
            models.TextContent.content,
            models.SpaceMembership.cached_display_name,
            models.MessageSwipe.metadata_,
        )
        .join(models.TextContent, models.TextContent.id == models.Message.text_id)
        .join(models.SpaceMembership, models.SpaceMembership.id == models.Message.membership_id)
        .outerjoin(models.MessageSwipe, models.MessageSwipe.id == models.Message.active_swipe_id)
        .where(models.Message.conversation_id == conversation.id, models.Message.visibility == "normal")
        .order_by(models.Message.seq.desc())
        .limit(window)
    )
    if until is not None:
        query = query.where(models.Message.seq <= until)
    newest_first = [
        Message(
            role=role,
            content=sent,
            # A narrator has no name.
            name=None if role == "system" else name,
            send_date=created_at.isoformat(),
            metadata={
                MESSAGE_ID: str(id),
                **({TYPED: content} if sent != content else {}),
                **_metadata(swipe or {}, is_foreign=role == "user" and membership_id != person_id),
            },
        )
        for id, text_id, role, membership_id, created_at, content, name, swipe in await session.execute(query)
        for sent in (prompt_text(content, swipe or {}, text_id),)
    ]
    return WindowedHistory(
        reversed(newest_first),
        length=await _length(session, conversation, until),
        user_messages=await _user_messages(session, conversation.id, until) if exact_user_count else None,
    )


def prompt_text(typed: str, swipe: Mapping[str, Any], text_id: UUID) -> str:
    """What is told of a message: what was typed, unless a step has put it in other words since it was last edited."""
    made = swipe.get(WORDINGS)
    if not isinstance(made, dict) or made.get("of") != str(text_id):
        return typed
    return next((one["text"] for one in reversed(made["made"]) if one["selected"]), typed)


def _metadata(swipe: Mapping[str, Any], *, is_foreign: bool) -> dict[str, Json]:
    metadata: dict[str, Json] = {"force_avatar": True} if is_foreign else {}
    thoughts = swipe.get(REASONING)
    if isinstance(thoughts, str) and thoughts:
        metadata["extra"] = {REASONING: thoughts}
    return metadata


async def _length(session: AsyncSession, conversation: models.Conversation, until: int | None) -> int:
    """How many messages there are, excluded ones too, as SillyTavern counts them."""
    if until is None or until >= conversation.last_seq:
        return conversation.messages_count
    later = await session.scalar(
        select(func.count()).where(
            models.Message.conversation_id == conversation.id,
            models.Message.seq > until,
            models.Message.visibility != "hidden",
        )
    )
    return conversation.messages_count - (later or 0)


async def _user_messages(session: AsyncSession, conversation_id: UUID, until: int | None) -> int:
    query = select(func.count()).where(
        models.Message.conversation_id == conversation_id,
        models.Message.visibility == "normal",
        models.Message.role == "user",
    )
    if until is not None:
        query = query.where(models.Message.seq <= until)
    return await session.scalar(query) or 0
