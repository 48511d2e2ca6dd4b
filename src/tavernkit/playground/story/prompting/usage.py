"""What replies use, and counting it."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.artifacts.pipelines import ModelUsage
from tavernkit.playground.base.database.models import Conversation, Space, User
from tavernkit.playground.base.llm.base import Finished
from tavernkit.playground.story.prompting.building import BuiltPrompt
from tavernkit.prompt.tokens import default_estimator
from tavernkit.values import Value


class Usage(Value, frozen=True, kw_only=True):
    """What a reply used."""

    prompt_tokens: int
    completion_tokens: int
    cost: float | None = None


def usage_of(prompt: BuiltPrompt, text: str, finished: Finished | None) -> Usage:
    """The provider's own figures; where it gives none, what our counting says."""
    report, model = prompt.plan.trim_report, prompt.inputs.provider.model
    counted = None if finished is None else finished.prompt_tokens
    written = None if finished is None else finished.completion_tokens
    return Usage(
        prompt_tokens=counted if counted is not None else 0 if report is None else report.final_tokens,
        completion_tokens=default_estimator().estimate(text, model) if written is None else written,
        cost=None if finished is None else finished.cost,
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
