"""Chats in and out over HTTP."""

from pathlib import Path
from uuid import uuid4

import pytest

from tavernkit.playground.base.llm.scripted import ScriptedModel
from tests.playground.chatfiles.moving import lines, space_of
from tests.playground.stories import open_story
from tests.playground.support.web import api_client

pytestmark = pytest.mark.anyio


async def test_a_file_goes_in_and_out(database_url: str, tmp_path: Path) -> None:
    file = lines({"name": "Sam", "is_user": True, "mes": "Hi."}, {"name": "Mira", "is_user": False, "mes": "Ho 🦊"})
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as api,
    ):
        upload = {"file": ("Evening walk.jsonl", file.encode())}
        answer = await api.post(f"/spaces/{await space_of(play)}/conversations/import", files=upload)
        assert answer.status_code == 201, answer.text
        (conversation,) = answer.json()["conversations"]
        assert (conversation["title"], conversation["messages_count"]) == ("Evening walk", 2)
        address = f"/conversations/{conversation['id']}/export"
        written = await api.get(address)
        assert written.text == file
        assert "Evening%20walk.jsonl" in written.headers["content-disposition"]
        assert (await api.get(address, params={"format": "text"})).text == "Sam: Hi.\n\nMira: Ho 🦊\n\n"
        assert (await api.get(address, params={"format": "pdf"})).status_code == 422
        assert (await api.get(f"/conversations/{uuid4()}/export")).status_code == 404
        wrong = await api.post(f"/spaces/{await space_of(play)}/conversations/import", files={"file": b"{}"})
        assert (wrong.status_code, wrong.json()["error"]["code"]) == (422, "invalid")
