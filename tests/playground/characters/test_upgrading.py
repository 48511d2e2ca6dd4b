"""Characters from before there was a search are found by it."""

import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.engine import create_engine
from tavernkit.playground.base.database.migrate import upgrade
from tavernkit.playground.base.database.models import Character
from tavernkit.playground.story.characters.cards import fill, stored_card
from tests.playground.database.first_schema import fill_first_schema, migrate_to

pytestmark = pytest.mark.anyio


async def test_an_upgrade_writes_what_an_import_would(empty_database_url: str) -> None:
    await migrate_to(empty_database_url, "0001")
    await fill_first_schema(empty_database_url)
    await upgrade(empty_database_url)
    engine = create_engine(empty_database_url)
    async with AsyncSession(engine) as session:
        row = (await session.scalars(select(Character))).one()
        written = Character()
        fill(written, stored_card(row).with_(character=stored_card(row).character.with_(tags=tuple(row.tags))))
        assert row.name_key == "ottoline"
        assert (row.name_key, row.search_text) == (written.name_key, written.search_text)
    await engine.dispose()
