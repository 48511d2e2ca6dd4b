"""How often somebody may try to sign in, counted in the database, so that several servers count together.

A browser that has signed in to the account before counts for itself: no number of strangers uses up its tries.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address, ip_network
from math import ceil
from typing import Any
from uuid import UUID

from sqlalchemy import case, delete, or_, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.tokens import fingerprint
from tavernkit.playground.base.database.models import SignInTries
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.waiting import plain_wait
from tavernkit.values import Value

_SWEPT_AT_ONCE = 100


class Limit(Value, frozen=True):
    """So many tries in a window of time that begins with the first of them."""

    amount: int
    window: timedelta


PER_ADDRESS = Limit(10, timedelta(minutes=3))
# More than from one address, so that a stranger with one cannot keep others out of the account.
PER_ACCOUNT = Limit(30, timedelta(minutes=15))
# As many in a day as all strangers together have at an account.
PER_BROWSER = Limit(10, timedelta(minutes=5))


class Counter(Value, frozen=True, kw_only=True):
    """What tries are counted by."""

    key: str
    limit: Limit


def by_address(address: str) -> Counter:
    return Counter(key=fingerprint(f"address {network_of(address)}"), limit=PER_ADDRESS)


def by_account(account: str) -> Counter:
    """Everybody who is not known at an account, or at a name that nobody has."""
    return Counter(key=fingerprint(f"account {account}"), limit=PER_ACCOUNT)


def by_browser(id: UUID | None) -> Counter:
    """One browser that is known at an account, or one session."""
    return Counter(key=fingerprint(f"browser {id}"), limit=PER_BROWSER)


async def count_try(runtime: Runtime, *counters: Counter) -> None:
    """Count one more try, before anything is checked, and refuse when it is one too many.

    The count is kept either way. The counters are asked in their order; those behind one that refuses do not count.
    """
    now = runtime.clock()
    refused: Refused | None = None
    has_begun = False
    async with runtime.database.write() as session:
        for counter in counters:
            count, ends_at = await _count(session, counter, now)
            has_begun = has_begun or count == 1
            if count > counter.limit.amount:
                refused = _refusal(counter.limit, ends_at - now)
                break
    if has_begun:
        await _sweep(runtime, now)
    if refused is not None:
        raise refused


async def forgive(session: AsyncSession, counter: Counter) -> None:
    """Forget the tries before one that was right.

    Those of an address stay: somebody with one account could otherwise try out another for ever.
    """
    await session.execute(delete(SignInTries).where(SignInTries.key == counter.key))


async def _count(session: AsyncSession, counter: Counter, now: datetime) -> tuple[int, datetime]:
    """One statement, so that of tries at the same moment, on whichever servers, each is counted."""
    window = counter.limit.window
    insert: Any = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    row = insert(SignInTries).values(key=counter.key, count=1, ends_at=now + window)
    # No window ends that late, unless it began before a clock was set back.
    is_over = or_(SignInTries.ends_at <= now, SignInTries.ends_at > now + 2 * window)
    counted = row.on_conflict_do_update(
        index_elements=[SignInTries.key],
        set_={
            "count": case((is_over, row.excluded.count), else_=SignInTries.count + 1),
            "ends_at": case((is_over, row.excluded.ends_at), else_=SignInTries.ends_at),
        },
    ).returning(SignInTries.count, SignInTries.ends_at)
    count, ends_at = (await session.execute(counted)).one()
    return count, ends_at


async def _sweep(runtime: Runtime, now: datetime) -> None:
    """Remove some counts whose time is over: more than are added, and none that somebody is just counting on."""
    async with runtime.database.write() as session:
        over = select(SignInTries.key).where(SignInTries.ends_at <= now).limit(_SWEPT_AT_ONCE)
        keys = (await session.scalars(over.with_for_update(skip_locked=True))).all()
        if keys:
            await session.execute(delete(SignInTries).where(SignInTries.key.in_(keys)))


def _refusal(limit: Limit, left: timedelta) -> Refused:
    seconds = max(1, ceil(min(left, limit.window).total_seconds()))
    sentence = _("Too many sign-in attempts. Wait {time} and try again.", time=plain_wait(seconds))
    return Refused("too_many_tries", sentence, retry_after=seconds)


def network_of(address: str) -> str:
    """Somebody with IPv6 has a whole network of addresses to try from."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        mapped = parsed.ipv4_mapped
        return str(mapped or ip_network((parsed, 64), strict=False))
    return address
