"""Pictures and files: for those who may see what they belong to, and safe to open."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import select

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.blobs.media_types import media_type_of
from tavernkit.playground.base.database.models import Blob, Character, Persona, Space, SpaceMembership
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.access.blobs import find_blob
from tavernkit.playground.story.characters.service import set_avatar
from tests.characters import card_files
from tests.playground.characters.builders import brought, me, picture, png_card, somebody_else
from tests.playground.stories import Story, open_story
from tests.playground.support.web import api_client

pytestmark = pytest.mark.anyio

HOSTILE = b"<html><script>alert(1)</script></html>"


async def sees(play: Story, viewer: Viewer, sha256: str | None) -> bool:
    async with play.runtime.database.read() as session:
        return await find_blob(session, sha256 or "", viewer) is not None


async def test_a_picture_is_served_for_ever_and_by_what_it_is(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        character = (await brought(play, png_card())).character
        answer = await client.get(f"/blobs/{character.avatar_sha256}")
        assert (answer.status_code, answer.content) == (200, picture())
        assert answer.headers["content-type"] == "image/png"
        assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
        assert answer.headers["x-content-type-options"] == "nosniff"
        again = await client.get(f"/blobs/{character.avatar_sha256}", headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        small = await client.get(f"/characters/{character.id}/avatar", params={"size": "thumbnail"})
        assert (small.headers["content-type"], small.headers["cache-control"]) == ("image/webp", "private, no-cache")
        assert (await client.get(f"/blobs/{'0' * 64}")).status_code == 404
        assert (await client.get("/blobs/../../etc/passwd")).status_code in (404, 422)
        assert (await client.get(f"/blobs/{'X' * 64}")).status_code == 422


async def test_what_a_browser_might_run_is_only_ever_saved(sqlite_url: str, tmp_path: Path) -> None:
    file = card_files.charx(card_files.v3(), **{"a.png": HOSTILE, "b.svg": b"<svg onload='alert(1)'/>"})
    async with (
        open_story(sqlite_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        character = (await brought(play, file)).character
        assets = (await client.get(f"/characters/{character.id}")).json()["assets"]
        assert len(assets) == 2
        for asset in assets:
            answer = await client.get(f"/blobs/{asset['sha256']}")
            assert answer.headers["content-type"] == "application/octet-stream"
            assert answer.headers["content-disposition"] == "attachment"
            assert "sandbox" in answer.headers["content-security-policy"]


async def test_only_who_may_see_the_character_sees_its_picture(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        async with play.runtime.database.read() as session:
            character = (await session.scalars(select(Character))).one()
            space = (await session.scalars(select(Space))).one()
        await set_avatar(play.runtime, me(play), character.id, picture())
        async with play.runtime.database.read() as session:
            sha256 = (await session.get_one(Character, character.id)).avatar_sha256
        other = await somebody_else(play)
        assert await sees(play, me(play), sha256)
        assert not await sees(play, other, sha256)
        member = SpaceMembership(
            id=uuid4(),
            space_id=space.id,
            kind="human",
            user_id=other.user_id,
            cached_display_name="Else",
            created_at=play.runtime.clock(),
        )
        async with play.runtime.database.write() as session:
            session.add(member)
        assert await sees(play, other, sha256)
        async with play.runtime.database.write() as session:
            (await session.get_one(SpaceMembership, member.id)).status = "removed"
        assert not await sees(play, other, sha256)
        async with play.runtime.database.write() as session:
            (await session.get_one(Character, character.id)).owner_id = None
        assert await sees(play, other, sha256)


async def test_a_personas_picture_is_its_owners(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        now, sha256 = play.runtime.clock(), "a" * 64
        other = await somebody_else(play)
        async with play.runtime.database.write() as session:
            session.add(Blob(sha256=sha256, media_type="image/png", size=1, data=b"x", created_at=now))
            await session.flush()
            session.add(
                Persona(
                    id=uuid4(), owner_id=play.user_id, name="Me", avatar_sha256=sha256, created_at=now, updated_at=now
                )
            )
        assert await sees(play, me(play), sha256)
        assert not await sees(play, other, sha256)


async def test_more_than_the_limit_is_not_even_read(sqlite_url: str, tmp_path: Path) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
        while sent < 200:
            sent += 1
            yield b"\0" * 1024 * 1024

    async with (
        open_story(sqlite_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        refused = await client.post(
            "/characters", content=endless(), headers={"Content-Type": "multipart/form-data; boundary=x"}
        )
        assert (refused.status_code, refused.json()["error"]["code"]) == (413, "too_large")
        assert sent < 70


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (picture(), "image/png"),
        (picture(format="JPEG"), "image/jpeg"),
        (picture(format="WEBP"), "image/webp"),
        (picture(format="GIF"), "image/gif"),
        (b"RIFF\0\0\0\0WAVE", "audio/wav"),
        (b"ID3\x04", "audio/mpeg"),
        (b"\0\0\0\x20ftypisom", "video/mp4"),
        (b"\0\0\0\x20ftypavif", "image/avif"),
        (HOSTILE, "application/octet-stream"),
        (b"", "application/octet-stream"),
    ],
)
def test_bytes_tell_themselves_what_they_are(data: bytes, media_type: str) -> None:
    assert media_type_of(data) == media_type
