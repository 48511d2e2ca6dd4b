"""Providers that are there from the start."""

from pathlib import Path
from typing import Any

import pytest

from tavernkit.playground.base.llm.kinds.embedded import EMBEDDED_NAME
from tavernkit.playground.story.providers.service import ENVIRONMENT_NAME
from tests.playground.providers.provider_admin import open_provider_admin

pytestmark = pytest.mark.anyio

NAMED = {"openai_base_url": "http://robin:hunter2@127.0.0.1:9/v1", "openai_model": "llama", "openai_api_key": "sk-1"}


async def default_after(url: str, folder: Path, choose: str = "", **settings: Any) -> str:
    """Start, let an administrator choose, and stop; the default at the end."""
    async with open_provider_admin(url, folder, **settings) as admin:
        if choose:
            chosen = (await admin.rows())[choose]
            await admin.ask("PUT", "/default", json={"provider_id": str(chosen.id)})
        defaults = [row.name for row in (await admin.rows()).values() if row.is_default]
    assert len(defaults) == 1
    return defaults[0]


async def test_the_default_is_what_the_environment_names_unless_somebody_chooses(
    database_url: str, tmp_path: Path
) -> None:
    assert await default_after(database_url, tmp_path) == EMBEDDED_NAME
    assert await default_after(database_url, tmp_path, **NAMED) == ENVIRONMENT_NAME
    assert await default_after(database_url, tmp_path, **NAMED) == ENVIRONMENT_NAME
    assert await default_after(database_url, tmp_path, choose=EMBEDDED_NAME, **NAMED) == EMBEDDED_NAME
    assert await default_after(database_url, tmp_path, **NAMED) == EMBEDDED_NAME
    assert await default_after(database_url, tmp_path, choose=ENVIRONMENT_NAME, **NAMED) == ENVIRONMENT_NAME
    assert await default_after(database_url, tmp_path) == EMBEDDED_NAME


async def test_what_the_environment_says_is_written_at_every_start(database_url: str, tmp_path: Path) -> None:
    async with open_provider_admin(database_url, tmp_path, **NAMED):
        pass
    async with open_provider_admin(database_url, tmp_path, **{**NAMED, "openai_model": "qwen"}) as admin:
        row = (await admin.rows())[ENVIRONMENT_NAME]
        shown = await admin.ask("GET", f"/{row.id}")
    assert (shown["model"], shown["has_key"], shown["base_url"]) == ("qwen", True, "http://127.0.0.1:9/v1")


async def test_an_embedded_model_by_another_name_stays_the_only_one(database_url: str, tmp_path: Path) -> None:
    async with open_provider_admin(database_url, tmp_path) as admin:
        row = (await admin.rows())[EMBEDDED_NAME]
        await admin.ask("PATCH", f"/{row.id}", json={"settings_version": 0, "name": "Small"})
    async with open_provider_admin(database_url, tmp_path) as admin:
        assert list(await admin.rows()) == ["Small"]
