"""Pictures of messages: uploaded, sent, changed, copied into branches, seen by members alone, and freed."""

import asyncio
import io
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest
from PIL import Image
from sqlalchemy import func, select

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Blob, Conversation, MessagePicture
from tavernkit.playground.story.access.blobs import find_blob
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.conversations.service import create_conversation, delete_conversation
from tavernkit.playground.story.messages.service import add_swipe, delete_swipe, send_message
from tavernkit.playground.story.paths.pictures import MAX_PICTURES, MAX_UNSENT, PictureIn, upload_picture
from tavernkit.playground.story.sweeping.service import UNSENT_FOR, sweep
from tests.playground.characters.builders import picture
from tests.playground.messages.people import somebody
from tests.playground.stories import Story, open_story
from tests.playground.support.refusals import refusal_of
from tests.playground.support.web import api_client

pytestmark = pytest.mark.anyio


async def uploaded(story: Story, data: bytes | None = None) -> MessagePicture:
    return await upload_picture(story.runtime, story.viewer, story.conversation_id, data or picture())


async def shown(story: Story, *pictures: MessagePicture, content: str = "Look!") -> UUID:
    """A message with pictures, which nobody answers."""
    given = [PictureIn(id=one.id) for one in pictures]
    sent = await send_message(
        story.runtime,
        story.viewer,
        story.conversation_id,
        message_id=uuid4(),
        content=content,
        pictures=given,
        role="system",
    )
    return sent.id


async def blobs(story: Story) -> set[str]:
    async with story.runtime.database.read() as session:
        return set(await session.scalars(select(Blob.sha256)))


async def sees(story: Story, viewer: Viewer, sha256: str) -> bool:
    async with story.runtime.database.read() as session:
        return await find_blob(session, sha256, viewer) is not None


async def upload(client: httpx2.AsyncClient, story: Story, data: bytes) -> Any:
    path = f"/conversations/{story.conversation_id}/pictures"
    return await client.post(path, files={"file": ("me.png", data, "image/png")})


async def test_a_picture_is_uploaded_sent_and_read_over_the_api(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story, api_client(story.runtime, story.user_id) as client:
        answer = await upload(client, story, picture())
        assert answer.status_code == 201
        given = answer.json()
        assert (given["width"], given["height"], given["title"]) == (40, 60, "")
        path = f"/conversations/{story.conversation_id}/messages"
        body = {"id": str(uuid4()), "pictures": [{"id": given["id"], "title": "A teal door"}]}
        sent = await client.post(path, json=body)
        assert (sent.status_code, sent.json()["content"]) == (201, "")
        assert sent.json()["pictures"] == [{**given, "title": "A teal door"}]
        assert (await client.post(path, json=body)).json() == sent.json()
        assert (await client.get(f"/blobs/{given['sha256']}")).content == picture()
        swipes = (await client.get(f"/messages/{body['id']}/swipes")).json()["items"]
        assert swipes[0]["pictures"] == sent.json()["pictures"]


async def test_a_message_gets_other_pictures_by_editing(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story, api_client(story.runtime, story.user_id) as client:
        one, two = await uploaded(story), await uploaded(story, picture("red"))
        message_id = await shown(story, one)
        path = f"/messages/{message_id}"
        assert (await client.patch(path, json={"content": "Look!", "revision": 1})).json()["revision"] == 1
        both = [{"id": str(two.id), "title": "Red"}, {"id": str(one.id)}]
        edited = (await client.patch(path, json={"content": "Look!", "pictures": both, "revision": 1})).json()
        assert [(each["id"], each["title"]) for each in edited["pictures"]] == [(str(two.id), "Red"), (str(one.id), "")]
        assert edited["revision"] == 2
        stale = await client.patch(path, json={"content": "Look!", "pictures": [], "revision": 1})
        assert (stale.status_code, stale.json()["error"]["code"]) == (409, "stale")
        assert stale.json()["error"]["current"] == edited
        alone = {"content": " ", "pictures": both[:1], "revision": 2}
        assert (await client.patch(path, json=alone)).json()["content"] == ""
        nothing = await client.patch(path, json={"content": " ", "pictures": []})
        assert nothing.json()["error"]["code"] == "blank"


async def test_what_is_no_picture_or_too_large_is_refused_with_a_sentence(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as story, api_client(story.runtime, story.user_id) as client:
        text = await upload(client, story, b"<svg onload='alert(1)'/>")
        assert text.status_code == 422
        assert (
            text.json()["error"]["sentence"] == "The picture cannot be read: it is not a PNG, JPEG, WebP or GIF file."
        )
        bomb = await upload(client, story, picture(size=(8000, 4001)))
        assert "8,000 × 4,001" in bomb.json()["error"]["sentence"] or "8000 × 4001" in bomb.json()["error"]["sentence"]
        huge = await upload(client, story, b"\x89PNG" + bytes(16 * 1024 * 1024 + 70_000))
        assert huge.status_code == 413
        many = [{"id": str(uuid4())} for _ in range(MAX_PICTURES + 1)]
        path = f"/conversations/{story.conversation_id}/messages"
        assert (await client.post(path, json={"content": "x", "pictures": many})).status_code == 422
        unknown = await client.post(path, json={"content": "x", "pictures": many[:1]})
        assert (unknown.status_code, unknown.json()["error"]["code"]) == (422, "invalid")
        assert await story.shown() == []


async def test_a_photo_is_stored_upright_smaller_and_without_where_it_was_taken(
    sqlite_url: str, tmp_path: Path
) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # The camera was held upright.
    exif[0x010E] = "52.5 N 13.4 E"
    async with open_story(sqlite_url, tmp_path) as story:
        row = await uploaded(story, picture(size=(4000, 3000), format="JPEG", exif=exif))
        assert (row.width, row.height) == (1536, 2048)
        async with story.runtime.database.read() as session:
            data = (await session.get_one(Blob, row.sha256)).data
        with Image.open(io.BytesIO(data)) as stored:
            assert (stored.format, stored.size, dict(stored.getexif())) == ("JPEG", (1536, 2048), {})


async def test_only_who_may_read_the_conversation_sees_its_pictures(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        member, stranger = await somebody(story), await somebody(story, role=None)
        row = await uploaded(story)
        assert [await sees(story, who, row.sha256) for who in (story.viewer, member, stranger)] == [True, False, False]
        await shown(story, row)
        assert [await sees(story, who, row.sha256) for who in (story.viewer, member, stranger)] == [True, True, False]
        for visibility, seen in (("private", [True, False, False]), ("public", [True, True, True])):
            async with story.runtime.database.write() as session:
                (await session.get_one(Conversation, story.conversation_id)).visibility = visibility
            assert [await sees(story, who, row.sha256) for who in (story.viewer, member, stranger)] == seen


async def test_nobody_sends_the_pictures_of_others(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as story:
        row, member = await uploaded(story), await somebody(story)
        refused = await refusal_of(
            send_message(
                story.runtime,
                member,
                story.conversation_id,
                message_id=uuid4(),
                content="Mine!",
                pictures=[PictureIn(id=row.id)],
            )
        )
        assert refused.code == "invalid"


async def test_a_draft_that_is_sent_from_two_windows_has_its_picture_in_both(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as story, api_client(story.runtime, story.user_id) as client:
        row = await uploaded(story)
        first, second = await shown(story, row), await shown(story, row)
        pictures = [(await client.get(f"/messages/{id}")).json()["pictures"] for id in (first, second)]
        assert [each["sha256"] for own in pictures for each in own] == [row.sha256, row.sha256]


async def test_branches_share_pictures_and_the_last_who_goes_frees_them(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        before = await blobs(story)
        row = await uploaded(story)
        message_id = await shown(story, row)
        branch = await fork(story.runtime, story.viewer, story.conversation_id, message_id)
        await create_conversation(story.runtime, story.viewer, branch.space_id)
        await delete_conversation(story.runtime, story.viewer, story.conversation_id)
        await story.outlast_trash()
        assert await blobs(story) == before | {row.sha256}
        async with api_client(story.runtime, story.user_id) as client:
            told = (await client.get(f"/conversations/{branch.id}/messages")).json()["items"]
            assert [each["sha256"] for each in told[-1]["pictures"]] == [row.sha256]
        await delete_conversation(story.runtime, story.viewer, branch.id)
        await story.outlast_trash()
        assert await blobs(story) == before


async def test_a_deleted_swipe_and_a_forgotten_draft_free_their_pictures(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story, api_client(story.runtime, story.user_id) as client:
        before = await blobs(story)
        (message,) = await story.narrate("One.")
        given = [PictureIn(id=(await uploaded(story)).id)]
        swipe = await add_swipe(story.runtime, story.viewer, message.id, swipe_id=uuid4(), content="", pictures=given)
        await delete_swipe(story.runtime, story.viewer, message.id, swipe.id)
        waiting, removed = await uploaded(story, picture("red")), await uploaded(story, picture("blue"))
        assert (await client.delete(f"/pictures/{removed.id}")).status_code == 204
        assert (await client.delete(f"/pictures/{removed.id}")).status_code == 404
        await sweep(story.runtime, asyncio.Event())
        assert await blobs(story) == before | {waiting.sha256}
        story.skipped += UNSENT_FOR + timedelta(minutes=1)
        await sweep(story.runtime, asyncio.Event())
        assert await blobs(story) == before


async def test_drafts_hold_no_more_pictures_than_the_limit(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as story:
        first = await uploaded(story)
        async with story.runtime.database.write() as session:
            fields = {"owner_id": story.user_id, "sha256": first.sha256, "width": 1, "height": 1}
            now = story.runtime.clock()
            session.add_all(MessagePicture(id=uuid4(), created_at=now, **fields) for _ in range(MAX_UNSENT - 1))
        refused = await refusal_of(uploaded(story))
        assert refused.code == "conflict"
        async with story.runtime.database.read() as session:
            assert await session.scalar(select(func.count()).select_from(MessagePicture)) == MAX_UNSENT
