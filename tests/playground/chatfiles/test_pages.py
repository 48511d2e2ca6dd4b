"""Chat files on the page of a space."""

from pathlib import Path

import pytest

from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.chatfiles.importing import MAX_AT_ONCE
from tavernkit.playground.story.spaces.service import change_space
from tests.characters import card_files
from tests.playground.chatfiles.moving import lines, space_of
from tests.playground.stories import open_story
from tests.playground.support.web import browser

pytestmark = pytest.mark.anyio

STREAMS = {"Accept": "text/vnd.turbo-stream.html"}


async def test_chats_are_imported_on_the_page_of_a_space(database_url: str, tmp_path: Path) -> None:
    chat = lines({"name": "Bo", "is_user": True, "mes": "Hello."})
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        address = f"/spaces/{await space_of(play)}"
        async with browser(play.runtime, play.user_id) as client:
            assert f'action="{address}/import"' in (await client.get(address)).text
            files = [
                ("file", ("Harbour.jsonl", chat.encode())),
                ("file", ("Roof.byaf", card_files.byaf())),
                ("file", ("other.txt", b"?")),
            ]
            answer = await client.post(f"{address}/import", files=files, headers=STREAMS)
            assert answer.status_code == 200
            assert "<strong>Harbour.jsonl</strong> was imported as" in answer.text
            assert "<strong>other.txt</strong> was not imported." in answer.text
            for title in ("Harbour", "Roof 1", "Roof 2"):
                assert f">{title}</a></h3>" in answer.text
            alone = await client.post(f"{address}/import", files=files[:1])
            assert alone.status_code == 303
            assert "Hello." in (await client.get(alone.headers["location"])).text


async def test_a_long_chat_is_said_to_follow(sqlite_url: str, tmp_path: Path) -> None:
    chat = lines(*({"name": "Bo", "is_user": True, "mes": "Hello."} for _ in range(MAX_AT_ONCE + 1)))
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        address = f"/spaces/{await space_of(play)}"
        async with browser(play.runtime, play.user_id) as client:
            files = {"file": ("Long.jsonl", chat.encode())}
            answer = await client.post(f"{address}/import", files=files, headers=STREAMS)
            assert "is imported in the background" in answer.text


async def test_an_archived_space_takes_no_chats(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        space_id = await space_of(play)
        await change_space(play.runtime, play.viewer, space_id, settings_version=0, archived=True)
        async with browser(play.runtime, play.user_id) as client:
            assert "Import chats" not in (await client.get(f"/spaces/{space_id}")).text
            files = {"file": ("a.jsonl", lines({"name": "Bo", "mes": "Hello."}).encode())}
            refused = await client.post(f"/spaces/{space_id}/import", files=files)
            assert refused.status_code in (403, 409)
