"""Asking a model for a step, beside the story: a question, and its answer as a whole."""

from __future__ import annotations

from contextlib import aclosing

from sqlalchemy import select

from tavernkit.artifacts.pipelines import ModelAnswer, ModelRequest
from tavernkit.errors import StepFailed
from tavernkit.playground.database.models import Provider
from tavernkit.playground.llm.base import ChatRequest, Finished, ModelError, TextDelta
from tavernkit.playground.prompting.requests import step_request
from tavernkit.playground.runtime import Runtime
from tavernkit.playground.storable import storable
from tavernkit.prompt.tokens import default_estimator
from tavernkit.sillytavern.reasoning import receive_reply
from tavernkit.sillytavern.settings import ReasoningSettings

__all__ = ["StepModels"]

_THOUGHTS = ReasoningSettings(auto_parse=True)
_NOT_UNDERSTOOD = (400, 404, 415, 422, 501)
"""How servers answer that have not heard of answers held to a schema."""


class StepModels:
    """The models that the steps of one run may ask: the chat's, or one that a step names."""

    def __init__(self, runtime: Runtime, usual: Provider) -> None:
        self._runtime = runtime
        self._usual = usual

    async def ask(self, request: ModelRequest) -> ModelAnswer:
        """The answer without any thoughts; StepFailed with the provider's sentence when there is none."""
        provider = await self._provider(request.provider)
        question = step_request(
            provider,
            request.messages,
            model=request.model,
            sampling=request.sampling,
            json_schema=request.json_schema,
        )
        try:
            try:
                return await self._answer(provider, question)
            except ModelError as error:
                if request.json_schema is None or error.status not in _NOT_UNDERSTOOD:
                    raise
            # The answer is checked in any case, so a server that cannot be held to a schema does as well.
            plain = step_request(provider, request.messages, model=request.model, sampling=request.sampling)
            return await self._answer(provider, plain)
        except ModelError as error:
            raise StepFailed(str(error), code=error.code) from error

    async def _answer(self, provider: Provider, question: ChatRequest) -> ModelAnswer:
        text, finished = "", None
        async with aclosing(self._runtime.models.client_for(provider).stream(question)) as events:
            async for event in events:
                match event:
                    case TextDelta():
                        text += event.text
                    case Finished():
                        finished = event
        count = default_estimator().estimate
        asked = "\n".join(str(message["content"]) for message in question.messages)
        counted = (None, None) if finished is None else (finished.prompt_tokens, finished.completion_tokens)
        return ModelAnswer(
            text=storable(receive_reply(text, _THOUGHTS).content),
            prompt_tokens=count(asked, question.model) if counted[0] is None else counted[0],
            completion_tokens=count(text, question.model) if counted[1] is None else counted[1],
        )

    async def _provider(self, name: str | None) -> Provider:
        if name is None:
            return self._usual
        async with self._runtime.database.read() as session:
            found: Provider | None = await session.scalar(
                select(Provider).where(Provider.name == name, ~Provider.disabled)
            )
        if found is None:
            raise StepFailed(
                f"There is no provider {name!r}. Add one of that name, or take it out of the step.",
                code="provider_not_found",
            )
        return found
