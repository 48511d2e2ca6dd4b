"""Budgets: how much may be used in a conversation, in a space, or by a person; checked before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from math import isfinite
from typing import Literal, TypeAlias, cast
from uuid import UUID

from sqlalchemy import ColumnElement, delete, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Budget, Conversation, Space, UsageEntry
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext
from tavernkit.playground.base.refused import Refused, existing, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, conversation_for, space_for
from tavernkit.playground.story.usage.limits import OverLimitError
from tavernkit.playground.story.usage.prices import PER_TOKENS, price_for
from tavernkit.playground.story.usage.queries import UsageLine, day_start, in_space, in_tree, used_since
from tavernkit.values import Value

BudgetPeriod: TypeAlias = Literal["day", "month", "total"]
BudgetPlace: TypeAlias = Literal["conversation", "space", "person"]
MOST_TOKENS, HIGHEST_COST = 10**12, 1_000_000.0

OVER: Mapping[BudgetPlace, str] = {
    "conversation": _("The budget of this conversation is {limit}. {used} used; this may take {more}. {advice}"),
    "space": _("The budget of this space is {limit}. {used} used; this may take {more}. {advice}"),
    "person": _("The budget of the owner of this space is {limit}. {used} used; this may take {more}. {advice}"),
}
"""What is said about a budget that has no room for what is asked."""

PERIODS: Mapping[BudgetPeriod, str] = {
    "day": _("{amount} per day"),
    "month": _("{amount} per month"),
    "total": _("{amount} in total"),
}
ADVICE: Mapping[BudgetPeriod, str] = {
    "day": _("Raise the budget, or wait until 00:00 UTC."),
    "month": _("Raise the budget, or wait until the first day of the next month."),
    "total": _("Raise the budget."),
}


class OverBudgetError(OverLimitError):
    """A budget has no room for a question; nothing was sent."""


class BudgetLimits(Value, frozen=True, kw_only=True):
    """How much may be used in a period; None is no limit. Above `warn_percent` of it people are warned."""

    period: BudgetPeriod
    tokens: int | None = None
    cost: float | None = None
    warn_percent: int = 80


class BudgetState(Value, frozen=True, kw_only=True):
    """A budget, and what is used of it, with what is being answered at this moment."""

    budget: Budget
    used: UsageLine

    @property
    def place(self) -> BudgetPlace:
        budget = self.budget
        return "conversation" if budget.conversation_id else "space" if budget.space_id else "person"

    @property
    def period(self) -> BudgetPeriod:
        return cast("BudgetPeriod", self.budget.period)

    @property
    def percent(self) -> int:
        """How much of it is used, of tokens or of dollars, whichever is more."""
        budget, shares = self.budget, [0.0]
        if budget.tokens is not None:
            shares.append(self.used.tokens / budget.tokens if budget.tokens else 1.0)
        if budget.cost is not None:
            shares.append(self.used.cost / budget.cost if budget.cost else 1.0)
        return int(100 * max(shares))

    @property
    def is_low(self) -> bool:
        """Whether people are to be warned."""
        return self.percent >= self.budget.warn_percent


async def budgets_in(session: AsyncSession, conversation_id: UUID) -> list[Budget]:
    """The budgets that count for a conversation: its own, that of its space, and that of the space's owner."""
    counts_here = or_(
        Budget.conversation_id == func.coalesce(Conversation.root_conversation_id, Conversation.id),
        Budget.space_id == Space.id,
        Budget.user_id == Space.owner_id,
    )
    query = (
        select(Budget)
        .select_from(Conversation)
        .join(Space, Space.id == Conversation.space_id)
        .join(Budget, counts_here)
        .where(Conversation.id == conversation_id)
        .order_by(Budget.created_at, Budget.id)
    )
    return list(await session.scalars(query))


async def states_in(session: AsyncSession, conversation_id: UUID, now: datetime) -> list[BudgetState]:
    """The budgets that count for a conversation, and what is used of each."""
    return [await _state(session, budget, now) for budget in await budgets_in(session, conversation_id)]


async def check_budgets(
    session: AsyncSession,
    conversation_id: UUID,
    now: datetime,
    *,
    model: str,
    prompt_tokens: int,
    completion_tokens: int,
) -> None:
    """Raise OverBudgetError where a budget has no room for a question of so many tokens. The owner is locked."""
    tokens, owner_id = prompt_tokens + completion_tokens, await _owner_of(session, conversation_id)
    price = await price_for(session, owner_id, model)
    known = (0.0, 0.0) if price is None else (price.prompt_price, price.completion_price)
    cost = (prompt_tokens * known[0] + completion_tokens * known[1]) / PER_TOKENS
    for state in await states_in(session, conversation_id, now):
        budget, used = state.budget, state.used
        if budget.tokens is not None and used.tokens + tokens > budget.tokens:
            raise _over(state, *(token_words(number) for number in (budget.tokens, used.tokens, tokens)))
        # A model without a price costs nothing that is known: it is stopped only when nothing is left.
        if budget.cost is not None and (used.cost + cost > budget.cost or used.cost >= budget.cost > 0):
            raise _over(state, *(dollars(amount) for amount in (budget.cost, used.cost, cost)))


def token_words(count: int) -> str:
    """A number of tokens as people read it."""
    return ngettext("{count} token", "{count} tokens", count)


def dollars(amount: float) -> str:
    """An amount as people read it: small ones with more places."""
    if 0 < amount < 0.0001:
        return "<$0.0001"
    whole, _point, places = f"{amount:.4f}".partition(".")
    return f"${whole}.{places[:2] if amount >= 1 else places[:2] + places[2:].rstrip('0')}"


def _over(state: BudgetState, limit: str, used: str, more: str) -> OverBudgetError:
    amount, advice = _(PERIODS[state.period], amount=limit), ADVICE[state.period]
    return OverBudgetError(_(OVER[state.place], limit=amount, used=used, more=more, advice=advice))


async def list_budgets(session: AsyncSession, viewer: Viewer, now: datetime) -> list[BudgetState]:
    """A person's own budgets, and those of their spaces and conversations."""
    spaces = select(Space.id).where(Space.owner_id == viewer.user_id, Space.status != "deleting")
    conversations = select(Conversation.id).where(Conversation.space_id.in_(spaces), Conversation.status != "deleting")
    own = or_(Budget.user_id == viewer.user_id, Budget.space_id.in_(spaces), Budget.conversation_id.in_(conversations))
    budgets = await session.scalars(select(Budget).where(own).order_by(Budget.created_at, Budget.id))
    return [await _state(session, budget, now) for budget in budgets]


async def budget_for(session: AsyncSession, viewer: Viewer, budget_id: UUID, now: datetime) -> BudgetState:
    """One budget, for who may change it."""
    budget = existing(await session.get(Budget, budget_id), _("budget"))
    await _check_is_theirs(session, viewer, budget)
    return await _state(session, budget, now)


async def set_budget(
    runtime: Runtime,
    viewer: Viewer,
    limits: BudgetLimits,
    *,
    conversation_id: UUID | None = None,
    space_id: UUID | None = None,
) -> Budget:
    """Limit a conversation with its branches, a space, or, without either, everything of this person; a budget of the
    same period is replaced."""
    _check(limits)
    async with runtime.database.write() as session:
        place = await _place_for(session, viewer, conversation_id, space_id)
        query = select(Budget).filter_by(**place, period=limits.period).with_for_update()
        budget: Budget | None = await session.scalar(query)
        if budget is None:
            budget = Budget(id=runtime.ids(), created_at=runtime.clock(), period=limits.period, **place)
            session.add(budget)
        budget.tokens, budget.cost, budget.warn_percent = limits.tokens, limits.cost, limits.warn_percent
        return budget


async def remove_budget(runtime: Runtime, viewer: Viewer, budget_id: UUID) -> None:
    """Limit nothing any more."""
    async with runtime.database.write() as session:
        budget = existing(await session.get(Budget, budget_id), _("budget"))
        await _check_is_theirs(session, viewer, budget)
        await session.execute(delete(Budget).where(Budget.id == budget_id))


async def _check_is_theirs(session: AsyncSession, viewer: Viewer, budget: Budget) -> None:
    if budget.user_id is None:
        try:
            await _place_for(session, viewer, budget.conversation_id, budget.space_id)
        except Refused as refused:
            raise not_found(_("budget")) if refused.code == "not_found" else refused from None
    elif budget.user_id != viewer.user_id:
        raise not_found(_("budget"))


async def _place_for(
    session: AsyncSession, viewer: Viewer, conversation_id: UUID | None, space_id: UUID | None
) -> dict[str, UUID]:
    """Where a budget counts; only the owner of the space decides that of a space or a conversation."""
    if conversation_id is not None:
        conversation, _access = await conversation_for(session, conversation_id, viewer, Access.ADMINISTER)
        return {"conversation_id": conversation.root_conversation_id or conversation.id}
    if space_id is not None:
        await space_for(session, space_id, viewer, Access.ADMINISTER)
        return {"space_id": space_id}
    return {"user_id": viewer.user_id}


async def _owner_of(session: AsyncSession, conversation_id: UUID) -> UUID:
    query = select(Space.owner_id).join(Conversation, Conversation.space_id == Space.id)
    return (await session.scalars(query.where(Conversation.id == conversation_id))).one()


async def _state(session: AsyncSession, budget: Budget, now: datetime) -> BudgetState:
    today = day_start(now)
    since = {"day": today, "month": today.replace(day=1)}.get(budget.period)
    return BudgetState(budget=budget, used=await used_since(session, _counts_for(budget), since=since, with_open=True))


def _counts_for(budget: Budget) -> ColumnElement[bool]:
    if budget.conversation_id is not None:
        return in_tree(budget.conversation_id)
    return UsageEntry.owner_id == budget.user_id if budget.space_id is None else in_space(budget.space_id)


def _check(limits: BudgetLimits) -> None:
    tokens, cost = limits.tokens, limits.cost
    if tokens is None and cost is None:
        raise Refused("invalid", _("Enter how many tokens or dollars may be used."))
    if not 0 <= (tokens or 0) <= MOST_TOKENS or not isfinite(cost or 0) or not 0 <= (cost or 0) <= HIGHEST_COST:
        raise Refused("invalid", _("A budget is a number that is not negative."))
    if not 0 <= limits.warn_percent <= 100:
        raise Refused("invalid", _("The warning is a percentage from 0 to 100."))
