"""Saying something to a character and waiting for what it answers.

The request itself asks no model: it queues a run, as a page does, and a worker carries it out.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from fastapi.responses import JSONResponse
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.errors import DatabaseBusyError
from tavernkit.playground.base.database.models import Message, Run
from tavernkit.playground.base.realtime.bus import conversation_topic, space_topic, user_topic
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.live.streaming import FindPermissions
from tavernkit.playground.edge.models_api.conversation_matching import note_sent_text
from tavernkit.playground.edge.models_api.errors import EndpointError
from tavernkit.playground.edge.models_api.following import Disconnect, ReplyFollower, watch_disconnect
from tavernkit.playground.edge.models_api.queries import CharacterModel, SentMessage, is_deleted, read_reply, run_for
from tavernkit.playground.edge.models_api.schemas import Chunks, completion_of, event
from tavernkit.playground.story.messages.service import send_message
from tavernkit.playground.story.paths.state import end_of_path
from tavernkit.playground.story.prompting.inputs import ReplyLimits
from tavernkit.playground.story.replies.actions import request_stop
from tavernkit.playground.story.runs.requests import continue_reply

KEEP_ALIVE_SECONDS = 15.0
STREAM_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]

_REFUSED = EndpointError(
    401, "You can no longer read this conversation, or your API key was revoked.", code="signed_out", is_final=True
)


class CompletionRequest(NamedTuple):
    """What is said to whom, and where; a reply that is `last` is continued. `is_named` says that the program has named
    the conversation."""

    model: CharacterModel
    conversation_id: UUID
    is_named: bool
    last: SentMessage
    limits: ReplyLimits
    is_streamed: bool
    include_usage: bool


class CompletionResponse(Response):
    """The answer to a question. It watches the connection itself: when the client goes away, the run is stopped.

    `may_read` says whether who asked may still read the conversation.
    """

    def __init__(
        self, runtime: Runtime, viewer: Viewer, question: CompletionRequest, may_read: FindPermissions
    ) -> None:
        super().__init__()
        self._runtime = runtime
        self._viewer = viewer
        self._question = question
        self._may_read = may_read
        self._is_said = False
        self._continued = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._answer(scope, receive, send)
        except DatabaseBusyError as error:
            if not self._is_said:
                raise
            # Who asks again would say it twice.
            raise EndpointError(503, str(error), code="database_busy", is_final=True) from error

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        question = self._question
        topics = (
            conversation_topic(question.conversation_id),
            user_topic(self._viewer.user_id),
            space_topic(question.model.space.id),
        )
        async with (
            watch_disconnect(receive, self._runtime.stopping) as watched,
            # Before anything is said, so that nothing of the reply is missed.
            self._runtime.bus.subscribe(*topics) as news,
        ):
            run = await self._say() if await self._may_read() else _REFUSED
            if isinstance(run, EndpointError):
                await run.response()(scope, receive, send)
                return
            following = ReplyFollower(self._runtime, run, news, watched.event, self._may_read)
            if question.is_streamed:
                await self._stream(run, following, watched, send)
            else:
                answer = await self._whole(following)
                await answer(scope, receive, send)
            if (watched.is_gone or following.is_refused) and not following.has_ended:
                # Who may not read it any more may not stop it either.
                with suppress(Refused):
                    await request_stop(self._runtime, self._viewer, run.id)

    async def _say(self) -> Run | EndpointError:
        runtime, question = self._runtime, self._question
        limits = msgspec.to_builtins(question.limits)
        if question.last.role == "assistant":
            return await self._go_on(limits)
        sent = await send_message(
            runtime,
            self._viewer,
            question.conversation_id,
            message_id=runtime.ids(),
            content=question.last.text,
            role=question.last.role,
            speaker_id=question.model.member.id,
            limits=limits,
            # The conversation is found again by what its client has sent.
            runs_scripts=False,
        )
        self._is_said = True
        async with runtime.database.read() as session:
            run = await run_for(session, sent, question.model.member.id)
        if run is None:
            return EndpointError(
                503, "No character can reply in this conversation now.", code="no_reply", is_final=True
            )
        return run

    async def _go_on(self, limits: dict[str, Any]) -> Run:
        runtime, question = self._runtime, self._question
        async with runtime.database.read() as session:
            end = await end_of_path(session, question.conversation_id)
        self._continued = "" if end is None else end[0].content
        # What was found by its history may be stored otherwise than it was sent.
        text = question.last.text if question.is_named else self._continued.strip()
        return await continue_reply(runtime, self._viewer, question.conversation_id, text=text, limits=limits)

    async def _whole(self, following: ReplyFollower) -> Response:
        async for _ in following.pieces():
            pass
        ended = await self._ended(following)
        if isinstance(ended, EndpointError):
            return ended.response()
        run, message = ended
        text = self._new_text(message)
        return JSONResponse(completion_of(self._question.model.name, run, message, text).model_dump(mode="json"))

    def _new_text(self, message: Message) -> str:
        """The reply without what the program had already."""
        return message.content.removeprefix(self._continued)

    async def _stream(self, run: Run, following: ReplyFollower, watched: Disconnect, send: Send) -> None:
        chunks = Chunks(self._question.model.name, run, include_usage=self._question.include_usage)
        output = _Output(send, watched)
        await output.begin(chunks.beginning())
        sent = ""
        async for piece in following.pieces():
            # A reply is stored without the space around it.
            piece = piece if sent or self._continued else piece.lstrip()
            sent += piece
            await (output.write(chunks.piece(piece)) if piece else output.keep_alive())
        ended = await self._ended(following)
        if isinstance(ended, EndpointError):
            await output.end(event(ended.body))
            return
        run, message = ended
        text, before = self._new_text(message), self._question.last.text if self._continued else ""
        rest = text[len(sent) :] if text.startswith(sent) else ""
        if (before + sent + rest).strip() != message.content.strip():
            await note_sent_text(self._runtime, run.id, (before + sent + rest).strip())
        await output.end((chunks.piece(rest) if rest else "") + chunks.end(run, message))

    async def _ended(self, following: ReplyFollower) -> tuple[Run, Message] | EndpointError:
        """The reply, or why there is none."""
        run = following.run
        if following.is_refused and not following.has_ended:
            return _REFUSED
        if not following.has_ended:
            return EndpointError(
                503,
                "The application is stopping. The reply will be in the conversation later.",
                code="stopping",
                is_final=True,
            )
        async with self._runtime.database.read() as session:
            if run is None or await is_deleted(session, run.conversation_id):
                return EndpointError(404, "The conversation was deleted.", code="not_found", is_final=True)
            message = await read_reply(session, run.id) if run.status == "succeeded" else None
        return _failure(run) if message is None else (run, message)


class _Output:
    """A stream of server-sent events; nothing is written to a client that has gone."""

    def __init__(self, send: Send, watched: Disconnect) -> None:
        self._send = send
        self._watched = watched
        self._written_at = 0.0

    async def begin(self, text: str) -> None:
        await self._send({"type": "http.response.start", "status": 200, "headers": STREAM_HEADERS})
        await self.write(text)

    async def write(self, text: str) -> None:
        self._written_at = asyncio.get_running_loop().time()
        if not self._watched.is_gone:
            await self._send({"type": "http.response.body", "body": text.encode(), "more_body": True})

    async def keep_alive(self) -> None:
        """Say that we are still here, after a while without a word."""
        if asyncio.get_running_loop().time() - self._written_at >= KEEP_ALIVE_SECONDS:
            await self.write(": still here\n\n")

    async def end(self, text: str) -> None:
        await self.write(text)
        if not self._watched.is_gone:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def _failure(run: Run) -> EndpointError:
    """Why a run has no reply. It has been tried as often as that makes sense, so that nobody need ask again at once."""
    match run.status:
        case "failed":
            error = run.error or {}
            message = str(error.get("message", "The model did not answer."))
            return EndpointError(502, message, code=str(error.get("code", "unknown_error")), is_final=True)
        case "canceled":
            return EndpointError(499, "The reply was stopped in the application.", code="stopped", is_final=True)
        case _:
            return EndpointError(503, "The reply was skipped in the application.", code="skipped", is_final=True)
