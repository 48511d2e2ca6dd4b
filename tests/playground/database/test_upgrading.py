"""A database of the first released version becomes today's with everything in it."""

from typing import Any

import pytest
from sqlalchemy import Connection, event, inspect, select, text
from sqlalchemy.orm import Session

from tavernkit.playground.base.database.base import Base
from tavernkit.playground.base.database.engine import create_engine
from tavernkit.playground.base.database.migrate import upgrade
from tavernkit.playground.base.database.models import Character, Conversation, Message, MessageSwipe
from tests.playground.database.first_schema import CONTENTS, fill_first_schema, migrate_to

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def test_an_upgrade_from_the_first_version_keeps_all_data(empty_database_url: str) -> None:
    await migrate_to(empty_database_url, "0001")
    await fill_first_schema(empty_database_url)
    before = await inside(empty_database_url, rows)
    await upgrade(empty_database_url)
    after = await inside(empty_database_url, rows)
    for table, kept in before.items():
        assert len(kept) == len(CONTENTS[table])
        for id, row in kept.items():
            # The texts are elsewhere now; that they are the same is looked at below.
            assert {name: after[table][id][name] for name in row if name != "content"} == {
                name: value for name, value in row.items() if name != "content"
            }, table
    await inside(empty_database_url, the_models_read_what_was_there)


def the_models_read_what_was_there(connection: Connection) -> None:
    with Session(connection) as session:
        messages = session.scalars(select(Message).order_by(Message.seq)).all()
        assert [message.content for message in messages] == ["Mind the cat. 🐈", "Who is Mr Abel?", "Two words."]
        swipes = session.scalars(select(MessageSwipe).order_by(MessageSwipe.id)).all()
        assert [swipe.content for swipe in swipes] == ["Mind the cat. 🐈", "One word.", "Two words."]
        by_id = {swipe.id: swipe for swipe in swipes}
        for message in messages:
            if message.active_swipe_id is not None:
                assert by_id[message.active_swipe_id].text_id == message.text_id
        conversation = session.scalars(select(Conversation)).one()
        assert (conversation.messages_count, conversation.last_seq, conversation.status) == (2, 3, "ready")
        assert [message.trashed_at is not None for message in messages] == [False, True, False]
        character = session.scalars(select(Character)).one()
        assert (character.data["data"]["name"], character.tags, character.version) == ("Ottoline", ["kind"], 1)
        assert (character.own_tags, character.file, character.trashed_at) == ([], {}, None)


async def test_the_migrations_make_exactly_what_the_models_say(empty_database_url: str) -> None:
    """Columns, nullability, indexes, uniqueness, checks and foreign keys, on each database in its own words."""
    await upgrade(empty_database_url)
    migrated = await inside(empty_database_url, shape)

    def make_from_models(connection: Connection) -> None:
        cascade = " CASCADE" if connection.dialect.name == "postgresql" else ""
        connection.exec_driver_sql("DROP TABLE IF EXISTS search_index")
        for name in inspect(connection).get_table_names():
            connection.exec_driver_sql(f'DROP TABLE "{name}"{cascade}')
        Base.metadata.create_all(connection)

    await inside(empty_database_url, make_from_models)
    modelled = await inside(empty_database_url, shape)
    assert set(migrated) == set(modelled) == set(Base.metadata.tables)
    for table in modelled:
        assert migrated[table] == modelled[table], table


def shape(connection: Connection) -> dict[str, dict[str, Any]]:
    looking = inspect(connection)
    return {
        name: {
            "columns": {each["name"]: (str(each["type"]), each["nullable"]) for each in looking.get_columns(name)},
            "key": looking.get_pk_constraint(name)["constrained_columns"],
            "indexes": sorted(
                (str(each["name"]), tuple(each["column_names"]), bool(each["unique"]), where(each))
                for each in looking.get_indexes(name)
            ),
            "unique": sorted(
                (str(each["name"]), tuple(each["column_names"])) for each in looking.get_unique_constraints(name)
            ),
            "checks": sorted((str(each["name"]), each["sqltext"]) for each in looking.get_check_constraints(name)),
            "foreign keys": sorted(
                (
                    str(each["name"]),
                    tuple(each["constrained_columns"]),
                    each["referred_table"],
                    tuple(each["referred_columns"]),
                    each.get("options", {}).get("ondelete", ""),
                )
                for each in looking.get_foreign_keys(name)
            ),
        }
        for name in looking.get_table_names()
        # The index is a table of SQLite's own, with others behind it.
        if name != "alembic_version" and not name.startswith("search_index")
    }


def where(index: Any) -> str:
    """The condition of an index that holds only some rows."""
    options = index.get("dialect_options", {})
    return str(options.get("sqlite_where", options.get("postgresql_where", "")))


def rows(connection: Connection) -> dict[str, dict[Any, dict[str, Any]]]:
    found = {}
    for table in CONTENTS:
        all_rows = [dict(row) for row in connection.execute(text(f"SELECT * FROM {table}")).mappings()]  # noqa: S608 - our own table
        found[table] = {(row.get("id"), row.get("seq")): row for row in all_rows}
    return found


async def inside(url: str, action: Any) -> Any:
    """Run something on a connection of its own."""
    engine = create_engine(url)
    if engine.dialect.name == "sqlite":
        # So that tables which refer to each other can be dropped in any order.
        event.listen(engine.sync_engine, "connect", lambda connection, _: connection.execute("PRAGMA foreign_keys=OFF"))
    try:
        async with engine.execution_options(writes=True).begin() as connection:
            return await connection.run_sync(action)
    finally:
        await engine.dispose()
