"""Which parts of open chat pages change with the artifacts, besides the messages that an event is about.

What stands in the chat is behind its message. A new version, or a swipe or a message that takes one off the path, can
make what stands behind another message come or go, and what lies over the page as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from sqlalchemy import and_, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from tavernkit.playground.base.database.models import ArtifactHead, Message, MessageSwipe, OutboxEvent
from tavernkit.playground.edge.presenting.artifacts import OverlayView, chat_limit, overlay_views
from tavernkit.playground.story.artifacts.journal import UPDATED
from tavernkit.playground.story.artifacts.path import ranked_versions, session_of
from tavernkit.playground.story.artifacts.service import heads_at
from tavernkit.playground.story.artifacts.store import artifact_of
from tavernkit.playground.story.prompting.inputs import WORDINGS
from tavernkit.values import Value

ALONG_THE_PATH = frozenset({UPDATED, "reply", "message_changed", "message_hidden", "message_restored"})
"""The kinds of events after which other artifacts may be on the path."""


class PageChanges(Value, frozen=True, kw_only=True):
    """What is to be drawn anew: these messages, or the whole page; and what lies over it, unless that is nothing."""

    message_ids: tuple[UUID, ...] = ()
    whole_page: bool = False
    overlays: tuple[OverlayView, ...] | None = None


async def page_changes(session: AsyncSession, conversation_id: UUID, events: Sequence[OutboxEvent]) -> PageChanges:
    """What changes on open pages with these events, besides the messages that they name."""
    if not any(event.kind in ALONG_THE_PATH for event in events):
        return PageChanges()
    heads = await heads_at(session, conversation_id, "chat_history", "overlay")
    chat = [head for head in heads if head.definition["uiSurface"] == "chat_history"]
    tags = {head.tag for head in chat}
    updated = [event.payload for event in events if event.kind == UPDATED and event.payload["tag"] in tags]
    named = {UUID(event.payload["message_id"]) for event in events if "message_id" in event.payload}
    also = await _beside(session, conversation_id, chat, updated) if chat else set()
    also |= await _reworded(session, conversation_id, events)
    return PageChanges(
        message_ids=tuple(sorted(also - named)),
        whole_page=any(payload["version"] is None for payload in updated),
        overlays=await overlay_views(session, conversation_id) if len(heads) > len(chat) else None,
    )


async def _beside(
    session: AsyncSession, conversation_id: UUID, heads: Sequence[ArtifactHead], updated: Iterable[dict[str, object]]
) -> set[UUID]:
    """The messages behind which a new version stands, and those where the last that has room stands, or stood."""
    place = await session_of(session, conversation_id)
    found = ranked_versions(conversation_id, tags=[head.tag for head in heads])
    edges = [
        and_(found.c.tag == head.tag, found.c.place.in_((limit, limit + 1)))
        for head in heads
        if (limit := chat_limit(artifact_of(head, place))) is not None
    ]
    new = [
        and_(found.c.tag == payload["tag"], found.c.version == payload["version"])
        for payload in updated
        if payload["version"] is not None
    ]
    if not edges and not new:
        return set()
    rows = await session.scalars(
        select(found.c.message_id).where(or_(*edges, *new), found.c.message_id.is_not(None)).distinct()
    )
    return set(rows)


async def _reworded(session: AsyncSession, conversation_id: UUID, events: Sequence[OutboxEvent]) -> set[UUID]:
    """The message of a person that the last reply answers, if a step has put it in other words."""
    replies = [event.payload["message_id"] for event in events if event.kind in ("reply", "message_changed")]
    if not replies:
        return set()
    reply = aliased(Message)
    row = (
        await session.execute(
            select(Message.id, MessageSwipe.metadata_)
            .join(MessageSwipe, MessageSwipe.id == Message.active_swipe_id)
            .join(reply, (reply.conversation_id == Message.conversation_id) & (reply.seq > Message.seq))
            .where(
                reply.id == UUID(replies[-1]),
                Message.conversation_id == conversation_id,
                Message.role == "user",
                Message.visibility != "hidden",
            )
            .order_by(Message.seq.desc())
            .limit(1)
        )
    ).one_or_none()
    return {row.id} if row is not None and WORDINGS in row.metadata_ else set()
