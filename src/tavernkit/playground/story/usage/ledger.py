"""The ledger: what each question to a model has used, and what those that are being answered may use at most."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias
from uuid import UUID

from sqlalchemy import ColumnElement, and_, delete, or_
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import UsageEntry
from tavernkit.playground.base.llm.base import ChatRequest, Counts
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import lock_totals
from tavernkit.playground.story.usage.budgets import budgets_in, check_budgets
from tavernkit.playground.story.usage.queries import is_at_work
from tavernkit.prompt.tokens import default_estimator
from tavernkit.values import Value

UsageKind: TypeAlias = Literal["reply", "step", "suggestion", "dry_run", "expression"]


class Purpose(Value, frozen=True, kw_only=True):
    """What a model is asked for: in which conversation, by which run or job, and by which step."""

    conversation_id: UUID
    kind: UsageKind
    name: str = ""
    run_id: UUID | None = None
    job_id: UUID | None = None


class Spending(Value, frozen=True, kw_only=True):
    """What one question has used. It is estimated where the provider has not said all of its tokens."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    cost: float | None = None
    is_estimated: bool = False


class Meter:
    """Measures one question: `reserve` before it is sent, then `record` what it has used, or `release`.

    `count_prompt` counts the tokens of the prompt, where the provider says nothing or a budget must know before.
    """

    def __init__(
        self,
        runtime: Runtime,
        purpose: Purpose,
        request: ChatRequest,
        *,
        most_tokens: int,
        count_prompt: Callable[[], int] | None = None,
    ) -> None:
        self._runtime = runtime
        self._purpose = purpose
        self._request = request
        self._most_tokens = request.max_tokens or most_tokens
        self._count_prompt = count_prompt or self._count_messages
        self._reserved_id: UUID | None = None

    async def reserve(self) -> None:
        """Set aside what the question may use at most; OverBudgetError where a budget has no room for it."""
        runtime, purpose = self._runtime, self._purpose
        async with runtime.database.read() as session:
            if not await budgets_in(session, purpose.conversation_id):
                return
        tokens = await asyncio.to_thread(self._count_prompt)
        most = Spending(prompt_tokens=tokens, completion_tokens=self._most_tokens, is_estimated=True)
        async with runtime.database.write() as session:
            # The lock lets one question at a time look at what is left.
            owner_id, _space_id = await lock_totals(session, purpose.conversation_id)
            await session.execute(delete(UsageEntry).where(self._is_left_over()))
            await check_budgets(
                session,
                purpose.conversation_id,
                runtime.clock(),
                model=self._request.model,
                prompt_tokens=most.prompt_tokens,
                completion_tokens=most.completion_tokens,
            )
            self._reserved_id = runtime.ids()
            session.add(self._entry(owner_id, most, id=self._reserved_id, is_open=True))

    async def spending(self, text: str, counts: Counts | None) -> Spending:
        """What the question has used: what its provider says, and our counting where it says nothing."""
        known, model = counts or Counts(), self._request.model
        prompt, completion = known.prompt_tokens, known.completion_tokens
        return Spending(
            prompt_tokens=await asyncio.to_thread(self._count_prompt) if prompt is None else prompt,
            completion_tokens=default_estimator().estimate(text, model) if completion is None else completion,
            cached_tokens=known.cached_tokens,
            cache_write_tokens=known.cache_write_tokens,
            cost=known.cost,
            is_estimated=prompt is None or completion is None,
        )

    async def record(self, session: AsyncSession, owner_id: UUID, spent: Spending) -> None:
        """Write down what the question has used, in place of what was reserved."""
        await self.release(session)
        session.add(self._entry(owner_id, spent, id=self._runtime.ids(), is_open=False))
        await session.flush()

    async def release(self, session: AsyncSession) -> None:
        """Give back what was reserved."""
        if self._reserved_id is not None:
            await session.execute(delete(UsageEntry).where(UsageEntry.id == self._reserved_id))

    async def settle(self, text: str, counts: Counts | None) -> None:
        """Record what the question has used, in a transaction of its own; a model that has said nothing has used
        nothing."""
        has_used = bool(text) or counts is not None
        if not has_used and self._reserved_id is None:
            return
        spent = await self.spending(text, counts) if has_used else None
        async with self._runtime.database.write() as session:
            if spent is None:
                await self.release(session)
                return
            owner_id, _space_id = await lock_totals(session, self._purpose.conversation_id)
            await self.record(session, owner_id, spent)

    def _entry(self, owner_id: UUID, spent: Spending, *, id: UUID, is_open: bool) -> UsageEntry:
        purpose = self._purpose
        return UsageEntry(
            id=id,
            owner_id=owner_id,
            conversation_id=purpose.conversation_id,
            run_id=purpose.run_id,
            job_id=purpose.job_id,
            kind=purpose.kind,
            name=purpose.name,
            model=self._request.model,
            created_at=self._runtime.clock(),
            is_open=is_open,
            **{name: getattr(spent, name) for name in Spending.__struct_fields__},
        )

    def _is_left_over(self) -> ColumnElement[bool]:
        """Whether an entry was reserved by a run or a job that has ended without a word, or for this reply before
        another worker has taken it up."""
        purpose = self._purpose
        is_same = and_(UsageEntry.run_id == purpose.run_id, UsageEntry.kind == "reply")
        is_left = or_(~is_at_work(), is_same) if purpose.kind == "reply" else ~is_at_work()
        return and_(UsageEntry.is_open, UsageEntry.conversation_id == purpose.conversation_id, is_left)

    def _count_messages(self) -> int:
        asked = "\n".join(str(message["content"]) for message in self._request.messages)
        return default_estimator().estimate(asked, self._request.model)


class Measured(NamedTuple):
    """A question that was answered, and what it has used; it is recorded together with the answer."""

    meter: Meter
    spent: Spending
