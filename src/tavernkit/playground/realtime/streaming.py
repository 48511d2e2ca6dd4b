"""The events of one conversation as a stream that a browser can lose and pick up again.

Persistent events come from the outbox and carry their number; what is lost in between is replayed from the last number
that the browser has seen. The text of a running reply carries none: it is only shown while it is being written.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any
from uuid import UUID

from markupsafe import Markup
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from tavernkit.playground.conversations.presenting import message_view, run_view
from tavernkit.playground.database.models import Conversation, Message, OutboxEvent
from tavernkit.playground.realtime.bus import conversation_topic
from tavernkit.playground.realtime.outbox import PAGE, events_after
from tavernkit.playground.runtime import Runtime
from tavernkit.playground.web.rendering import render
from tavernkit.playground.web.streams import stream

__all__ = ["changed_message_stream", "conversation_stream", "message_stream", "restored_message_stream", "run_stream"]

KEEP_ALIVE_SECONDS = 15.0
REFRESH = '<turbo-stream action="refresh"></turbo-stream>'


async def conversation_stream(runtime: Runtime, conversation_id: UUID, after: int) -> AsyncIterator[str]:
    """Server-sent events, from behind event `after` until the reader leaves or the application stops."""
    async with runtime.bus.subscribe(conversation_topic(conversation_id)) as subscription:
        yield _sse("hello", json.dumps({"seq": after}), retry=1000)
        seen = after
        news: dict[str, Any] | None = {"gap": True}
        while not runtime.stopping.is_set():
            if news is None:
                yield ": still here\n\n"
            elif "run" in news:
                yield _sse("text", json.dumps(news))
            elif news.get("seq", seen + 1) > seen:
                # A reader who leaves now does not tear the connection to the database out of a query.
                for seq, html in await asyncio.shield(_streams_after(runtime, conversation_id, seen)):
                    seen = seq
                    yield _sse("streams", html, id=seq)
            news = await subscription.next(unless=runtime.stopping, within=KEEP_ALIVE_SECONDS)


async def message_stream(session: AsyncSession, message_id: UUID) -> Markup:
    """The message at the end of the list; one that is there already is replaced, not doubled."""
    view = await message_view(session, message_id)
    return Markup() if view is None else stream("append", "messages", render("_message.html", message=view))


async def changed_message_stream(session: AsyncSession, message_id: UUID) -> Markup:
    """The message where it stands, as it is now, or no more; nothing happens on a page that does not show it."""
    view = await message_view(session, message_id)
    target = f"message_{message_id}"
    return (
        stream("remove", target) if view is None else stream("replace", target, render("_message.html", message=view))
    )


async def restored_message_stream(session: AsyncSession, message_id: UUID) -> Markup:
    """The message back in its place; nothing happens on a page that does not show what comes behind it."""
    view = await message_view(session, message_id)
    gone = stream("remove", f"message_{message_id}")
    if view is None:
        return gone
    html = render("_message.html", message=view)
    following = await _following(session, message_id)
    back = stream("append", "messages", html) if following is None else stream("before", f"message_{following}", html)
    return gone + back


async def run_stream(runtime: Runtime, session: AsyncSession, conversation_id: UUID) -> Markup:
    """The place below the messages, as it is now; by its version, a page knows one that comes late."""
    # Read before the run, so that it is never newer than what is drawn.
    version = await session.scalar(select(Conversation.last_event).where(Conversation.id == conversation_id))
    run = await run_view(runtime, session, conversation_id)
    return stream("replace", "run", render("_run.html", run=run, version=version))


async def _streams_after(runtime: Runtime, conversation_id: UUID, seen: int) -> list[tuple[int, str]]:
    """The events that the reader has not seen, as Turbo streams; one who missed many gets the whole page anew."""
    async with runtime.database.read() as session:
        events = await events_after(session, conversation_id, seen)
        if len(events) < PAGE:
            return [(event.seq, await _streams_of(runtime, session, event)) for event in events]
        last = await session.scalar(select(Conversation.last_event).where(Conversation.id == conversation_id))
        return [(last or events[-1].seq, REFRESH)]


async def _streams_of(runtime: Runtime, session: AsyncSession, event: OutboxEvent) -> str:
    html = await run_stream(runtime, session, event.conversation_id)
    if "message_id" in event.payload:
        show = SHOWN_BY.get(event.kind, message_stream)
        html = await show(session, UUID(event.payload["message_id"])) + html
    return str(html)


async def _following(session: AsyncSession, message_id: UUID) -> UUID | None:
    """The next message that is shown."""
    other = aliased(Message)
    found: UUID | None = await session.scalar(
        select(other.id)
        .join(Message, (Message.conversation_id == other.conversation_id) & (Message.seq < other.seq))
        .where(Message.id == message_id, other.visibility != "hidden")
        .order_by(other.seq)
        .limit(1)
    )
    return found


SHOWN_BY: Mapping[str, Callable[[AsyncSession, UUID], Awaitable[Markup]]] = {
    "message_changed": changed_message_stream,
    "message_hidden": changed_message_stream,
    "message_restored": restored_message_stream,
}
"""How pages follow an event about a message; any other is about a new one."""


def _sse(event: str, data: str, *, id: int | None = None, retry: int | None = None) -> str:
    lines = [f"event: {event}"]
    if id is not None:
        lines.append(f"id: {id}")
    if retry is not None:
        lines.append(f"retry: {retry}")
    lines += [f"data: {line}" for line in data.replace("\r", "").split("\n")]
    return "\n".join(lines) + "\n\n"
