"""The picture behind the chats of a space: uploaded or a character's, seen by members, and freed when it goes."""

from hashlib import sha256
from pathlib import Path

import pytest

from tavernkit.playground.base.database.models import Blob, Conversation
from tavernkit.playground.story.access.blobs import find_blob
from tests.playground.characters.builders import LANDSCAPE, brought, landscape_card, picture
from tests.playground.messages.people import somebody
from tests.playground.stories import Story, open_story
from tests.playground.support.web import api_client, browser

pytestmark = pytest.mark.anyio


async def space_of(story: Story) -> str:
    async with story.runtime.database.read() as session:
        return str((await session.get_one(Conversation, story.conversation_id)).space_id)


async def is_stored(story: Story, name: str) -> bool:
    async with story.runtime.database.read() as session:
        return await session.get(Blob, name) is not None


async def test_a_background_is_uploaded_shown_behind_the_chat_and_removed(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story, browser(story.runtime, story.user_id) as client:
        here = f"/spaces/{await space_of(story)}"
        chat = f"/conversations/{story.conversation_id}"
        assert "chat-background" not in (await client.get(chat)).text
        sent = await client.post(f"{here}/background", files={"file": ("a.png", picture(), "image/png")})
        assert sent.status_code == 303
        name = sha256(picture()).hexdigest()
        assert f'<img class="chat-background" src="/api/v1/blobs/{name}" alt=""' in (await client.get(chat)).text
        assert (await client.get(f"/api/v1/blobs/{name}")).content == picture()
        member, stranger = await somebody(story), await somebody(story, role=None)
        async with story.runtime.database.read() as session:
            assert await find_blob(session, name, member) is not None
            assert await find_blob(session, name, stranger) is None
        wrong = await client.post(f"{here}/background", files={"file": ("a.png", b"no", "image/png")})
        assert (wrong.status_code, "The picture cannot be read" in wrong.text) == (422, True)
        assert (await client.post(f"{here}/background/choose")).status_code == 303
        assert "chat-background" not in (await client.get(chat)).text
        assert not await is_stored(story, name)


async def test_a_background_of_a_character_in_the_space_is_chosen(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as story, api_client(story.runtime, story.user_id) as client:
        sea, space_id = sha256(LANDSCAPE).hexdigest(), await space_of(story)
        path = f"/spaces/{space_id}/background"
        character = (await brought(story, landscape_card(name="Mira"))).character
        assert (await client.post(path, json={"sha256": sea})).status_code == 404
        await client.post(f"/spaces/{space_id}/members", json={"character_id": str(character.id)})
        async with browser(story.runtime, story.user_id) as pages:
            assert f"/api/v1/blobs/{sea}" in (await pages.get(f"/spaces/{space_id}")).text
        assert (await client.post(path, json={"sha256": sea})).json()["background_sha256"] == sea
        assert (await client.get(f"/spaces/{space_id}")).json()["background_sha256"] == sea
        assert (await client.delete(path)).json()["background_sha256"] is None
        assert await is_stored(story, sea)


async def test_a_deleted_space_frees_its_background(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as story, api_client(story.runtime, story.user_id) as client:
        space_id = await space_of(story)
        sent = await client.put(f"/spaces/{space_id}/background", files={"file": ("a.png", picture(), "image/png")})
        name = sent.json()["background_sha256"]
        await client.delete(f"/spaces/{space_id}")
        await story.outlast_trash()
        assert not await is_stored(story, name)
