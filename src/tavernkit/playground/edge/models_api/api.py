"""Characters as models, for programs that speak OpenAI's API."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Request, Response

from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.api.requests import ApiCaller
from tavernkit.playground.edge.live.streaming import access_check
from tavernkit.playground.edge.models_api.completion import CompletionRequest, CompletionResponse
from tavernkit.playground.edge.models_api.conversation_matching import conversation_for_request, named_conversation
from tavernkit.playground.edge.models_api.errors import PREFIX, EndpointError, documented_errors
from tavernkit.playground.edge.models_api.queries import CharacterModel, SentMessage, find_model, list_models
from tavernkit.playground.edge.models_api.schemas import (
    MAX_BODY_BYTES,
    CompletionIn,
    CompletionMessage,
    CompletionOut,
    ModelCharacter,
    ModelList,
    ModelOut,
)
from tavernkit.playground.edge.web.authentication import proof_of
from tavernkit.playground.edge.web.bodies import takes
from tavernkit.playground.story.paths.writing import clean_text

router = APIRouter(prefix=PREFIX, tags=["models"])

_STREAM = {"text/event-stream": {"schema": {"type": "string"}}}


@router.get("/models", responses=documented_errors(401))
async def index(caller: ApiCaller) -> ModelList:
    """The characters that you can talk to, each as a model."""
    async with caller.runtime.database.read() as session:
        return ModelList(data=[_shown(model) for model in await list_models(session, caller.viewer)])


@router.get("/models/{model_id}", responses=documented_errors(401, 404))
async def show(caller: ApiCaller, model_id: str) -> ModelOut:
    """One character as a model."""
    async with caller.runtime.database.read() as session:
        return _shown(_known(await find_model(session, caller.viewer, model_id)))


@router.post(
    "/chat/completions",
    response_model=CompletionOut,
    responses={200: {"content": _STREAM}, **documented_errors(400, 401, 403, 404, 409, 413, 499, 502, 503, 507)},
)
@takes(MAX_BODY_BYTES)
async def complete(request: Request, caller: ApiCaller, body: CompletionIn) -> Response:
    """Say something to a character, and get its reply, at once or as it is written."""
    async with caller.runtime.database.read() as session:
        model = _known(await find_model(session, caller.viewer, body.model))
    said = _all_said(body.messages)
    last = said[-1]
    # What is continued has to be there already; what is answered or followed is said now.
    earlier = said if last.role == "assistant" else said[:-1]
    where = None if body.tavernkit is None else body.tavernkit.conversation_id
    if where is not None:
        place = await named_conversation(*caller, model, where)
    else:
        place = await conversation_for_request(*caller, model, earlier, last)
    options = body.stream_options
    question = CompletionRequest(
        model=model,
        conversation_id=place,
        is_named=where is not None,
        last=last,
        limits=body.limits,
        is_streamed=bool(body.stream),
        include_usage=options is not None and bool(options.include_usage),
    )
    owner_id = request.app.state.owner_id
    may_read = access_check(*caller, proof_of(request), owner_id, question.conversation_id)
    return CompletionResponse(*caller, question, may_read)


def _known(model: CharacterModel | None) -> CharacterModel:
    if model is None:
        sentence = "This model does not exist. GET /v1/models lists all models."
        raise EndpointError(404, sentence, code="model_not_found", param="model")
    return model


def _shown(model: CharacterModel) -> ModelOut:
    member, space = model
    return ModelOut(
        id=model.name,
        created=int(member.created_at.timestamp()),
        owned_by=space.name,
        tavernkit=ModelCharacter(member_id=member.id, space_id=space.id, character=member.cached_display_name),
    )


def _all_said(messages: Sequence[CompletionMessage]) -> list[SentMessage]:
    """What was said; empty messages, such as system prompts that nobody has filled in, and calls of tools with their
    results are left out. What the person says last must not be empty, for that would be answered."""
    said = [_said(message, place) for place, message in enumerate(messages)]
    kept = [message for message in said if message is not None]
    if not kept or (said[-1] is None and messages[-1].role == "user"):
        sentence = "The last message is empty. Send a message with text."
        raise EndpointError(400, sentence, code="blank", param=f"messages.{len(messages) - 1}.content")
    return kept


def _said(message: CompletionMessage, place: int) -> SentMessage | None:
    if message.content is None or message.role in ("tool", "function"):
        return None
    try:
        text = clean_text(message.content)
    except Refused as refused:
        if refused.code == "blank":
            return None
        raise EndpointError(400, refused.sentence, code=refused.code, param=f"messages.{place}.content") from None
    return SentMessage(message.role if message.role in ("user", "assistant") else "system", text)
