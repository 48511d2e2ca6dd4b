"""What a provider sent for a reply, kept piece by piece where a story's settings say so, and what became of it.

Of what was sent there is the text, the thoughts and the figures at the end: no headers, no addresses, no keys.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

import msgspec
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import ReplyStream
from tavernkit.playground.base.llm.base import Finished, ModelEvent, TextDelta, ThoughtDelta
from tavernkit.playground.story.prompting.inputs_kept import UnreadableInputsError, unpacked
from tavernkit.playground.story.prompting.replies import StoredReply
from tavernkit.values import Json, Value

MAX_STREAM_BYTES = 2 * 1024 * 1024
"""The stream of a reply that is longer is not kept."""


class StreamPiece(Value, frozen=True, kw_only=True, omit_defaults=True):
    """One piece of a stream: text, thoughts, or how it ended."""

    text: str = ""
    thought: str = ""
    finished: Finished | None = None

    def to_event(self) -> ModelEvent:
        """The piece as the client gave it."""
        if self.finished is not None:
            return self.finished
        return ThoughtDelta(thought=self.thought) if self.thought else TextDelta(text=self.text)


class StreamRecord(Value, frozen=True, kw_only=True):
    """The pieces in their order, and the reply that they became."""

    pieces: tuple[StreamPiece, ...]
    reply: StoredReply


def stream_record(events: Iterable[ModelEvent], reply: StoredReply) -> StreamRecord:
    """What was sent, ready to be written down."""
    return StreamRecord(pieces=tuple(map(_piece, events)), reply=reply)


def _piece(event: ModelEvent) -> StreamPiece:
    match event:
        case TextDelta():
            return StreamPiece(text=event.text)
        case ThoughtDelta():
            return StreamPiece(thought=event.thought)
        case Finished():
            return StreamPiece(finished=event)


async def keep_stream(session: AsyncSession, run_id: UUID, record: StreamRecord, now: datetime) -> None:
    """Write the stream of a reply down, unless it is too long; its prompt is written already."""
    written = json.dumps(msgspec.to_builtins(record), ensure_ascii=False).encode("utf-8", "surrogatepass")
    if len(written) <= MAX_STREAM_BYTES:
        await session.merge(ReplyStream(run_id=run_id, content=zlib.compress(written), created_at=now))


async def read_stream(session: AsyncSession, run_id: UUID) -> StreamRecord | None:
    """The stream of a reply; None where it was not kept."""
    row = await session.get(ReplyStream, run_id)
    return None if row is None else stream_from(json.loads(unpacked(row.content)))


def stream_from(written: Json) -> StreamRecord:
    """A stream, read from JSON; raises UnreadableInputsError."""
    try:
        return msgspec.convert(written, StreamRecord)
    except msgspec.ValidationError as error:
        raise UnreadableInputsError(f"The recorded reply cannot be read: {error}") from error
