"""Importing chats: each becomes a new conversation of a space. A long file is imported by a job."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import to_builtins

from tavernkit.chats import ChatFile, ChatLimits, read_chat
from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Job, JobFile, Space, SpaceMembership
from tavernkit.playground.base.jobs.service import enqueue_job
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.access.access import Access, SpaceAccess, space_for
from tavernkit.playground.story.chatfiles.queries import members_of
from tavernkit.playground.story.chatfiles.speakers import SpeakerFinder
from tavernkit.playground.story.chatfiles.storing import begin_conversation, build_rows, new_chat, pieces_of, store_rows
from tavernkit.playground.story.lorebooks.named_links import link_book_of_chat
from tavernkit.reading import ImportReport
from tavernkit.values import Value

CHAT_IMPORT_KIND = "chat_import"
MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_MESSAGES = 100_000
MAX_CHATS = 1000
MAX_AT_ONCE = 1000
"""A file with more messages is imported by a job."""


class ChatSource(Value, frozen=True, kw_only=True):
    """What is needed to read a file in the same way again: the title and the names for what it does not name itself."""

    space_id: UUID
    title: str
    user_name: str
    character_name: str
    now: datetime

    def read(self, data: bytes) -> tuple[tuple[ChatFile, ...], ImportReport]:
        """The chats of the file; takes a while, so not to be called in the event loop."""
        return read_chat(
            data,
            now=lambda: self.now,
            user_name=self.user_name,
            character_name=self.character_name,
            limits=ChatLimits(file_bytes=MAX_FILE_BYTES),
        )

    def title_of(self, number: int, count: int) -> str:
        """The title of the conversation that one of several chats becomes."""
        return self.title if count == 1 else f"{self.title} {number + 1}"


async def import_chats(
    runtime: Runtime, viewer: Viewer, space_id: UUID, data: bytes, *, title: str = ""
) -> tuple[list[Conversation], ImportReport] | Job:
    """Make a conversation of each chat in a file of SillyTavern or of another application that it reads; if there is
    much in it, by a job.

    Only who runs the space may: a file puts words into the mouths of its members.
    """
    async with runtime.database.read() as session:
        access = await space_for(session, space_id, viewer, Access.ADMINISTER)
        user_name, character_name = _names(access, [member for member, _ in await members_of(session, space_id)])
    source = ChatSource(
        space_id=space_id,
        title=titled(title, "Imported chat", limit=180),
        user_name=user_name,
        character_name=character_name,
        now=runtime.clock(),
    )
    try:
        files, report = await asyncio.to_thread(source.read, data)
    except TavernKitError as error:
        raise Refused(code="invalid", sentence=str(error)) from None
    total = sum(len(chat.messages) for chat in files)
    if total > MAX_MESSAGES or len(files) > MAX_CHATS:
        raise Refused(
            code="too_long",
            sentence=f"The file has {total:,} messages in {len(files):,} chats; at most {MAX_MESSAGES:,} messages and "
            f"{MAX_CHATS:,} chats can be taken in at once.",
        )
    if total > MAX_AT_ONCE:
        return await _start_job(runtime, viewer, source, data, steps=len(pieces_of(files)))
    return await _import_now(runtime, viewer, source, files), report


async def _import_now(
    runtime: Runtime, viewer: Viewer, source: ChatSource, files: Sequence[ChatFile]
) -> list[Conversation]:
    chats = await asyncio.to_thread(lambda: [new_chat(file) for file in files])
    async with runtime.database.write() as session:
        access = await space_for(session, source.space_id, viewer, Access.ADMINISTER, lock=True)
        members = await members_of(session, source.space_id)
        conversations: list[Conversation] = []
        for piece in pieces_of(files):
            chat, now = chats[piece.chat], runtime.clock()
            if piece.first == 0:
                conversation = await begin_conversation(
                    session,
                    chat,
                    id=runtime.ids(),
                    space_id=source.space_id,
                    title=source.title_of(piece.chat, len(chats)),
                    now=now,
                )
                conversations.append(conversation)
                moment = now
            speakers = SpeakerFinder.of_chat(
                chat.file, access.space, members, own=access.member, ids=runtime.ids, now=now
            )
            rows = build_rows(chat, piece, conversation.id, speakers, moment=moment, ids=runtime.ids)
            await store_rows(session, piece, conversation.id, rows, speakers)
            moment = rows.moment
            members = [*members, *((member, None) for member in speakers.new)]
        for conversation in conversations:
            await link_book_of_chat(runtime, session, viewer.user_id, conversation)
        return conversations


async def _start_job(runtime: Runtime, viewer: Viewer, source: ChatSource, data: bytes, *, steps: int) -> Job:
    """Lay the file down where any worker finds it, beside a space that nobody sees, which the chats are prepared in."""
    async with runtime.database.write() as session:
        access = await space_for(session, source.space_id, viewer, Access.ADMINISTER, lock=True)
        job = await enqueue_job(
            session,
            runtime,
            kind=CHAT_IMPORT_KIND,
            owner_id=viewer.user_id,
            payload={"source": to_builtins(source)},
            total=steps,
        )
        await session.flush()
        session.add(JobFile(job_id=job.id, position=0, name=source.title, outcome=None, data=data))
        session.add(
            Space(
                id=job.id,
                owner_id=viewer.user_id,
                kind=access.space.kind,
                name=source.title,
                status="deleting",
                created_at=source.now,
                updated_at=source.now,
            )
        )
        return job


def _names(access: SpaceAccess, members: Sequence[SpaceMembership]) -> tuple[str, str]:
    """The names for a file that gives none: who brings it, and the first character."""
    character = next((member for member in members if member.kind == "character"), None)
    return (
        "User" if access.member is None else access.member.name_override or access.member.cached_display_name,
        "Character" if character is None else character.name_override or character.cached_display_name,
    )
