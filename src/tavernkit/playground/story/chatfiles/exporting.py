"""Taking a conversation out: as SillyTavern's file, or as text for people."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal, TypeAlias
from uuid import UUID

from tavernkit.chats import ChatFile, ChatHeader, StrayLine, write_chat, write_text
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, conversation_for
from tavernkit.playground.story.chatfiles.header import CHAT_FILE, strays_of, written_header
from tavernkit.playground.story.chatfiles.messages import written_message
from tavernkit.playground.story.chatfiles.queries import Author, authors_of, beginning_of, exported_messages, members_of
from tavernkit.playground.story.paths.snapshots import state_at
from tavernkit.values import Json, Value

Format: TypeAlias = Literal["jsonl", "text"]

PAGE = 500


class ChatExport(Value, frozen=True, kw_only=True):
    """A conversation that may be taken out, and what its file begins with."""

    conversation_id: UUID
    title: str
    header: ChatHeader | None
    strays: tuple[StrayLine, ...]
    authors: dict[UUID, Author]


async def export_chat(runtime: Runtime, viewer: Viewer, conversation_id: UUID) -> ChatExport:
    """Prepare a file, for who may read the conversation."""
    async with runtime.database.read() as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.READ)
        members = await members_of(session, access.space.id)
        authors = authors_of(members)
        people = [authors[member.id].name for member, _ in members if member.kind == "human"]
        characters = [
            authors[member.id].name for member, _ in members if member.kind == "character" and member.status == "active"
        ]
        alone = len(characters) == 1
        kept = conversation.settings.get(CHAT_FILE)
        note: Json = conversation.settings.get("authors_note")
        header = written_header(
            kept if isinstance(kept, dict) else None,
            # As in SillyTavern's own files: in a group, the speakers stand in the messages.
            user_name=people[0] if alone and people else "unused",
            character_name=characters[0] if alone else "unused",
            beginning=await beginning_of(session, conversation.id),
            state=await state_at(session, conversation.id, conversation.last_seq),
            note=note if isinstance(note, dict) else {},
        )
        return ChatExport(
            conversation_id=conversation.id,
            title=conversation.title,
            header=header,
            strays=strays_of(kept) if isinstance(kept, dict) else (),
            authors=authors,
        )


async def written_chat(runtime: Runtime, export: ChatExport, format: Format) -> AsyncIterator[str]:
    """The file piece by piece. No transaction is open while somebody takes their time to receive a piece."""
    lines = 0
    behind = 0
    header, strays = export.header, export.strays
    is_first = True
    while True:
        async with runtime.database.read() as session:
            page, behind = await exported_messages(
                session, export.conversation_id, export.authors, behind=behind, limit=PAGE
            )
        messages = tuple(map(written_message, page))
        is_last = len(page) < PAGE
        if format == "text":
            yield write_text(ChatFile(messages=messages))
        else:
            count = len(messages) + (0 if header is None else 1)
            here = tuple(stray for stray in strays if is_last or stray.before < lines + count)
            piece = ChatFile(
                header=header,
                messages=messages,
                strays=tuple(stray.with_(before=stray.before - lines) for stray in here),
            )
            if count or here:
                yield ("" if is_first else "\n") + write_chat(piece)
                is_first = False
            lines += count
            header, strays = None, strays[len(here) :]
        if is_last:
            return
