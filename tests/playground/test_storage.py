"""Migrations, settings, sealed keys, and values that are hard to store."""

from pathlib import Path
from uuid import uuid4

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from pydantic import ValidationError
from sqlalchemy import select

from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database.base import Base
from tavernkit.playground.base.database.migrate import check, upgrade
from tavernkit.playground.base.database.models import Character, Provider
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.base.llm.secrets import KeyBox
from tests.playground.stories import open_story

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def test_an_empty_database_is_brought_up_to_date_once(empty_database_url: str) -> None:
    before = await check(empty_database_url)
    assert (before.current, before.is_current) == (None, False)
    await upgrade(empty_database_url)
    await upgrade(empty_database_url)
    assert (await check(empty_database_url)).is_current


async def test_the_migrations_make_what_the_models_say(empty_database_url: str, tmp_path: Path) -> None:
    # SQLite's full text index has tables that are no models, and PostgreSQL's has indexes.
    only_here = ("search_index",) if "sqlite" in empty_database_url else ()
    only_there = ("ix_search_documents_tokens", "ix_search_documents_scope") if only_here else ()
    options = {
        "include_name": lambda name, kind, _: kind != "table" or not name.startswith(only_here),
        "include_object": lambda _, name, *__: name not in only_there,
    }
    async with open_story(empty_database_url, tmp_path) as play:
        async with play.runtime.database.engine.connect() as connection:
            difference = await connection.run_sync(
                lambda sync: compare_metadata(MigrationContext.configure(sync, opts=options), Base.metadata)
            )
        assert difference == []


async def test_whatever_a_card_holds_survives(empty_database_url: str, tmp_path: Path) -> None:
    data = {"text": "a\x00b\ud800 🦊", "deep": [1, None, {"x": 1.5}]}
    async with open_story(empty_database_url, tmp_path) as play:
        async with play.runtime.database.write() as session:
            (await session.scalars(select(Character))).one().data = data
        async with play.runtime.database.read() as session:
            assert (await session.scalars(select(Character))).one().data == data


async def test_the_environments_provider_answers_and_its_key_is_sealed(empty_database_url: str, tmp_path: Path) -> None:
    settings = {"openai_base_url": "http://127.0.0.1:9/v1", "openai_api_key": "sk-secret", "openai_model": "m"}
    async with open_story(empty_database_url, tmp_path, ScriptedModel(), **settings) as play:
        async with play.runtime.database.read() as session:
            provider = (await session.scalars(select(Provider).where(Provider.is_default))).one()
        assert (provider.kind, provider.model) == ("openai", "m")
        assert provider.api_key is not None
        assert b"sk-secret" not in provider.api_key
        assert play.runtime.keys.decrypt(provider.api_key, provider.id) == "sk-secret"
    async with open_story(empty_database_url, tmp_path) as play, play.runtime.database.read() as session:
        provider = (await session.scalars(select(Provider).where(Provider.is_default))).one()
        assert provider.kind == "embedded"


def test_a_sealed_key_opens_only_for_its_row_and_with_its_key(tmp_path: Path) -> None:
    box, row = KeyBox.in_folder(tmp_path), uuid4()
    sealed = box.encrypt("secret", row)
    assert KeyBox.in_folder(tmp_path).decrypt(sealed, row) == "secret"
    assert box.decrypt(sealed, uuid4()) is None
    assert KeyBox.in_folder(tmp_path / "other").decrypt(sealed, row) is None
    assert (tmp_path / "secret.key").stat().st_mode & 0o077 == 0


def test_database_addresses_get_their_driver(tmp_path: Path) -> None:
    def resolved(url: str) -> str:
        return AppConfig(data_dir=tmp_path, database_url=url).resolved_database_url

    assert resolved("") == f"sqlite+aiosqlite:///{tmp_path}/tavernkit.db"
    assert resolved("postgresql://a/b") == "postgresql+psycopg://a/b"
    assert resolved("postgres://a/b") == "postgresql+psycopg://a/b"
    assert resolved("postgresql+psycopg://a/b") == "postgresql+psycopg://a/b"


def test_a_setting_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValidationError, match="port"):
        AppConfig(port=99999)
