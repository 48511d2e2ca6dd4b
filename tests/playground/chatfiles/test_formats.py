"""Conversations in other formats, and chats on the page of a character."""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from uuid import UUID, uuid4
from zipfile import ZipFile

import pytest
from httpx2 import AsyncClient
from sqlalchemy import func, select

from tavernkit.playground.base.database.models import Character, Conversation, Space
from tavernkit.playground.story.chatfiles.exporting import PAGE
from tavernkit.playground.story.chatfiles.importing import MAX_AT_ONCE
from tests.playground.chatfiles.moving import bring_in, lines, space_of, take_out
from tests.playground.stories import Story, open_story
from tests.playground.support.web import api_client, browser

pytestmark = pytest.mark.anyio

PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Erk"
    "Jggg=="
)
HEADER = {"chat_metadata": {}, "user_name": "Sam", "character_name": "Mira"}
SAID = (
    {
        "name": "Mira",
        "is_user": False,
        "mes": "*Hello* <script>alert(1)</script>",
        "send_date": "2024-05-01T10:00:00.000Z",
    },
    {"name": "Sam", "is_user": True, "mes": "“Hi,” he said.", "swipes": ["“Hi,” he said.", "No."], "swipe_id": 0},
    {"name": "Mira", "is_user": False, "is_system": True, "mes": "Hidden."},
)
CHAT = lines(HEADER, *SAID)
STREAMS = {"Accept": "text/vnd.turbo-stream.html"}


async def character_of(play: Story) -> UUID:
    async with play.runtime.database.read() as session:
        return (await session.scalars(select(Character.id).order_by(Character.created_at))).first() or uuid4()


async def counted(play: Story, table: type[Space] | type[Conversation]) -> int:
    async with play.runtime.database.read() as session:
        return await session.scalar(select(func.count()).select_from(table)) or 0


async def test_risuai_and_markdown_files_come_back_as_the_same_conversation(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        conversation = await bring_in(play, CHAT)
        for format in ("risuai", "markdown"):
            again = await bring_in(play, await take_out(play, conversation.id, format))
            before, after = [json.loads(line)["mes"] for line in CHAT.splitlines()[1:]], []
            for line in (await take_out(play, again.id)).splitlines()[1:]:
                record = json.loads(line)
                after.append(record["mes"])
                assert record["is_user"] == (record["name"] == "Sam")
            assert after == (before if format == "risuai" else before[:2])


async def test_a_long_conversation_is_one_file_in_every_format(sqlite_url: str, tmp_path: Path) -> None:
    said = [{"name": "Sam", "is_user": True, "mes": f"Line {number}."} for number in range(PAGE + 1)]
    async with open_story(sqlite_url, tmp_path) as play:
        conversation = await bring_in(play, lines(*said))
        risuai = json.loads(await take_out(play, conversation.id, "risuai"))
        assert [message["data"] for message in risuai["data"]["message"]] == [one["mes"] for one in said]
        assert (await take_out(play, conversation.id, "markdown")).count("### Sam <!-- user -->") == len(said)
        html = await take_out(play, conversation.id, "html")
        assert (html.count("<article"), html.count("</html>")) == (len(said), 1)


async def test_html_is_safe_and_needs_nothing_else(sqlite_url: str, tmp_path: Path) -> None:
    shown = {"name": "Mira", "is_user": False, "mes": "See <img src=x onerror=alert(1)>", "extra": {}}
    media = {"media": [{"url": PIXEL, "type": "image", "title": '"A" fox'}, {"url": "/user/a.png", "type": "image"}]}
    async with open_story(sqlite_url, tmp_path) as play:
        chat = lines(HEADER, *SAID, {**shown, "extra": media})
        conversation = await bring_in(play, chat, title="<Evening>")
        html = await take_out(play, conversation.id, "html")
    assert "<script" not in html
    assert "onerror" not in html
    assert "Hidden." not in html
    assert "<title>&lt;Evening&gt;</title>" in html
    assert "<em>Hello</em>" in html
    assert '<q class="said">“Hi,”</q> he said.' in html
    assert '<time datetime="2024-05-01T10:00:00+00:00">2024-05-01 10:00 UTC</time>' in html
    assert f'<img src="{PIXEL}" alt="&#34;A&#34; fox">' in html
    assert "default-src 'none'" in html
    assert "http" not in html.replace("http-equiv", "")


async def test_markdown_names_pictures_by_their_address_here(sqlite_url: str, tmp_path: Path) -> None:
    extra = {"media": [{"url": PIXEL, "type": "image", "title": "A fox"}]}
    async with open_story(sqlite_url, tmp_path) as play:
        conversation = await bring_in(
            play, lines(HEADER, {"name": "Mira", "is_user": False, "mes": "", "extra": extra})
        )
        assert "![A fox](</api/v1/blobs/" in await take_out(play, conversation.id, "markdown")


async def test_every_format_is_served_as_a_file_that_is_saved(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play, api_client(play.runtime, play.user_id) as api:
        conversation = await bring_in(play, CHAT, title="Evening")
        for format, ending in {
            "jsonl": "jsonl",
            "risuai": "json",
            "text": "txt",
            "markdown": "md",
            "html": "html",
        }.items():
            answer = await api.get(f"/conversations/{conversation.id}/export", params={"format": format})
            assert answer.status_code == 200
            assert answer.headers["content-disposition"] == f"attachment; filename*=UTF-8''Evening.{ending}"
            assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"


async def test_chats_of_a_character_go_into_a_new_space_or_one_with_it(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play, api_client(play.runtime, play.user_id) as api:
        address = f"/characters/{await character_of(play)}/chats/import"
        upload = {"file": ("Evening.jsonl", CHAT.encode())}
        made = await api.post(address, files=upload)
        assert made.status_code == 201, made.text
        (conversation,) = made.json()["conversations"]
        assert (conversation["title"], conversation["messages_count"]) == ("Evening", 3)
        assert conversation["space_id"] != str(await space_of(play))
        there = await api.post(address, files=upload, params={"space_id": str(await space_of(play))})
        assert there.json()["conversations"][0]["space_id"] == str(await space_of(play))
        spaces = await counted(play, Space)
        assert (await api.post(address, files={"file": b"{}"})).status_code == 422
        assert (await api.post(address, files=upload, params={"space_id": str(uuid4())})).status_code == 404
        assert await counted(play, Space) == spaces


async def test_chats_go_only_into_spaces_with_the_character(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play, api_client(play.runtime, play.user_id) as api:
        space = (await api.post("/spaces", json={"name": "Empty"})).json()
        address = f"/characters/{await character_of(play)}/chats/import"
        refused = await api.post(address, files={"file": CHAT.encode()}, params={"space_id": space["space"]["id"]})
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid")


async def test_a_long_file_is_imported_into_a_new_space_by_a_job(sqlite_url: str, tmp_path: Path) -> None:
    chat = lines(*({"name": "Sam", "is_user": True, "mes": "Hello."} for _ in range(MAX_AT_ONCE + 1)))
    async with open_story(sqlite_url, tmp_path) as play, api_client(play.runtime, play.user_id) as api:
        address = f"/characters/{await character_of(play)}/chats/import"
        answer = await api.post(address, files={"file": ("Long.jsonl", chat.encode())})
        assert (answer.status_code, answer.json()["kind"]) == (202, "chat_import")


async def exported(api: AsyncClient, address: str, params: Mapping[str, str]) -> dict[str, str]:
    answer = await api.get(address, params=params)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/zip")
    with ZipFile(BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode() for name in archive.namelist()}


async def test_all_chats_of_a_character_are_exported_in_one_archive(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as play, api_client(play.runtime, play.user_id) as api:
        address = f"/characters/{await character_of(play)}/chats"
        for name in ("Evening", "evening", "a/b"):
            await api.post(f"{address}/import", files={"file": (f"{name}.jsonl", CHAT.encode())})
        files = await exported(api, f"{address}/export", {})
        async with play.runtime.database.read() as session:
            space = ((await session.scalars(select(Space.name))).first() or "").lower()
        assert {f"{space} - evening.jsonl", f"{space} - evening (2).jsonl"} <= {name.lower() for name in files}
        assert len(files) == await counted(play, Conversation)
        assert list(files.values()).count(CHAT) == 3
        texts = await exported(api, f"{address}/export", {"format": "text"})
        assert list(texts.values()).count("Mira: *Hello* <script>alert(1)</script>\n\nSam: “Hi,” he said.\n\n") == 3


async def test_chats_are_imported_and_exported_on_the_page_of_a_character(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        address = f"/characters/{await character_of(play)}"
        async with browser(play.runtime, play.user_id) as client:
            page = (await client.get(address)).text
            assert f'action="{address}/chats"' in page
            assert f'action="/api/v1{address}/chats/export"' in page
            assert f'<option value="{await space_of(play)}">' in page
            files = [
                ("file", ("Harbour.jsonl", CHAT.encode())),
                ("file", ("Roof.txt", b"Mira: Hm.\n\nSam: Ho.")),
                ("file", ("other.txt", b"?")),
            ]
            spaces = await counted(play, Space)
            answer = await client.post(f"{address}/chats", files=files, data={"space_id": ""}, headers=STREAMS)
            assert "<strong>Roof.txt</strong> was imported as" in answer.text
            assert "<strong>other.txt</strong> was not imported." in answer.text
            assert "· Harbour</a>" in answer.text
            assert await counted(play, Space) == spaces + 1
            wrong = await client.post(f"{address}/chats", files=files[:1], data={"space_id": "x"}, headers=STREAMS)
            assert "There is no such space." in wrong.text
            alone = await client.post(f"{address}/chats", files=files[:1])
            assert alone.status_code == 303
            assert "he said." in (await client.get(alone.headers["location"])).text


async def test_a_conversation_and_its_tree_offer_every_format(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path) as play:
        here = f"/conversations/{play.conversation_id}"
        async with browser(play.runtime, play.user_id) as client:
            for page in (here, f"{here}/tree"):
                text = (await client.get(page)).text
                for format in ("jsonl", "risuai", "text", "markdown", "html"):
                    assert f'href="/api/v1{here}/export?format={format}"' in text
            assert f'href="/spaces/{await space_of(play)}#imported"' in (await client.get(here)).text
