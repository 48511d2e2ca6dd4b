"""Asking a model for a step, beside the story: a question, and its answer as a whole."""

from __future__ import annotations

from contextlib import aclosing

from sqlalchemy import select

from tavernkit.artifacts.pipelines import ModelAnswer, ModelRequest, ModelUsage
from tavernkit.artifacts.pipelines.model import Spent
from tavernkit.errors import StepFailed
from tavernkit.playground.base.database.models import Provider
from tavernkit.playground.base.llm.base import ChatRequest, Counts, Finished, ModelError, TextDelta
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable
from tavernkit.playground.story.prompting.requests import step_request
from tavernkit.prompt.tokens import default_estimator
from tavernkit.sillytavern.reasoning import receive_reply
from tavernkit.sillytavern.settings import ReasoningSettings

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
                return await self._answer(provider, question, request.spent)
            except ModelError as error:
                if request.json_schema is None or error.status not in _NOT_UNDERSTOOD:
                    raise
            # The answer is checked in any case, so a server that cannot be held to a schema does as well.
            plain = step_request(provider, request.messages, model=request.model, sampling=request.sampling)
            return await self._answer(provider, plain, request.spent)
        except ModelError as error:
            raise StepFailed(str(error), code=error.code) from error

    async def _answer(self, provider: Provider, question: ChatRequest, spent: Spent) -> ModelAnswer:
        text, finished, was_refused = "", None, False
        try:
            async with aclosing(self._runtime.models.client_for(provider).stream(question)) as events:
                async for event in events:
                    match event:
                        case TextDelta():
                            text += event.text
                        case Finished():
                            finished = event
        except ModelError:
            # Who says no before the first word has done nothing for it.
            was_refused = not text
            raise
        finally:
            used = ModelUsage() if was_refused else _usage(question, text, finished)
            spent(used)
        return ModelAnswer(
            text=storable(receive_reply(text, _THOUGHTS).content),
            prompt_tokens=used.prompt_tokens,
            completion_tokens=used.completion_tokens,
            cost=used.cost,
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


def _usage(question: ChatRequest, text: str, finished: Finished | None) -> ModelUsage:
    """The provider's own figures; where it gives none, or was not heard to its end, what our counting says."""
    count = default_estimator().estimate
    counts = finished or Counts()
    asked = "\n".join(str(message["content"]) for message in question.messages)
    return ModelUsage(
        calls=1,
        prompt_tokens=count(asked, question.model) if counts.prompt_tokens is None else counts.prompt_tokens,
        completion_tokens=count(text, question.model) if counts.completion_tokens is None else counts.completion_tokens,
        cost=counts.cost,
    )
