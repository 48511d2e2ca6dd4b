"""A space takes over settings of SillyTavern: its macro engine, and how World Info is scanned."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.playground.prompting.prompt_story import prompt_story, texts
from tests.playground.support.web import api_client, browser

pytestmark = pytest.mark.anyio

NESTED = {"description": "{{reverse::{{user}}}}"}
"""The parser engines expand the inner macro first."""


def form(**settings: Any) -> dict[str, tuple[str, bytes, str]]:
    return {"file": ("settings.json", json.dumps(settings).encode(), "application/json")}


@pytest.mark.parametrize(
    ("settings", "engine"),
    [
        ({"power_user": {"experimental_macro_engine": False}}, "legacy"),
        ({"power_user": {"experimental_macro_engine": True}, "currentVersion": "1.15.0"}, "1.15"),
        ({"power_user": {"experimental_macro_engine": True}, "currentVersion": "1.19.0"}, "1.19"),
        ({"power_user": {}}, "1.19"),
    ],
)
async def test_the_macro_engine_of_a_settings_file_is_used(
    sqlite_url: str, tmp_path: Path, settings: dict[str, Any], engine: str
) -> None:
    async with prompt_story(sqlite_url, tmp_path, cards={"Ada": NESTED}) as story:
        await story.say_as("Robin", "Hello?")
        async with api_client(story.runtime, story.user_id) as client:
            taken = await client.post(f"/spaces/{story.space_id}/settings/import", files=form(**settings))
        assert taken.json()["effective"]["prompt"]["macro_engine"]["value"] == engine
        assert ("niboR" in texts(await story.prompt("Ada"))) is (engine != "legacy")


async def test_world_info_of_a_settings_file_is_taken_over_as_far_as_it_fits(sqlite_url: str, tmp_path: Path) -> None:
    lore = {"world_info_depth": 7, "world_info_character_strategy": 2, "world_info_max_recursion_steps": 99}
    async with prompt_story(sqlite_url, tmp_path) as story, browser(story.runtime, story.user_id) as pages:
        tab = f"/conversations/{story.conversation_id}/panel/prompt"
        refused = await pages.post(f"{tab}/settings", files=form(temperature=1))
        assert refused.status_code == 422
        assert "The file is not a settings.json of SillyTavern" in refused.text
        taken = await pages.post(f"{tab}/settings", files=form(power_user={}, world_info_settings=lore))
        assert taken.status_code == 303
        settings = (await story.prompt("Ada")).inputs.settings.world_info
        assert (settings.depth, settings.strategy, settings.max_recursion_steps) == (7, "global_first", 0)
