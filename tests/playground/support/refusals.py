"""What a service refuses, caught."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

import pytest
from sqlalchemy import select

from tavernkit.playground.base.database.models import Base
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime

T = TypeVar("T")


async def refusal_of(action: Awaitable[object]) -> Refused:
    """The refusal that the action ends with."""
    with pytest.raises(Refused) as caught:
        await action
    return caught.value


async def outcome_of(action: Awaitable[T]) -> T | Refused:
    """What the action answers, or why it was refused; for several at once, of which some are."""
    try:
        return await action
    except Refused as refused:
        return refused


async def all_rows(runtime: Runtime) -> dict[str, list[str]]:
    """Everything that the database holds, by table: what is refused changes nothing of it."""
    async with runtime.database.read() as session:
        return {
            table.name: sorted(map(str, await session.execute(select(table)))) for table in Base.metadata.sorted_tables
        }
