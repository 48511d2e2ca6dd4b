"""Keeping what has become of a model's reply, and counting what replies use."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import aclosing
from typing import TypedDict
from uuid import UUID

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import Built, Reply, risuai, sillytavern
from tavernkit.artifacts.pipelines import ModelUsage
from tavernkit.playground.base.database.models import Conversation, Provider, Space, User
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.llm.base import ChatRequest, Finished, ModelError, ModelEvent, TextDelta, ThoughtDelta
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable
from tavernkit.playground.story.paths.injections import with_used
from tavernkit.playground.story.paths.variables import GlobalChanges
from tavernkit.playground.story.paths.writing import REASONING
from tavernkit.playground.story.prompting.building import BuiltPrompt, global_changes, state_changes
from tavernkit.playground.story.usage.ledger import Meter, Purpose
from tavernkit.sillytavern import SillyTavernResult
from tavernkit.values import Json, Value


class Usage(Value, frozen=True, kw_only=True):
    """What a reply used."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int | None = None
    cost: float | None = None


def usage_of(prompt: BuiltPrompt, text: str, finished: Finished | None) -> Usage:
    """The provider's own figures; where it gives none, what our counting says."""
    report, model = prompt.plan.trim_report, prompt.inputs.provider.model
    counted = None if finished is None else finished.prompt_tokens
    written = None if finished is None else finished.completion_tokens
    return Usage(
        prompt_tokens=counted if counted is not None else 0 if report is None else report.final_tokens,
        completion_tokens=prompt.inputs.estimator.estimate(text, model) if written is None else written,
        cached_tokens=None if finished is None else finished.cached_tokens,
        cost=None if finished is None else finished.cost,
    )


def reply_meter(runtime: Runtime, purpose: Purpose, prompt: BuiltPrompt) -> Meter:
    """Measures the question that a prompt is."""
    report = prompt.plan.trim_report
    return Meter(
        runtime,
        purpose,
        prompt.request,
        most_tokens=prompt.inputs.provider.response_tokens,
        count_prompt=None if report is None else lambda: report.final_tokens,
    )


def cost_words(cost: float | None) -> str:
    """A cost as people read it; nothing where no provider has said one."""
    return "" if cost is None else f"${cost:.4f}"


def used_by_steps(used: Iterable[ModelUsage]) -> Usage:
    """What steps have used together."""
    total = ModelUsage()
    for one in used:
        total = total.plus(one)
    return Usage(prompt_tokens=total.prompt_tokens, completion_tokens=total.completion_tokens, cost=total.cost)


async def count_usage(
    session: AsyncSession, owner_id: UUID, space_id: UUID, conversation_id: UUID, usage: Usage
) -> None:
    """Add what a reply used to what its owner, its space and its conversation have used; they are locked already."""
    for model, id in ((User, owner_id), (Space, space_id), (Conversation, conversation_id)):
        await session.execute(
            update(model)
            .where(model.id == id)
            .values(
                prompt_tokens_total=model.prompt_tokens_total + usage.prompt_tokens,
                completion_tokens_total=model.completion_tokens_total + usage.completion_tokens,
            ),
            execution_options={"synchronize_session": False},
        )


class HeardReply:
    """What a model has said so far; it is known also where the model is not heard to its end."""

    def __init__(self) -> None:
        self.text, self.thoughts = "", ""
        self.finished: Finished | None = None

    async def listen(self, runtime: Runtime, provider: Provider, request: ChatRequest, meter: Meter) -> None:
        """Ask the model, and hear it out; OverBudgetError where a budget has no room for the question."""
        await meter.reserve()
        try:
            async with aclosing(runtime.models.client_for(provider).stream(request)) as events:
                async for event in events:
                    self.take(event)
        finally:
            # Whoever is tired of waiting cancels this, and what was used counts all the same.
            await asyncio.shield(meter.settle(self.text + self.thoughts, self.finished))

    def take(self, event: ModelEvent) -> None:
        """Hear the next piece; without NUL, which PostgreSQL's text cannot hold."""
        match event:
            case TextDelta():
                self.text += event.text.replace("\x00", "")
            case ThoughtDelta():
                self.thoughts += event.thought.replace("\x00", "")
            case Finished():
                self.finished = event


class StoredReply(Value, frozen=True, kw_only=True):
    """A reply as it is stored; `state_delta` is what the prompt and the reply have changed in the story's state,
    `global_changes` in the variables of all stories.

    """

    text: str
    reasoning: str = ""
    state_delta: dict[str, Json] | None = None
    global_changes: GlobalChanges = GlobalChanges()

    @property
    def metadata(self) -> dict[str, Json]:
        """What the swipe keeps beside its text."""
        return {REASONING: self.reasoning} if self.reasoning else {}


class _Given(TypedDict):
    thoughts: str
    continued: str
    ends: tuple[str, ...]
    stop: tuple[str, ...]


def make_reply(prompt: BuiltPrompt, text: str, thoughts: str = "") -> StoredReply:
    """Let the platform make a message of the reply; `thoughts` are those that the provider has told apart itself.

    Raises ModelError when nothing is left of what the model sent.
    """
    reply, inputs = _taken(prompt, text, thoughts), prompt.inputs
    text = storable(reply.text)
    if not text.strip():
        sentence = _("The model sent an empty reply. Retry or choose another model.")
        raise ModelError(sentence, code="empty_response")
    result = prompt.built.result
    layout = result.layout_state if isinstance(result, SillyTavernResult) else None
    changes = state_changes(inputs.state, reply.variables["local"], result.timed, layout)
    return StoredReply(
        text=text,
        reasoning=storable(reply.reasoning),
        state_delta=with_used(changes, inputs.injections, inputs.state),
        global_changes=global_changes(inputs.global_variables, reply.variables["global"]),
    )


def _taken(prompt: BuiltPrompt, text: str, thoughts: str) -> Reply:
    inputs, plan = prompt.inputs, prompt.plan
    # Not every server obeys: what should have ended the reply is looked for again.
    given = _Given(
        thoughts=thoughts, continued=inputs.continued, ends=inputs.limits.stop, stop=tuple(prompt.request.stop)
    )
    result = prompt.built.result
    if isinstance(result, SillyTavernResult):
        return sillytavern.take_reply(Built(plan=plan, result=result), text, **given)
    return risuai.take_reply(Built(plan=plan, result=result), text, **given)
