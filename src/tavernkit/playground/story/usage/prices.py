"""What models cost, as administrators have entered it: dollars for a million tokens."""

from __future__ import annotations

from math import isfinite

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer, require_administrator
from tavernkit.playground.base.database.models import ModelPrice, Provider, Run
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime

LONGEST_MODEL = 200
HIGHEST_PRICE = 1_000_000.0
PER_TOKENS = 1_000_000.0


def cost_of_run() -> ColumnElement[float | None]:
    """What a run has cost: what its provider has said, else by the price of its model, which must be outer joined;
    null where neither is known."""
    priced = Run.prompt_tokens * ModelPrice.prompt_price + Run.completion_tokens * ModelPrice.completion_price
    return func.coalesce(Run.cost, priced / PER_TOKENS)


async def list_prices(session: AsyncSession) -> list[ModelPrice]:
    """All prices, by the name of the model."""
    return list(await session.scalars(select(ModelPrice).order_by(ModelPrice.model)))


async def unpriced_models(session: AsyncSession) -> list[str]:
    """Models of providers that have no price yet."""
    known = select(ModelPrice.model)
    query = select(Provider.model).where(Provider.model != "", Provider.model.not_in(known)).distinct()
    return list(await session.scalars(query.order_by(Provider.model)))


async def set_price(
    runtime: Runtime, viewer: Viewer, model: str, *, prompt_price: float, completion_price: float
) -> ModelPrice:
    """Say what a model costs, for replies of before as well."""
    require_administrator(viewer)
    model = model.strip()
    if not model or len(model) > LONGEST_MODEL or not model.isprintable():
        raise Refused("invalid", _("Enter the name of the model as its provider has it."))
    if not all(isfinite(price) and 0 <= price <= HIGHEST_PRICE for price in (prompt_price, completion_price)):
        raise Refused("invalid", _("A price is a number from 0 to {most}.", most=int(HIGHEST_PRICE)))
    async with runtime.database.write() as session:
        return await session.merge(
            ModelPrice(
                model=model,
                prompt_price=prompt_price,
                completion_price=completion_price,
                updated_at=runtime.clock(),
            )
        )


async def remove_price(runtime: Runtime, viewer: Viewer, model: str) -> None:
    """Forget what a model costs."""
    require_administrator(viewer)
    if not model.isprintable():
        raise not_found(_("price"))
    async with runtime.database.write() as session:
        gone = await session.scalars(delete(ModelPrice).where(ModelPrice.model == model).returning(ModelPrice.model))
        if gone.one_or_none() is None:
            raise not_found(_("price"))
