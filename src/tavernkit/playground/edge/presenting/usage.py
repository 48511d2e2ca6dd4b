"""What a person's stories have used, the budgets, and the prices, as pages show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias
from urllib.parse import urlencode
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, OwnModelPrice, Space
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import listed
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.panel import PanelView, panel_access, panel_view
from tavernkit.playground.story.access.access import Access, space_for
from tavernkit.playground.story.usage.budgets import (
    PERIODS,
    BudgetPeriod,
    BudgetState,
    dollars,
    list_budgets,
    states_in,
    token_words,
)
from tavernkit.playground.story.usage.prices import list_own_prices, unpriced_models
from tavernkit.playground.story.usage.queries import (
    StoryUsageBy,
    UsageBy,
    UsageLine,
    UsageTable,
    story_usage,
)
from tavernkit.values import Value

PageUsageBy: TypeAlias = UsageBy | StoryUsageBy

HEADINGS: Mapping[PageUsageBy, str] = {
    "user": _("User"),
    "space": _("Space"),
    "conversation": _("Conversation"),
    "branch": _("Branch"),
    "message": _("Message"),
    "character": _("Character"),
    "model": _("Model"),
    "kind": _("Kind"),
    "day": _("Day"),
}
OWN_HEADINGS: Sequence[StoryUsageBy] = ("day", "space", "conversation", "character", "model", "kind")
TREE_HEADINGS: Sequence[StoryUsageBy] = ("message", "branch", "model", "kind", "day")
KINDS: Mapping[str, str] = {
    "reply": _("Replies"),
    "step": _("Pipeline steps"),
    "suggestion": _("Suggestions"),
    "dry_run": _("Dry runs"),
    "expression": _("Expressions"),
}
DAYS: Mapping[int, str] = {1: _("Today"), 7: _("7 days"), 30: _("30 days"), 365: _("365 days")}
EVERYTHING = 0
PERIOD_NAMES: Mapping[BudgetPeriod, str] = {"day": _("Day"), "month": _("Month"), "total": _("Total")}
_PLACES: Mapping[PageUsageBy, str] = {
    "user": "/admin/users/{id}",
    "space": "/spaces/{id}",
    "conversation": "/conversations/{id}",
    "branch": "/conversations/{id}",
    "character": "/characters/{id}",
    "message": "/messages/{id}",
}


class BudgetView(Value, frozen=True, kw_only=True):
    """A budget in words; `name` is where it counts."""

    id: UUID
    name: str
    address: str
    limit: str
    used: str
    percent: int
    warn_percent: int
    is_low: bool
    is_spent: bool


class OwnUsageView(Value, frozen=True, kw_only=True):
    """The usage of a person's own stories, or of one of their spaces."""

    table: UsageTable
    by: StoryUsageBy
    days: int
    space: Space | None
    budgets: tuple[BudgetView, ...]
    prices: list[OwnModelPrice]
    unpriced: list[str]

    @property
    def query(self) -> str:
        """What the address says of whose usage it is."""
        return "" if self.space is None else f"&space={self.space.id}"

    @property
    def export(self) -> str:
        """The address of the same as a file, but for its format."""
        days = {} if self.days == EVERYTHING else {"days": self.days}
        return f"/api/v1/usage/export?{urlencode({'by': self.by, **days})}{self.query}"


class TreeUsageView(Value, frozen=True, kw_only=True):
    """The usage of a conversation with its branches, and of this branch from the root on."""

    panel: PanelView
    table: UsageTable
    by: StoryUsageBy
    branch: UsageLine
    budgets: tuple[BudgetView, ...]
    may_limit: bool

    @property
    def labels(self) -> Mapping[str, object]:
        return LABELS

    @property
    def choices(self) -> Sequence[StoryUsageBy]:
        return TREE_HEADINGS

    @property
    def export(self) -> str:
        """The address of the same as a file, but for its format."""
        query = urlencode({"by": self.by, "conversation": self.panel.conversation.id})
        return f"/api/v1/usage/export?{query}"


def line_name(by: PageUsageBy, line: UsageLine) -> str:
    """What a line is called."""
    match by:
        case "kind":
            return KINDS.get(line.name, line.name)
        case "message":
            return _("Message {number}", number=line.name) if line.id is not None else _("Everything else")
        case _:
            return shown_name(line.name) if line.name else _("None")


def line_address(by: PageUsageBy, line: UsageLine) -> str:
    """The page of what a line is about; empty where there is none."""
    return "" if line.id is None or by not in _PLACES else _PLACES[by].format(id=line.id)


def cost_of(line: UsageLine) -> str:
    """What is known of the cost of a line."""
    if not line.requests:
        return ""
    if line.unpriced == line.requests:
        return _("unknown")
    return f"{dollars(line.cost)} + ?" if line.unpriced else dollars(line.cost)


LABELS: Mapping[str, object] = {
    "headings": HEADINGS,
    "line_name": line_name,
    "line_address": line_address,
    "cost_of": cost_of,
    "period_names": PERIOD_NAMES,
}
"""What the templates call things."""


async def own_usage_view(
    runtime: Runtime, viewer: Viewer, *, by: StoryUsageBy, days: int, space_id: UUID | None
) -> OwnUsageView:
    """What a person's stories have used."""
    now = runtime.clock()
    async with runtime.database.read() as session:
        space = None
        if space_id is not None:
            space = (await space_for(session, space_id, viewer, Access.ADMINISTER, even_archived=True)).space
        table = await story_usage(session, viewer, now, by=by, days=days or None, space_id=space_id)
        states = await list_budgets(session, viewer, now)
        return OwnUsageView(
            table=table,
            by=by,
            days=days,
            space=space,
            budgets=await _budget_views(session, states),
            prices=await list_own_prices(session, viewer),
            unpriced=await unpriced_models(session, viewer),
        )


async def tree_usage_view(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, by: StoryUsageBy = "message", problem: str = ""
) -> TreeUsageView:
    """What a conversation with its branches has used."""
    now = runtime.clock()
    async with runtime.database.read() as session:
        conversation, access = await panel_access(session, viewer, conversation_id)
        branches = await story_usage(session, viewer, now, by="branch", conversation_id=conversation_id)
        table = branches
        if by != "branch":
            table = await story_usage(session, viewer, now, by=by, conversation_id=conversation_id)
        own = next((line for line in branches.lines if line.id == conversation_id), UsageLine())
        return TreeUsageView(
            panel=panel_view(conversation, access, "usage", problem),
            table=UsageTable(lines=table.lines, total=branches.total),
            by=by,
            branch=own,
            budgets=await _budget_views(session, await states_in(session, conversation_id, now)),
            may_limit=access.level >= Access.ADMINISTER,
        )


async def _budget_views(session: AsyncSession, states: Sequence[BudgetState]) -> tuple[BudgetView, ...]:
    spaces = select(Space.id, Space.name).where(Space.id.in_({state.budget.space_id for state in states}))
    roots = {state.budget.conversation_id for state in states}
    if not states:
        return ()
    names: dict[UUID, str] = {row.id: row.name for row in await session.execute(spaces)}
    conversations = await session.scalars(select(Conversation).where(Conversation.id.in_(roots)))
    names |= {one.id: one.name for one in conversations}
    return tuple(_budget_view(state, names) for state in states)


def _budget_view(state: BudgetState, names: Mapping[UUID, str]) -> BudgetView:
    budget, limits, used = state.budget, [], []
    if budget.tokens is not None:
        limits.append(token_words(budget.tokens))
        used.append(token_words(state.used.tokens))
    if budget.cost is not None:
        limits.append(dollars(budget.cost))
        used.append(dollars(state.used.cost))
    match state.place:
        case "conversation":
            name, address = _("Conversation"), f"/conversations/{budget.conversation_id}/panel/usage"
        case "space":
            name, address = _("Space"), f"/usage?by=conversation&space={budget.space_id}"
        case "person":
            name, address = _("Everything of the owner"), "/usage"
    own = names.get(budget.conversation_id or budget.space_id or budget.id)
    return BudgetView(
        id=budget.id,
        name=name if own is None else _("{kind}: {name}", kind=name, name=shown_name(own)),
        address=address,
        limit=_(PERIODS[state.period], amount=listed(limits)),
        used=listed(used),
        percent=state.percent,
        warn_percent=budget.warn_percent,
        is_low=state.is_low,
        is_spent=state.percent >= 100,
    )
