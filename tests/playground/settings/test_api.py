"""Settings over HTTP."""

from pathlib import Path
from uuid import uuid4

import pytest

from tavernkit.playground.base.llm.scripted import ScriptedModel
from tests.playground.spaces.cast import members, opened
from tests.playground.stories import open_story
from tests.playground.support.web import api_client

pytestmark = pytest.mark.anyio


async def test_the_schema_is_sent_again_only_when_it_has_changed(sqlite_url: str, tmp_path: Path) -> None:
    async with (
        open_story(sqlite_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        first = await client.get("/schemas/settings")
        tag = first.headers["etag"]
        assert first.json()["properties"]["llm"]["properties"]["temperature"]["x-ui"]["control"] == "slider"
        for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
            again = await client.get("/schemas/settings", headers={"If-None-Match": known})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        changed = await client.get("/schemas/settings", headers={"If-None-Match": '"other"'})
        assert changed.status_code == 200


async def test_each_layer_is_read_and_patched_and_refuses_old_versions(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        made = await opened(play, "Ada")
        ada = (await members(play, made.space.id))[1]
        for layer, path in {
            "space": f"/spaces/{made.space.id}/settings",
            "member": f"/members/{ada.id}/settings",
            "conversation": f"/conversations/{made.conversation.id}/settings",
        }.items():
            patch = {"settings_version": 0, "settings": {"llm": {"top_k": 40}}}
            changed = await client.patch(path, json=patch)
            assert changed.status_code == 200, changed.text
            assert changed.json()["effective"]["llm"]["top_k"] == {"value": 40, "source": layer}
            assert (await client.get(path)).json() == changed.json()
            stale = await client.patch(path, json=patch)
            assert (stale.status_code, stale.json()["error"]["current"]) == (409, changed.json())
            wrong = await client.patch(path, json={"settings_version": 1, "settings": {"llm": {"top_k": "many"}}})
            assert (wrong.status_code, "llm.top_k" in wrong.json()["error"]["sentence"]) == (422, True)
        for noun in ("spaces", "members", "conversations"):
            missing = f"/{noun}/{uuid4()}/settings"
            assert (await client.get(missing)).status_code == 404
            assert (await client.patch(missing, json={"settings_version": 0, "settings": {}})).status_code == 404


async def test_a_conversations_settings_are_also_told_for_a_speaker(sqlite_url: str, tmp_path: Path) -> None:
    async with (
        open_story(sqlite_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        made = await opened(play, "Ada")
        ada = (await members(play, made.space.id))[1]
        patch = {"settings_version": 0, "settings": {"reasoning": {"effort": "low"}}}
        await client.patch(f"/members/{ada.id}/settings", json=patch)
        path = f"/conversations/{made.conversation.id}/settings"
        alone = (await client.get(path)).json()["effective"]["reasoning"]["effort"]
        spoken = (await client.get(path, params={"member_id": str(ada.id)})).json()["effective"]["reasoning"]["effort"]
        assert (alone, spoken) == (
            {"value": "auto", "source": "default"},
            {"value": "low", "source": "member"},
        )


async def test_names_that_are_no_text_are_refused(sqlite_url: str, tmp_path: Path) -> None:
    async with (
        open_story(sqlite_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        made = await opened(play, "Ada")
        for settings in (
            '{"\\ud800": {}}',
            '{"llm": {"\\ud800": 1}}',
            '{"authors_note": {"text": "\\ud800"}}',
            '{"llm": {"temperature": NaN}}',
            '{"llm": {"seed": 1e999}}',
            '{"llm": {"stop": [[]]}}',
        ):
            answer = await client.patch(
                f"/spaces/{made.space.id}/settings",
                content=f'{{"settings_version": 0, "settings": {settings}}}',
                headers={"Content-Type": "application/json"},
            )
            assert answer.status_code == 422, settings
            assert answer.json()["error"]["code"] == "invalid"
