"""Ids of copies: the same on every database, different for every copy."""

from hashlib import md5
from uuid import UUID, uuid4

import pytest
from sqlalchemy import literal, null, select

from tavernkit.playground.base.database.engine import create_engine
from tavernkit.playground.base.database.functions import derived_id

pytestmark = pytest.mark.anyio


async def test_both_databases_derive_the_same_id(database_url: str) -> None:
    whose, original = uuid4(), uuid4()
    engine = create_engine(database_url)
    try:
        async with engine.connect() as connection:
            found = (
                await connection.execute(
                    select(
                        derived_id(whose, original),
                        derived_id(original, whose),
                        derived_id(literal(whose), null()),
                    )
                )
            ).one()
    finally:
        await engine.dispose()
    pairs = ((whose, original), (original, whose))
    expected = [UUID(md5((a.hex + b.hex).encode(), usedforsecurity=False).hexdigest()) for a, b in pairs]
    assert list(found) == [*expected, None]
