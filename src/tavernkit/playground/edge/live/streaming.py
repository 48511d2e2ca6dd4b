"""The events of conversations as a stream that a browser can lose and pick up again.

One connection carries all conversations that a browser shows, because browsers open no more than six to one server; the
id of every event names its conversation: `<conversation>:<number>`, or `<conversation>` where there is no number.

Persistent events come from the outbox and carry their number; what is lost in between is replayed from the last number
that the browser has seen. The text of a running reply carries none: it is only shown while it is being written. Nor do
the suggestions of a copilot, which nobody but the person they are for is told.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeAlias
from uuid import UUID

from markupsafe import Markup
from sqlalchemy import select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Message, OutboxEvent
from tavernkit.playground.base.languages import current_language
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.realtime.bus import conversation_topic, user_topic
from tavernkit.playground.base.realtime.outbox import PAGE, events_after, is_access_in_question
from tavernkit.playground.base.realtime.presence import Person
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.artifact_updates import page_changes
from tavernkit.playground.edge.presenting.conversations import budget_notes, run_view
from tavernkit.playground.edge.presenting.messages import MessagePermissions, MessageView, message_view, permissions_of
from tavernkit.playground.edge.presenting.runs import shown_candidate, turns_view
from tavernkit.playground.edge.web.authentication import Proof, authenticate
from tavernkit.playground.edge.web.rendering import render
from tavernkit.playground.edge.web.streams import changed_stream, chosen_stream, stream
from tavernkit.playground.story.access.access import Access, SpaceAccess, conversation_for
from tavernkit.playground.story.artifacts.journal import STEPS_ENDED

KEEP_ALIVE_SECONDS = 15.0
RETRY_SECONDS = 1.0
PAUSE_PER_READER_SECONDS = 0.00025
LONGEST_PAUSE_SECONDS = 0.5
LONG_PIECE_CHARACTERS = 2000
REFRESH = '<turbo-stream action="refresh"></turbo-stream>'

READER = MessagePermissions()

Renderer: TypeAlias = Callable[[MessagePermissions], Markup]
"""A change to the page, to be drawn for somebody who may do more or less."""

FindPermissions: TypeAlias = Callable[[], Awaitable[MessagePermissions | None]]
"""What a reader may do now; None for one who may not read."""

log = logging.getLogger(__name__)


async def conversation_stream(
    runtime: Runtime,
    conversation_id: UUID,
    after: int,
    *,
    user_id: UUID,
    find_permissions: FindPermissions,
    around: Sequence[str] = (),
    permissions: MessagePermissions = READER,
    person: Person | None = None,
    keep_alive: float = KEEP_ALIVE_SECONDS,
) -> AsyncGenerator[str, None]:
    """Server-sent events, from behind event `after` until the reader leaves or is not welcome any more, or the
    application stops. `around` are the topics of what is said for many conversations at once. `person` is the reader
    among others who are told that they are there."""
    loop = asyncio.get_running_loop()
    page = _Page(runtime, conversation_id, after, permissions, person)
    async with (
        runtime.bus.subscribe(conversation_topic(conversation_id), user_topic(user_id), *around) as subscription,
        _present(runtime, conversation_id, person),
    ):
        # Whatever ended between the request and the subscription was announced to nobody.
        if not await page.may_still_read(find_permissions):
            return
        asked_at = loop.time()
        yield page.hello()
        if missed := await page.catch_up() + page.presence():
            yield missed
        while not runtime.stopping.is_set():
            pause = RETRY_SECONDS if page.is_behind else keep_alive
            items = await subscription.all_next(unless=runtime.stopping, within=pause)
            is_due = loop.time() - asked_at >= keep_alive or is_access_in_question(items)
            if is_due and not runtime.stopping.is_set():
                if not await page.may_still_read(find_permissions):
                    return
                asked_at = loop.time()
                if person is not None:
                    await runtime.presence.stay(conversation_id, person)
            yield await page.follow(items) or ": still here\n\n"
            # The more readers there are, the fewer and larger pieces each of them gets, so that the words of a reply
            # cost about the same however many read it.
            await asyncio.sleep(min(runtime.bus.listeners * PAUSE_PER_READER_SECONDS, LONGEST_PAUSE_SECONDS))


@asynccontextmanager
async def _present(runtime: Runtime, conversation_id: UUID, person: Person | None) -> AsyncIterator[None]:
    """Count somebody among those who are there for as long as their stream is open."""
    if person is None:
        yield
        return
    await runtime.presence.arrive(conversation_id, person)
    try:
        yield
    finally:
        await runtime.presence.leave(conversation_id, person)


async def merged_streams(
    runtime: Runtime, streams: Mapping[UUID, AsyncGenerator[str, None]], refused: Iterable[UUID] = ()
) -> AsyncGenerator[str, None]:
    """The streams of several conversations as one. A page hears `closed` when its conversation's stream has ended
    before the application stops, or was `refused` from the beginning."""
    waiting = {_next_piece(stream): conversation_id for conversation_id, stream in streams.items()}
    try:
        for conversation_id in refused:
            yield _sse(conversation_id, "closed", "{}")
        while waiting:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                conversation_id = waiting.pop(task)
                piece = task.result()
                if piece is not None:
                    waiting[_next_piece(streams[conversation_id])] = conversation_id
                    yield piece
                elif not runtime.stopping.is_set():
                    yield _sse(conversation_id, "closed", "{}")
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        for stream in streams.values():
            await stream.aclose()


def _next_piece(stream: AsyncGenerator[str, None]) -> asyncio.Future[str | None]:
    return asyncio.ensure_future(anext(stream, None))


async def readable_conversation(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID
) -> tuple[Conversation, SpaceAccess]:
    """The conversation and what this person may do in it, if they may read it."""
    async with runtime.database.read() as session:
        return await conversation_for(session, conversation_id, viewer, Access.READ)


def access_check(
    runtime: Runtime, viewer: Viewer, proof: Proof, owner_id: UUID, conversation_id: UUID
) -> FindPermissions:
    """Asks whether the proof is still good, is still this person's, and what they may still do in the conversation."""

    async def look() -> MessagePermissions | None:
        try:
            now = await authenticate(runtime, proof, owner_id)
            found = await readable_conversation(runtime, now, conversation_id)
        except Refused:
            return None
        return permissions_of(*found) if now.user_id == viewer.user_id else None

    # The tabs of one person ask together.
    return lambda: runtime.shared.do(("watching", proof, conversation_id, viewer.user_id), look)


class _Page:
    """What one reader has received."""

    def __init__(
        self,
        runtime: Runtime,
        conversation_id: UUID,
        seen: int,
        permissions: MessagePermissions,
        person: Person | None = None,
    ) -> None:
        self._runtime = runtime
        self._conversation_id = conversation_id
        self._seen = seen
        self._person = person
        self._people: tuple[Person, ...] = ()
        self.permissions = permissions
        self.is_behind = False

    async def may_still_read(self, find_permissions: FindPermissions) -> bool:
        """Look again what the reader may do; false for one who may not even read any more."""
        try:
            found = await find_permissions()
        except DBAPIError:
            # Nobody is sent away because nobody can be asked; without the database there is nothing to be told either.
            log.warning("Could not find out whether a reader may still read.", exc_info=True)
            return True
        if found is not None:
            self.permissions = found
        return found is not None

    def hello(self) -> str:
        """The page asks for what was written so far whenever it hears this."""
        return self._sse("hello", json.dumps({"seq": self._seen}))

    async def catch_up(self) -> str:
        """The events that the reader has not seen; they are tried again later when they cannot be read now."""
        seen = self._seen
        try:
            # Who asks for the same events at the same time gets them from one reading.
            streams = await self._runtime.shared.do(
                ("streams", self._conversation_id, seen, current_language()),
                lambda: _streams_after(self._runtime, self._conversation_id, seen),
            )
        except DBAPIError:
            self.is_behind = True
            return ""
        self.is_behind = False
        for seq, _ in streams:
            self._seen = seq
        return "".join(self._sse("streams", render_for(self.permissions), seq) for seq, render_for in streams)

    async def follow(self, items: Sequence[dict[str, Any]]) -> str:
        """What the news mean for this page, in their order."""
        output = await self.catch_up() if self.is_behind else ""
        for item in _joined(items):
            if "gap" in item:
                output += self.hello() + await self.catch_up()
            elif item.get("seq", 0) > self._seen:
                output += await self.catch_up()
            elif "run" in item:
                output += self._sse("text", json.dumps(item))
            elif "pipeline" in item:
                output += self._sse(item["pipeline"]["type"], json.dumps({**item["pipeline"], "for": item["for"]}))
            elif "chosen" in item:
                output += self._sse("streams", chosen_stream(item["place"], item["chosen"]))
            elif "copilot" in item and item.get("conversation") == str(self._conversation_id):
                output += self._sse("copilot", json.dumps({**item, "copilot": shown_candidate(item["copilot"])}))
            elif "typing" in item and self._person is not None and item["typing"]["member"] != self._person.member_id:
                output += self._sse("typing", json.dumps(item["typing"]))
        return output + self.presence(items)

    def presence(self, items: Iterable[dict[str, Any]] = ()) -> str:
        """Who else is there, when that has changed; only members are told."""
        if self._person is None:
            return ""
        for item in items:
            self._runtime.presence.hear(self._conversation_id, item)
        here = self._runtime.presence.people(self._conversation_id)
        people = tuple(one for one in here if one.member_id != self._person.member_id)
        if people == self._people:
            return ""
        self._people = people
        shown = [{"member": one.member_id, "name": shown_name(one.name)} for one in people]
        return self._sse("presence", json.dumps({"people": shown}))

    def _sse(self, event: str, data: str, seq: int | None = None) -> str:
        return _sse(self._conversation_id, event, data, seq)


def _joined(items: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same items, with pieces of text that follow each other made one."""
    result: list[dict[str, Any]] = []
    for item in items:
        if result and _follows(result[-1], item):
            result[-1] = {**result[-1], "text": result[-1]["text"] + item["text"]}
        else:
            result.append(item)
    return result


def _follows(piece: dict[str, Any], next_piece: dict[str, Any]) -> bool:
    if "run" not in piece or piece["run"] != next_piece.get("run") or len(piece["text"]) > LONG_PIECE_CHARACTERS:
        return False
    # Offsets count as JavaScript does.
    return bool(next_piece["offset"] == piece["offset"] + len(piece["text"].encode("utf-16-le")) // 2)


async def message_stream(
    session: AsyncSession, message_id: UUID, permissions: MessagePermissions = READER, *, kind: str = "message"
) -> Markup:
    """What an event of this kind about a message does to a page; on one that does not show its place, nothing."""
    return (await RENDERER_OF.get(kind, _new_message)(session, message_id))(permissions)


async def _new_message(session: AsyncSession, message_id: UUID) -> Renderer:
    """The message at the end of the list; one that is there already is replaced, not doubled."""
    view = await message_view(session, message_id)
    if view is None:
        return _nothing
    return lambda permissions: stream("append", "messages", _message_html(view, permissions))


async def _changed_message(session: AsyncSession, message_id: UUID) -> Renderer:
    """The message where it stands, as it is now, or no more."""
    view = await message_view(session, message_id)
    target = f"message_{message_id}"
    if view is None:
        return lambda _: stream("remove", target)
    return lambda permissions: stream("replace", target, _message_html(view, permissions))


async def _restored_message(session: AsyncSession, message_id: UUID) -> Renderer:
    """The message back in its place."""
    view = await message_view(session, message_id)
    gone = stream("remove", f"message_{message_id}")
    if view is None:
        return lambda _: gone
    following = await _next_shown(session, message_id)
    if following is None:
        return lambda permissions: gone + stream("append", "messages", _message_html(view, permissions))
    return lambda permissions: gone + stream("before", f"message_{following}", _message_html(view, permissions))


def _message_html(view: MessageView, permissions: MessagePermissions) -> Markup:
    return render("_message.html", message=view, permissions=permissions)


def _nothing(_: MessagePermissions) -> Markup:
    return Markup()


async def run_stream(runtime: Runtime, session: AsyncSession, conversation_id: UUID) -> Markup:
    """The place below the messages and the group bar, as they are now; by their version, a page knows what is late."""
    # Read before the rest, so that it is never newer than what is drawn.
    conversation = await session.get(Conversation, conversation_id, populate_existing=True)
    if conversation is None:
        return Markup()
    version = conversation.last_event
    run = await run_view(runtime, session, conversation_id)
    turns = await turns_view(session, conversation)
    bar = render("_group_bar.html", turns=turns, version=version)
    notes = await budget_notes(runtime, session, conversation_id)
    return (
        stream("replace", "run", render("_run.html", run=run, version=version, silence=turns.silence))
        + stream("replace", "group_bar", bar, morph=True)
        + stream("replace", "budget_note", render("_budget_note.html", notes=notes, conversation_id=conversation_id))
    )


async def _streams_after(
    runtime: Runtime, conversation_id: UUID, seen: int
) -> list[tuple[int, Callable[[MessagePermissions], str]]]:
    """The events that the reader has not seen, as Turbo streams; one who missed many gets the whole page anew.

    They are read once for everybody, and drawn for each by what they may do.
    """
    try:
        async with runtime.database.read() as session:
            events = await events_after(session, conversation_id, seen)
            if not events:
                return []
            # Events are numbered without gaps, and old ones are removed.
            if len(events) == PAGE or events[0].seq > seen + 1:
                last = await session.scalar(select(Conversation.last_event).where(Conversation.id == conversation_id))
                return [(last or events[-1].seq, lambda _: REFRESH)]
            messages = [(event.seq, await _message_of(session, event)) for event in events]
            others = await _other_changes(session, conversation_id, events)
            # Drawn as it is now, so once is enough; with each message, so that a reply is never shown twice.
            run = await run_stream(runtime, session, conversation_id)
    except DBAPIError:
        log.warning("Could not read the events of conversation %s", conversation_id, exc_info=True)
        raise
    last_seq = events[-1].seq
    news = changed_stream((event.kind for event in events), last_seq)
    if others is None:
        return [(last_seq, lambda _: REFRESH)]
    changed = frozenset(event.payload["member_id"] for event in events if event.payload.get("access"))
    return [
        (seq, partial(_event_html, message or _nothing, run + news if seq == last_seq else run, changed))
        for seq, message in [*messages[:-1], (last_seq, _joined_renderers([messages[-1][1] or _nothing, *others]))]
        if message is not None or seq == last_seq
    ]


async def _other_changes(
    session: AsyncSession, conversation_id: UUID, events: Sequence[OutboxEvent]
) -> list[Renderer] | None:
    """What else these events change on a page: what stands behind other messages or lies over it; None for all."""
    changes = await page_changes(session, conversation_id, events)
    if changes.whole_page:
        return None
    renderers = [await _changed_message(session, message_id) for message_id in changes.message_ids]
    if changes.overlays is not None:
        over = stream("replace", "overlays", render("_artifact_overlays.html", overlays=changes.overlays))
        renderers.append(lambda _: over)
    return renderers


def _joined_renderers(renderers: Sequence[Renderer]) -> Renderer:
    return lambda permissions: Markup().join(render_for(permissions) for render_for in renderers)


def _event_html(
    message: Renderer, also: Markup, changed_members: frozenset[str], permissions: MessagePermissions
) -> str:
    """What an event does to a page; who may do more or less since then gets the whole page anew."""
    return REFRESH if permissions.member_id in changed_members else str(message(permissions) + also)


async def _message_of(session: AsyncSession, event: OutboxEvent) -> Renderer | None:
    if "message_id" not in event.payload:
        return None
    show = RENDERER_OF.get(event.kind, _new_message)
    return await show(session, UUID(event.payload["message_id"]))


async def _next_shown(session: AsyncSession, message_id: UUID) -> UUID | None:
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


RENDERER_OF: Mapping[str, Callable[[AsyncSession, UUID], Awaitable[Renderer]]] = {
    "message_changed": _changed_message,
    "message_hidden": _changed_message,
    "message_restored": _restored_message,
    STEPS_ENDED: _changed_message,
}
"""How pages follow an event about a message; any other is about a new one."""


def _sse(conversation_id: UUID, event: str, data: str, seq: int | None = None) -> str:
    id = f"{conversation_id}" if seq is None else f"{conversation_id}:{seq}"
    lines = [f"event: {event}", f"id: {id}", *(f"data: {line}" for line in data.replace("\r", "").split("\n"))]
    return "\n".join(lines) + "\n\n"
