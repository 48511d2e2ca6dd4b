"""What a person's stories have used, with their budgets and prices; and the tab of a conversation."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

import pydantic
from fastapi import APIRouter, Form, Query, Response
from fastapi.responses import RedirectResponse

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.api.usage import MOST_DAYS, PriceListDocument
from tavernkit.playground.edge.presenting.panel import IN_PANEL, panel_access, panel_answer, panel_page
from tavernkit.playground.edge.presenting.usage import (
    DAYS,
    EVERYTHING,
    LABELS,
    OWN_HEADINGS,
    own_usage_view,
    tree_usage_view,
)
from tavernkit.playground.edge.web.forms import Text, fresh_page, refusal_of, whole_number
from tavernkit.playground.edge.web.requests import PageCaller, Visitor
from tavernkit.playground.edge.web.uploads import ONE_FILE, one_file
from tavernkit.playground.story.usage.budgets import (
    MOST_TOKENS,
    BudgetLimits,
    BudgetPeriod,
    remove_budget,
    set_budget,
)
from tavernkit.playground.story.usage.prices import LONGEST_MODEL, TokenPrices, remove_own_price, set_own_prices
from tavernkit.playground.story.usage.queries import StoryHeading, StoryUsageBy

MOST_PRICE_BYTES = 1_000_000

Model = Annotated[str, Form(max_length=LONGEST_MODEL)]
Period = Annotated[BudgetPeriod, Form()]
OfSpace = Annotated[UUID | None, Query(alias="space")]

router = APIRouter(prefix="/usage")
panel_router = APIRouter(prefix="/conversations/{conversation_id}/panel/usage", dependencies=IN_PANEL)


@router.get("")
async def show(
    caller: PageCaller,
    by: StoryHeading = "day",
    days: Annotated[int, Query(ge=0, le=MOST_DAYS)] = 30,
    space_id: OfSpace = None,
) -> Response:
    return await _page(caller, by=by, days=days, space_id=space_id)


@router.post("/prices")
async def put_price(
    caller: PageCaller,
    model: Model,
    prompt_price: Text,
    completion_price: Text,
    cached_price: Text = "",
    cache_write_price: Text = "",
) -> Response:
    async def change() -> None:
        price = typed_price(model, prompt_price, completion_price, cached_price, cache_write_price)
        await set_own_prices(*caller, [price])

    return await _answer(caller, await refusal_of(change()), "prices")


@router.post("/prices/remove")
async def delete_price(caller: PageCaller, model: Model) -> Response:
    return await _answer(caller, await refusal_of(remove_own_price(*caller, model)), "prices")


@router.post("/prices/import", openapi_extra=ONE_FILE)
async def import_prices(caller: PageCaller) -> Response:
    async def change() -> None:
        file = await one_file(caller.request, max_bytes=MOST_PRICE_BYTES)
        await set_own_prices(*caller, read_prices(file))

    return await _answer(caller, await refusal_of(change()), "prices")


@router.post("/budgets")
async def put_budget(
    caller: PageCaller, period: Period, tokens: Text = "", cost: Text = "", warn_percent: Text = "80",
    space_id: Annotated[UUID | None, Form(alias="space")] = None,
) -> Response:  # fmt: skip
    async def change() -> None:
        await set_budget(*caller, typed_limits(period, tokens, cost, warn_percent), space_id=space_id)

    return await _answer(caller, await refusal_of(change()), "budgets", space_id)


@router.post("/budgets/{budget_id}/remove")
async def delete_budget(caller: PageCaller, budget_id: UUID) -> Response:
    return await _answer(caller, await refusal_of(remove_budget(*caller, budget_id)), "budgets")


@panel_router.get("")
async def tab(caller: PageCaller, conversation_id: UUID, by: StoryUsageBy = "message") -> Response:
    view = await tree_usage_view(*caller, conversation_id, by=by)
    return panel_page(caller.request, "usage", view)


@panel_router.post("/budgets")
async def limit(
    caller: PageCaller, conversation_id: UUID, period: Period, tokens: Text = "", cost: Text = "",
    warn_percent: Text = "80", place: Annotated[Literal["conversation", "space"], Form()] = "conversation",
) -> Response:  # fmt: skip
    async def change() -> None:
        limits = typed_limits(period, tokens, cost, warn_percent)
        if place == "conversation":
            await set_budget(*caller, limits, conversation_id=conversation_id)
            return
        _conversation, access = await caller.read(panel_access, conversation_id)
        await set_budget(*caller, limits, space_id=access.space.id)

    return await _tab_answer(caller, conversation_id, await refusal_of(change()))


@panel_router.post("/budgets/{budget_id}/remove")
async def free(caller: PageCaller, conversation_id: UUID, budget_id: UUID) -> Response:
    return await _tab_answer(caller, conversation_id, await refusal_of(remove_budget(*caller, budget_id)))


def typed_price(model: str, prompt: str, completion: str, cached: str, written: str) -> TokenPrices:
    """Prices out of the fields of a form."""
    return TokenPrices(
        model=model,
        prompt_price=typed_dollars(prompt) or 0,
        completion_price=typed_dollars(completion) or 0,
        cached_price=typed_dollars(cached),
        cache_write_price=typed_dollars(written),
    )


def typed_limits(period: BudgetPeriod, tokens: str, cost: str, warn_percent: str) -> BudgetLimits:
    """A budget out of the fields of a form."""
    return BudgetLimits(
        period=period,
        tokens=typed_tokens(tokens),
        cost=typed_dollars(cost),
        warn_percent=whole_number(warn_percent, name=_("Warning"), least=0, most=100),
    )


def typed_tokens(text: str, name: str = _("Tokens")) -> int | None:
    """A number of tokens out of a field; None where it is empty."""
    return whole_number(text, name=name, least=0, most=MOST_TOKENS) if text.strip() else None


def typed_dollars(text: str) -> float | None:
    """An amount out of a field; None where it is empty."""
    if not (text := text.strip().replace(",", ".")):
        return None
    try:
        return float(text)
    except ValueError:
        raise Refused("invalid", _("Enter an amount in dollars, such as 2.50.")) from None


def read_prices(file: bytes) -> list[TokenPrices]:
    """The prices in a file that was exported."""
    try:
        return PriceListDocument.model_validate_json(file).prices
    except pydantic.ValidationError:
        raise Refused("invalid", _("This is no file of prices. Export one to see what it looks like.")) from None


async def _page(
    caller: Visitor,
    refused: Refused | None = None,
    *,
    by: StoryUsageBy = "day",
    days: int = 30,
    space_id: UUID | None = None,
) -> Response:
    view = await own_usage_view(*caller, by=by, days=days, space_id=space_id)
    periods = {**DAYS, EVERYTHING: _("All")}
    return fresh_page("usage.html", refused, view=view, choices=OWN_HEADINGS, periods=periods, **LABELS)


async def _answer(caller: Visitor, refused: Refused | None, place: str, space_id: UUID | None = None) -> Response:
    if refused is not None:
        return await _page(caller, refused, space_id=space_id)
    query = "" if space_id is None else f"?by=conversation&space={space_id}"
    return RedirectResponse(f"/usage{query}#{place}", status_code=303)


async def _tab_answer(caller: Visitor, conversation_id: UUID, refused: Refused | None) -> Response:
    problem = refused.sentence if refused else ""
    view = await tree_usage_view(*caller, conversation_id, problem=problem)
    return panel_answer(caller.request, "usage", view, otherwise=view.panel.address, refused=refused)
