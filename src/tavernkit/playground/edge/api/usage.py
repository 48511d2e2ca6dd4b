"""What a person's stories have used, what models cost them, and budgets, over the API."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import Field

from tavernkit.playground.base.schemas import Document, StrictModel
from tavernkit.playground.edge.api.files import attachment, json_download
from tavernkit.playground.edge.api.requests import ApiCaller, documented
from tavernkit.playground.story.usage.budgets import (
    HIGHEST_COST,
    MOST_TOKENS,
    BudgetLimits,
    BudgetPeriod,
    BudgetPlace,
    BudgetState,
    budget_for,
    list_budgets,
    remove_budget,
    set_budget,
)
from tavernkit.playground.story.usage.prices import (
    HIGHEST_PRICE,
    LONGEST_MODEL,
    MOST_PRICES,
    PriceRow,
    TokenPrices,
    list_own_prices,
    remove_own_price,
    set_own_prices,
)
from tavernkit.playground.story.usage.queries import StoryUsageBy, UsageTable, story_usage

MOST_DAYS = 366
UNSAFE = ("=", "+", "-", "@", "\t", "\r")
"""What spreadsheets take for the beginning of a formula."""


class UsageLineOut(Document):
    """What was used under one heading."""

    id: UUID | None = Field(description="Of the user, space, conversation, branch, message or character.")
    name: str
    requests: int = Field(description="Questions to models, of whatever kind.")
    replies: int = Field(description="How many of them were for replies.")
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = Field(description="How many of the prompt's tokens were read from a cache, where it is said.")
    estimated_tokens: int = Field(description="How many of all tokens were counted here: no provider has said them.")
    cost: float = Field(description="Dollars, as far as it is known.")
    unpriced: int = Field(description="How many of the requests have no known cost.")
    since: datetime | None = Field(description="When the first of them was made.")


class UsageOut(Document):
    """What was used, line by line, and together. Of branches, what they share counts once in the total."""

    items: list[UsageLineOut]
    total: UsageLineOut

    @classmethod
    def of_table(cls, table: UsageTable) -> UsageOut:
        return cls(items=[UsageLineOut.of_row(line) for line in table.lines], total=UsageLineOut.of_row(table.total))


class PriceDocument(StrictModel):
    """What a model costs: dollars for a million tokens."""

    model: str = Field(min_length=1, max_length=LONGEST_MODEL, description="Its name as the provider has it.")
    prompt_price: float = Field(ge=0, le=HIGHEST_PRICE, allow_inf_nan=False)
    completion_price: float = Field(ge=0, le=HIGHEST_PRICE, allow_inf_nan=False)
    cached_price: float | None = Field(
        default=None,
        ge=0,
        le=HIGHEST_PRICE,
        allow_inf_nan=False,
        description="Of tokens that were read from a cache; null is the price of the prompt.",
    )
    cache_write_price: float | None = Field(
        default=None,
        ge=0,
        le=HIGHEST_PRICE,
        allow_inf_nan=False,
        description="Of tokens that were written to a cache; null is the price of the prompt.",
    )


class PriceListDocument(StrictModel):
    """Prices of several models, as they are exported."""

    items: list[PriceDocument] = Field(max_length=MOST_PRICES)

    @property
    def prices(self) -> list[TokenPrices]:
        return [TokenPrices(**item.model_dump()) for item in self.items]


class PriceOut(Document):
    """What a model costs."""

    model: str
    prompt_price: float
    completion_price: float
    cached_price: float | None
    cache_write_price: float | None
    updated_at: datetime


class PricesOut(Document):
    """All prices."""

    items: list[PriceOut]

    @classmethod
    def of_rows(cls, rows: Sequence[PriceRow]) -> PricesOut:
        return cls(items=[PriceOut.of_row(row) for row in rows])


class BudgetDocument(StrictModel):
    """How much may be used; without a conversation or a space, in everything that you own."""

    conversation_id: UUID | None = Field(default=None, description="With all of its branches.")
    space_id: UUID | None = None
    period: BudgetPeriod = Field(description="A day or a month in UTC, or everything.")
    tokens: int | None = Field(default=None, ge=0, le=MOST_TOKENS, description="Null is no limit.")
    cost: float | None = Field(default=None, ge=0, le=HIGHEST_COST, allow_inf_nan=False, description="Dollars.")
    warn_percent: int = Field(default=80, ge=0, le=100, description="From which share on people are warned.")


class BudgetOut(Document):
    """A budget, and what is used of it with what is being answered at this moment."""

    id: UUID
    place: BudgetPlace
    conversation_id: UUID | None
    space_id: UUID | None
    period: BudgetPeriod
    tokens: int | None
    cost: float | None
    warn_percent: int
    used_tokens: int
    used_cost: float
    percent: int
    is_low: bool = Field(description="Whether people are warned.")

    @classmethod
    def of_state(cls, state: BudgetState) -> BudgetOut:
        return cls.of_row(
            state.budget,
            place=state.place,
            used_tokens=state.used.tokens,
            used_cost=state.used.cost,
            percent=state.percent,
            is_low=state.is_low,
        )


class BudgetsOut(Document):
    """The budgets of a person, and of their spaces and conversations."""

    items: list[BudgetOut]


By = Annotated[StoryUsageBy, Query(description="Branches and messages are those of a conversation.")]
Days = Annotated[int | None, Query(ge=1, le=MOST_DAYS, description="Today and the days before; without it, all.")]
OfSpace = Annotated[UUID | None, Query(alias="space", description="Of this space alone.")]
OfConversation = Annotated[
    UUID | None, Query(alias="conversation", description="Of this conversation and its branches alone.")
]
FileFormat = Literal["csv", "json"]

router = APIRouter(tags=["usage"], responses=documented())


@router.get("/usage", summary="What your stories have used, added up by what you choose")
async def show_usage(
    caller: ApiCaller,
    by: By = "day",
    days: Days = None,
    space_id: OfSpace = None,
    conversation_id: OfConversation = None,
) -> UsageOut:
    table = await caller.read(
        story_usage,
        caller.runtime.clock(),
        by=by,
        days=days,
        space_id=space_id,
        conversation_id=conversation_id,
    )
    return UsageOut.of_table(table)


@router.get("/usage/export", summary="The same as a file", responses={200: {"content": {"text/csv": {}}}})
async def export_usage(
    caller: ApiCaller,
    by: By = "day",
    days: Days = None,
    space_id: OfSpace = None,
    conversation_id: OfConversation = None,
    format: FileFormat = "csv",
) -> Response:
    shown = await show_usage(caller, by, days, space_id, conversation_id)
    name = f"usage by {by}"
    if format == "json":
        return json_download(name, shown.model_dump(mode="json"))
    file = io.StringIO()
    writer = csv.DictWriter(file, tuple(UsageLineOut.model_fields))
    writer.writeheader()
    writer.writerows({**line.model_dump(mode="json"), "name": _plain(line.name)} for line in shown.items)
    return Response(file.getvalue(), media_type="text/csv; charset=utf-8", headers=attachment(name, "csv"))


@router.get("/prices", summary="What models cost you, where you have said so")
async def show_prices(caller: ApiCaller) -> PricesOut:
    return PricesOut.of_rows(await caller.read(list_own_prices))


@router.put("/prices", summary="Say what models cost you, also for what was used before; others are left as they are")
async def put_prices(caller: ApiCaller, prices: PriceListDocument) -> PricesOut:
    return PricesOut.of_rows(await set_own_prices(*caller, prices.prices))


@router.delete("/prices", status_code=204, summary="Let the site's price of a model count for you again")
async def delete_price(caller: ApiCaller, model: Annotated[str, Query(max_length=LONGEST_MODEL)]) -> None:
    await remove_own_price(*caller, model)


@router.get("/prices/export", summary="Your prices as a file, which `PUT /prices` takes")
async def export_prices(caller: ApiCaller) -> Response:
    return price_file(await caller.read(list_own_prices))


@router.get("/budgets", summary="Your budgets, and those of your spaces and conversations")
async def show_budgets(caller: ApiCaller) -> BudgetsOut:
    states = await caller.read(list_budgets, caller.runtime.clock())
    return BudgetsOut(items=[BudgetOut.of_state(state) for state in states])


@router.put("/budgets", summary="Say how much may be used; a budget of the same place and period is replaced")
async def put_budget(caller: ApiCaller, budget: BudgetDocument) -> BudgetOut:
    fields = budget.model_dump()
    place = {name: fields.pop(name) for name in ("conversation_id", "space_id")}
    row = await set_budget(*caller, BudgetLimits(**fields), **place)
    return BudgetOut.of_state(await caller.read(budget_for, row.id, caller.runtime.clock()))


@router.delete("/budgets/{budget_id}", status_code=204, summary="Remove a budget")
async def delete_budget(caller: ApiCaller, budget_id: UUID) -> None:
    await remove_budget(*caller, budget_id)


def price_file(rows: Sequence[PriceRow]) -> Response:
    """Prices as a file."""
    items = [{name: getattr(row, name) for name in PriceDocument.model_fields} for row in rows]
    return json_download("prices", {"items": items})


def _plain(name: str) -> str:
    """A name that no spreadsheet takes for a formula."""
    return f"'{name}" if name.startswith(UNSAFE) else name
