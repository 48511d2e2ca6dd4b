"""Pictures in chat files: stored as files, shown, and written back as they were."""

import json
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import func, select

from tavernkit.chats import read_chat, to_messages
from tavernkit.playground.base.database.models import Blob, Conversation, Message, MessagePicture, MessageSwipe
from tavernkit.playground.story.access.blobs import find_blob
from tavernkit.playground.story.messages.service import edit_message, select_swipe, send_message
from tavernkit.playground.story.paths.pictures import PictureIn, upload_picture
from tests.playground.characters.builders import picture, somebody_else
from tests.playground.chatfiles.moving import bring_in, lines, messages, take_out
from tests.playground.stories import Story, open_story

pytestmark = pytest.mark.anyio

TEAL, RED = picture("teal"), picture("red", format="JPEG")
HEADER = {"chat_metadata": {}, "user_name": "Robin", "character_name": "Ottoline"}


def url(data: bytes, type: str = "png") -> str:
    return f"data:image/{type};base64,{b64encode(data).decode()}"


def said(extra: Any, **fields: Any) -> dict[str, Any]:
    return {
        "name": "Robin",
        "is_user": True,
        "is_system": False,
        "send_date": 1,
        "mes": "Look.",
        "extra": extra,
        **fields,
    }


OLD = {"image": url(RED, "jpeg"), "image_swipes": [url(TEAL), url(RED, "jpeg")], "inline_image": True, "title": "Red"}
NEW = {
    "media": [{"url": url(TEAL), "type": "image", "title": "Door"}, {"url": url(RED, "jpeg"), "type": "image"}],
    "media_index": 1,
    "media_display": "list",
}
GALLERY = {**NEW, "media_display": "gallery"}
PATHS = {
    "image": "/user/images/Ottoline/gone.png",
    "media": [{"url": "user/images/a.png", "type": "image"}, {"url": "/v.mp4", "type": "video"}, {"url": 5}, "odd"],
    "image_swipes": ["/user/images/b.png", None],
}
BROKEN = {"image": "data:image/png;base64,AAAA", "media": [{"url": url(b"<svg/>", "svg+xml"), "type": "image"}]}
SWIPED = said(
    OLD,
    swipes=["One.", "Look."],
    swipe_id=1,
    swipe_info=[{"send_date": 1, "extra": NEW}, {"send_date": 2, "extra": {}}],
)


async def seen(play: Story, conversation_id: Any) -> list[tuple[str, str, str]]:
    """The kind, the hash and the title of each picture of the swipes that are seen."""
    async with play.runtime.database.read() as session:
        rows = await session.scalars(
            select(MessagePicture)
            .join(Message, Message.active_swipe_id == MessagePicture.swipe_id)
            .where(Message.conversation_id == conversation_id)
            .order_by(Message.seq, MessagePicture.position)
        )
        return [(row.kind, row.sha256, row.title) for row in rows]


@pytest.mark.parametrize("record", [said(OLD), said(NEW), said(GALLERY), said(PATHS), said(BROKEN), SWIPED])
async def test_a_file_with_pictures_comes_back_byte_for_byte(
    sqlite_url: str, tmp_path: Path, record: dict[str, Any]
) -> None:
    file = lines(HEADER, record)
    async with open_story(sqlite_url, tmp_path) as play:
        conversation = await bring_in(play, file)
        assert await take_out(play, conversation.id) == file
        async with play.runtime.database.read() as session:
            kept = json.dumps(
                [row.metadata_ for row in await session.scalars(select(Message))]
                + [row.metadata_ for row in await session.scalars(select(MessageSwipe))]
            )
        for data in (TEAL, RED):
            assert b64encode(data).decode() not in kept


async def test_pictures_of_a_file_are_stored_and_those_that_are_seen_are_shown(
    database_url: str, tmp_path: Path
) -> None:
    teal, red = sha256(TEAL).hexdigest(), sha256(RED).hexdigest()
    async with open_story(database_url, tmp_path) as play:
        old = await bring_in(play, lines(HEADER, said(OLD)))
        assert await seen(play, old.id) == [("attached", red, "Red"), ("kept", teal, "")]
        new = await bring_in(play, lines(HEADER, said(NEW)))
        assert await seen(play, new.id) == [("attached", teal, "Door"), ("attached", red, "")]
        gallery = await bring_in(play, lines(HEADER, said(GALLERY)))
        assert await seen(play, gallery.id) == [("attached", red, ""), ("kept", teal, "")]
        assert await seen(play, (await bring_in(play, lines(HEADER, said(PATHS)))).id) == []
        swiped = await bring_in(play, lines(HEADER, SWIPED))
        (message,) = await messages(play, swiped.id)
        await select_swipe(play.runtime, play.viewer, message.id, 0)
        assert await seen(play, swiped.id) == [("attached", teal, "Door"), ("attached", red, "")]
        again = await bring_in(play, await take_out(play, swiped.id))
        assert await seen(play, again.id) == [("attached", teal, "Door"), ("attached", red, "")]


async def test_a_picture_that_was_added_here_goes_out_and_comes_in_again(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        row = await upload_picture(play.runtime, play.viewer, play.conversation_id, TEAL)
        await send_message(
            play.runtime,
            play.viewer,
            play.conversation_id,
            message_id=uuid4(),
            content="",
            pictures=[PictureIn(id=row.id, title="A door")],
            role="system",
        )
        file = await take_out(play, play.conversation_id)
        extra = json.loads(file.splitlines()[-1])["extra"]
        assert extra["media"] == [{"url": url(TEAL), "type": "image", "title": "A door"}]
        again = await bring_in(play, file)
        assert await seen(play, again.id) == [("attached", row.sha256, "A door")]
        assert await take_out(play, again.id) == file


async def test_a_picture_that_was_removed_here_is_not_in_the_file_and_foreign_paths_stay(
    sqlite_url: str, tmp_path: Path
) -> None:
    mixed = {**NEW, "media": [*NEW["media"], {"url": "/user/images/a.png", "type": "image"}]}
    async with open_story(sqlite_url, tmp_path) as play:
        conversation = await bring_in(play, lines(HEADER, said(mixed)))
        (message,) = await messages(play, conversation.id)
        await edit_message(play.runtime, play.viewer, message.id, content="Look.", revision=1, pictures=[])
        extra = json.loads((await take_out(play, conversation.id)).splitlines()[-1])["extra"]
        assert extra["media"] == [{"url": "/user/images/a.png", "type": "image"}]


async def test_a_file_that_names_the_picture_of_others_gets_nothing(sqlite_url: str, tmp_path: Path) -> None:
    name = sha256(TEAL).hexdigest()
    async with open_story(sqlite_url, tmp_path) as play:
        await upload_picture(play.runtime, play.viewer, play.conversation_id, TEAL)
        file = lines(HEADER, said({"image": f"tavernkit-picture:{name}"}))
        conversation = await bring_in(play, file)
        assert await seen(play, conversation.id) == []
        assert await take_out(play, conversation.id) == file
        stranger = await somebody_else(play)
        async with play.runtime.database.read() as session:
            assert await find_blob(session, name, stranger) is None


async def test_a_long_file_stores_each_picture_once(sqlite_url: str, tmp_path: Path) -> None:
    record = said(NEW)
    async with open_story(sqlite_url, tmp_path) as play:
        async with play.runtime.database.read() as session:
            before = await session.scalar(select(func.count()).select_from(Blob)) or 0
        file = lines(HEADER, *[record] * 1_001)
        conversation = await bring_in(play, file)
        async with play.runtime.database.read() as session:
            assert await session.scalar(select(func.count()).select_from(Blob)) == before + 2
            assert (await session.get_one(Conversation, conversation.id)).messages_count == 1_001
        assert await take_out(play, conversation.id) == file


def test_the_library_gives_pictures_to_prompts() -> None:
    (chat,) = read_chat(lines(HEADER, said(NEW), said(PATHS))).value
    first, second = to_messages(chat)
    assert [(one.mime_type, one.data, one.name) for one in first.attachments] == [
        ("image/png", TEAL, "Door"),
        ("image/jpeg", RED, None),
    ]
    assert second.attachments == ()
