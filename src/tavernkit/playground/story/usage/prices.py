"""What models cost, in dollars for a million tokens: as administrators have entered it, and people for themselves."""

from __future__ import annotations

from math import isfinite
from typing import Any, TypeAlias
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, case, delete, func, select, union
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer, require_administrator
from tavernkit.playground.base.database.models import ModelPrice, OwnModelPrice, Provider, UsageEntry
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.values import Value

LONGEST_MODEL = 200
HIGHEST_PRICE = 1_000_000.0
PER_TOKENS = 1_000_000.0
MOST_PRICES = 1000

PriceRow: TypeAlias = ModelPrice | OwnModelPrice


class TokenPrices(Value, frozen=True, kw_only=True):
    """What the tokens of a model cost; None is what other tokens of the prompt cost."""

    model: str
    prompt_price: float
    completion_price: float
    cached_price: float | None = None
    cache_write_price: float | None = None

    @property
    def known(self) -> tuple[float, ...]:
        prices = (self.prompt_price, self.completion_price, self.cached_price, self.cache_write_price)
        return tuple(price for price in prices if price is not None)


def cost_of_entry() -> ColumnElement[float | None]:
    """What a question has cost: what its provider has said, else by the price of its model, joined by `with_prices`;
    null where neither is known."""
    prompt, completion = _price("prompt_price"), _price("completion_price")
    cached, written = (func.coalesce(tokens, 0) for tokens in (UsageEntry.cached_tokens, UsageEntry.cache_write_tokens))
    # Not every server counts what was cached among the tokens of the prompt.
    others = case((cached + written > UsageEntry.prompt_tokens, 0), else_=UsageEntry.prompt_tokens - cached - written)
    priced = (
        others * prompt
        + cached * func.coalesce(_price("cached_price"), prompt)
        + written * func.coalesce(_price("cache_write_price"), prompt)
        + UsageEntry.completion_tokens * completion
    )
    return func.coalesce(UsageEntry.cost, priced / PER_TOKENS)


def _price(name: str) -> ColumnElement[float | None]:
    own: ColumnElement[float | None] = getattr(OwnModelPrice, name)
    return case((OwnModelPrice.model.is_not(None), own), else_=getattr(ModelPrice, name))


def with_prices(query: Select[Any]) -> Select[Any]:
    """A query of entries, with the prices of their models: those of their owner, and those of the site."""
    own = and_(OwnModelPrice.user_id == UsageEntry.owner_id, OwnModelPrice.model == UsageEntry.model)
    return query.outerjoin(ModelPrice, ModelPrice.model == UsageEntry.model).outerjoin(OwnModelPrice, own)


async def price_for(session: AsyncSession, owner_id: UUID, model: str) -> PriceRow | None:
    """What a model costs somebody."""
    own = await session.get(OwnModelPrice, (owner_id, model))
    return own or await session.get(ModelPrice, model)


async def list_prices(session: AsyncSession) -> list[ModelPrice]:
    """All prices of the site, by the name of the model."""
    return list(await session.scalars(select(ModelPrice).order_by(ModelPrice.model)))


async def list_own_prices(session: AsyncSession, viewer: Viewer) -> list[OwnModelPrice]:
    """The prices that somebody has entered for themselves."""
    query = select(OwnModelPrice).where(OwnModelPrice.user_id == viewer.user_id)
    return list(await session.scalars(query.order_by(OwnModelPrice.model)))


async def unpriced_models(session: AsyncSession, viewer: Viewer | None = None) -> list[str]:
    """Models of providers, and those that somebody has used, which have no price yet."""
    used = select(UsageEntry.model)
    if viewer is not None:
        used = used.where(UsageEntry.owner_id == viewer.user_id)
    named = union(select(Provider.model), used).subquery()
    known = select(ModelPrice.model)
    query = select(named.c.model).where(named.c.model != "", named.c.model.not_in(known))
    if viewer is not None:
        own = select(OwnModelPrice.model).where(OwnModelPrice.user_id == viewer.user_id)
        query = query.where(named.c.model.not_in(own))
    return list(await session.scalars(query.order_by(named.c.model).limit(MOST_PRICES)))


async def set_price(runtime: Runtime, viewer: Viewer, price: TokenPrices) -> ModelPrice:
    """Say what a model costs, for replies of before as well."""
    require_administrator(viewer)
    return (await set_prices(runtime, viewer, [price]))[0]


async def set_prices(runtime: Runtime, viewer: Viewer, prices: list[TokenPrices]) -> list[ModelPrice]:
    """Say what models cost, all of them or none."""
    require_administrator(viewer)
    _check(prices)
    now = runtime.clock()
    async with runtime.database.write() as session:
        return [await session.merge(ModelPrice(**_fields(price), updated_at=now)) for price in prices]


async def set_own_prices(runtime: Runtime, viewer: Viewer, prices: list[TokenPrices]) -> list[OwnModelPrice]:
    """Say what models cost in this person's own stories, all of them or none."""
    _check(prices)
    now = runtime.clock()
    async with runtime.database.write() as session:
        query = select(func.count()).select_from(OwnModelPrice).where(OwnModelPrice.user_id == viewer.user_id)
        if (await session.scalar(query) or 0) + len(prices) > 2 * MOST_PRICES:
            raise Refused("too_many", _("At most {most} prices can be kept.", most=2 * MOST_PRICES))
        return [
            await session.merge(OwnModelPrice(user_id=viewer.user_id, **_fields(price), updated_at=now))
            for price in prices
        ]


async def remove_price(runtime: Runtime, viewer: Viewer, model: str) -> None:
    """Forget what a model costs."""
    require_administrator(viewer)
    await _remove(runtime, ModelPrice, ModelPrice.model == model, model)


async def remove_own_price(runtime: Runtime, viewer: Viewer, model: str) -> None:
    """Forget what a model costs this person; the price of the site counts again."""
    is_own = and_(OwnModelPrice.user_id == viewer.user_id, OwnModelPrice.model == model)
    await _remove(runtime, OwnModelPrice, is_own, model)


async def _remove(runtime: Runtime, table: type[PriceRow], which: ColumnElement[bool], model: str) -> None:
    if not model.isprintable():
        raise not_found(_("price"))
    async with runtime.database.write() as session:
        if (await session.scalars(delete(table).where(which).returning(table.model))).one_or_none() is None:
            raise not_found(_("price"))


def _fields(price: TokenPrices) -> dict[str, Any]:
    return {**{name: getattr(price, name) for name in price.__struct_fields__}, "model": price.model.strip()}


def _check(prices: list[TokenPrices]) -> None:
    if len(prices) > MOST_PRICES:
        raise Refused("too_many", _("At most {most} prices are taken at once.", most=MOST_PRICES))
    for price in prices:
        model = price.model.strip()
        if not model or len(model) > LONGEST_MODEL or not model.isprintable():
            raise Refused("invalid", _("Enter the name of the model as its provider has it."))
        if not all(isfinite(one) and 0 <= one <= HIGHEST_PRICE for one in price.known):
            raise Refused("invalid", _("A price is a number from 0 to {most}.", most=int(HIGHEST_PRICE)))
