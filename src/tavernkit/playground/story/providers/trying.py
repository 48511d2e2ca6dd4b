"""Trying a provider: the one place where a web request waits for a model, and not for long."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from uuid import UUID

from sqlalchemy import update

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Provider
from tavernkit.playground.base.llm.base import ChatRequest, ModelClient, ModelError
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.providers.documents import ModelsOut, Problem, TrialOut
from tavernkit.playground.story.providers.queries import provider_to_manage

SECONDS = 20.0
QUESTION = "Say one word."
MAX_TOKENS = 16


async def try_connection(runtime: Runtime, viewer: Viewer, provider_id: UUID, *, seconds: float = SECONDS) -> TrialOut:
    """Ask the model something tiny, once, and leave as soon as it begins to answer."""
    row = await _provider(runtime, viewer, provider_id)
    loop = asyncio.get_running_loop()
    began = loop.time()
    problem: Problem | None = None
    request = ChatRequest(
        model=row.model,
        messages=({"role": "user", "content": QUESTION},),
        max_tokens=MAX_TOKENS,
        options=row.settings,
        attempts=1,
    )
    try:
        async with asyncio.timeout(seconds):
            await _hear(runtime.models.client_for(row), request)
    except ModelError as error:
        problem = _problem(error)
    except TimeoutError:
        problem = _late(row, seconds)
    milliseconds = round((loop.time() - began) * 1000)
    if problem is None:
        async with runtime.database.write() as session:
            tested = update(Provider).where(Provider.id == row.id).values(last_tested_at=runtime.clock())
            await session.execute(tested)
    return TrialOut(ok=problem is None, milliseconds=milliseconds, problem=problem)


async def list_models(runtime: Runtime, viewer: Viewer, provider_id: UUID, *, seconds: float = SECONDS) -> ModelsOut:
    """Ask the provider which models it has."""
    row = await _provider(runtime, viewer, provider_id)
    try:
        async with asyncio.timeout(seconds):
            return ModelsOut(models=list(await runtime.models.client_for(row).list_models()))
    except ModelError as error:
        return ModelsOut(models=[], problem=_problem(error))
    except TimeoutError:
        return ModelsOut(models=[], problem=_late(row, seconds))


async def _provider(runtime: Runtime, viewer: Viewer, provider_id: UUID) -> Provider:
    async with runtime.database.read() as session:
        return await provider_to_manage(session, viewer, provider_id)


async def _hear(client: ModelClient, request: ChatRequest) -> None:
    async with aclosing(client.stream(request)) as events:
        async for _ in events:
            return


def _problem(error: ModelError) -> Problem:
    return Problem(code=error.code, sentence=str(error), status=error.status)


def _late(row: Provider, seconds: float) -> Problem:
    sentence = (
        f"{row.name} did not answer within {seconds:g} seconds. It may still be loading its model; try again later."
    )
    return Problem(code="timeout", sentence=sentence)
