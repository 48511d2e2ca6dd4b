"""Writing down what a program says was said before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.bulk import insert_rows
from tavernkit.playground.base.database.models import Message, MessageSwipe, Run, TextContent
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.models_api.history import SentMessage, fingerprint
from tavernkit.playground.edge.models_api.queries import SENT_AS
from tavernkit.playground.story.access.access import Access, conversation_for, require_in_use
from tavernkit.playground.story.paths.state import keep_snapshots
from tavernkit.playground.story.runs.speakers import speaking_member


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
