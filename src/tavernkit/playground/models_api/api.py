"""Characters as models, for programs that speak OpenAI's API."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Response

from tavernkit.playground.api.errors import unless_refused
from tavernkit.playground.api.requests import Asked, Running
from tavernkit.playground.messages.texts import clean_text
from tavernkit.playground.models_api.completing import CompletionResponse, Question
from tavernkit.playground.models_api.errors import PREFIX, EndpointError, told_errors
from tavernkit.playground.models_api.history import Said
from tavernkit.playground.models_api.limiting import LimitedRoute
from tavernkit.playground.models_api.placing import named_place, place_for
from tavernkit.playground.models_api.queries import Model, find_model, list_models
from tavernkit.playground.models_api.schemas import (
    CompletionIn,
    CompletionOut,
    MessageIn,
    ModelList,
    ModelOut,
    WhichCharacter,
)
from tavernkit.playground.outcome import Refused

__all__ = ["router"]

router = APIRouter(prefix=PREFIX, tags=["models"], route_class=LimitedRoute)

_STREAM = {"text/event-stream": {"schema": {"type": "string"}}}


@router.get("/models", responses=told_errors(401))
async def index(runtime: Running, viewer: Asked) -> ModelList:
    """The characters that you can talk to, each as a model."""
    async with runtime.database.read() as session:
        return ModelList(data=[_shown(model) for model in await list_models(session, viewer)])


@router.get("/models/{model_id}", responses=told_errors(401, 404))
async def show(runtime: Running, viewer: Asked, model_id: str) -> ModelOut:
    """One character as a model."""
    async with runtime.database.read() as session:
        return _shown(_known(await find_model(session, viewer, model_id)))


@router.post(
    "/chat/completions",
    response_model=CompletionOut,
    responses={200: {"content": _STREAM}, **told_errors(400, 401, 403, 404, 409, 413, 499, 502, 503, 507)},
)
async def complete(runtime: Running, viewer: Asked, body: CompletionIn) -> Response:
    """Say something to a character, and get its reply, at once or as it is written."""
    async with runtime.database.read() as session:
        model = _known(await find_model(session, viewer, body.model))
    last = _last(body.messages)
    where = None if body.tavernkit is None else body.tavernkit.conversation_id
    if where is not None:
        place = await named_place(runtime, viewer, model, where)
    else:
        place = await place_for(runtime, viewer, model, _earlier(body.messages[:-1]), last)
    options = body.stream_options
    question = Question(
        model=model,
        conversation_id=unless_refused(place),
        text=last.text,
        is_streamed=bool(body.stream),
        include_usage=options is not None and bool(options.include_usage),
    )
    return CompletionResponse(runtime, viewer, question)


def _known(model: Model | None) -> Model:
    if model is None:
        sentence = "There is no such model here. A GET of /v1/models tells those that there are."
        raise EndpointError(404, sentence, code="model_not_found", param="model")
    return model


def _shown(model: Model) -> ModelOut:
    member, space = model
    return ModelOut(
        id=model.name,
        created=int(member.created_at.timestamp()),
        owned_by=space.name,
        tavernkit=WhichCharacter(member_id=member.id, space_id=space.id, character=member.cached_display_name),
    )


def _last(messages: Sequence[MessageIn]) -> Said:
    place = len(messages) - 1
    if messages[place].role != "user":
        sentence = "The last message has to be the user's: that is what the character answers."
        raise EndpointError(400, sentence, code="invalid", param=f"messages.{place}.role")
    said = _said(messages[place], place)
    if said is None:
        sentence = "The last message is empty: there is nothing to answer."
        raise EndpointError(400, sentence, code="blank", param=f"messages.{place}.content")
    return said


def _earlier(messages: Sequence[MessageIn]) -> list[Said]:
    """What was said before; empty messages, such as system prompts that nobody has filled in, are left out."""
    said = [_said(message, place) for place, message in enumerate(messages)]
    return [message for message in said if message is not None]


def _said(message: MessageIn, place: int) -> Said | None:
    text = clean_text(message.content)
    if isinstance(text, Refused):
        if text.code == "blank":
            return None
        raise EndpointError(400, text.sentence, code=text.code, param=f"messages.{place}.content")
    return Said(message.role if message.role in ("user", "assistant") else "system", text)
