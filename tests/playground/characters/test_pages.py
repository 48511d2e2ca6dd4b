"""The pages of characters, read without a browser."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest
from sqlalchemy import insert, select, update

from tavernkit.playground.base.database.models import Character, Message, Space
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.edge.app import create_app
from tavernkit.playground.story.background import job_worker
from tavernkit.playground.story.characters.service import edit_character
from tests.characters import card_files
from tests.playground.characters.builders import brought, form, json_card, me, picture, png_card, row, somebody_else
from tests.playground.stories import Story, open_story
from tests.playground.support.counting import counted_statements
from tests.playground.support.web import ORIGIN, api_client
from tests.support.hanging import eventually

pytestmark = pytest.mark.anyio

HOSTILE = '<script>alert("1")</script>'
NOBODY = "/characters/00000000-0000-4000-8000-000000000000"


@asynccontextmanager
async def character_pages(url: str, folder: Path) -> AsyncIterator[tuple[Story, httpx2.AsyncClient]]:
    """Somebody at their own machine, who has nobody but the example's character."""
    async with open_story(url, folder, ScriptedModel()) as play:
        app: Any = create_app(play.runtime, play.user_id)
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN, headers={"Origin": ORIGIN}) as client:
            yield play, client


async def made(play: Story, **fields: Any) -> UUID:
    return (await brought(play, json_card(**fields))).character.id


async def seen(client: httpx2.AsyncClient, path: str, *, status: int = 200) -> str:
    answer = await client.get(path)
    assert answer.status_code == status, answer.text
    return answer.text


def words(html: str) -> str:
    """What stands on the page below the bar."""
    main = html.partition("<main")[2]
    return unescape(" ".join(re.sub(r"<[^>]+>", " ", main).split()))


def names(html: str) -> list[str]:
    return [unescape(name) for name in re.findall(r'class="tile-name" dir="auto">([^<]*)<', html)]


def boxes(html: str) -> dict[str, list[str]]:
    """What the form of the card holds, as a browser would send it."""
    found: dict[str, list[str]] = {}
    area = html.partition('class="form edit-form"')[2].partition("</form>")[0]
    for tag, name, value in re.findall(r'(<input[^>]*name="(\w+)"[^>]*value="([^"]*)"[^>]*>)', area):
        if 'type="checkbox"' not in tag or " checked" in tag:
            found.setdefault(name, []).append(unescape(value))
    for name, options in re.findall(r'<select[^>]*name="(\w+)"[^>]*>(.*?)</select>', area, re.DOTALL):
        found[name] = [unescape(value) for value in re.findall(r'value="([^"]*)" selected', options)]
    for name, value in re.findall(r'<textarea[^>]*name="(\w+)"[^>]*>\n?(.*?)</textarea>', area, re.DOTALL):
        found.setdefault(name, []).append(unescape(value).replace("\n", "\r\n"))
    return found


async def test_the_gallery_is_searched_sorted_and_filtered(database_url: str, tmp_path: Path) -> None:
    async with character_pages(database_url, tmp_path) as (play, client):
        await made(play, name="Zoë", tags=["Harbour", "night"])
        await made(play, name="Åsa", tags=["harbour"], creator="Someone")
        html = await seen(client, "/characters")
        assert {"Zoë", "Åsa"} < set(names(html))
        assert names(await seen(client, "/characters?sort=created"))[:2] == ["Åsa", "Zoë"]
        assert names(await seen(client, "/characters?search=ZOË")) == ["Zoë"]
        assert names(await seen(client, "/characters?tag=Harbour&sort=created")) == ["Åsa", "Zoë"]
        assert names(await seen(client, "/characters?tag=harbour&search=night")) == ["Zoë"]
        chosen = await seen(client, "/characters?tag=harbour")
        assert 'href="/characters" dir="auto" data-turbo-frame="_top" aria-current="true">harbour<' in chosen
        assert 'href="/characters?tag=night"' in chosen
        assert "No characters match." in await seen(client, "/characters?search=nobody+at+all")
        assert "No shared characters." in await seen(client, "/characters?scope=shared")


async def test_own_tags_are_shown_and_searched_like_those_of_the_card(database_url: str, tmp_path: Path) -> None:
    async with character_pages(database_url, tmp_path) as (play, client):
        id = await made(play, name="Zoë", tags=["Harbour"])
        saved = await client.post(f"/characters/{id}/tags", data={"tags": "night , Noir, harbour,, noir"})
        assert saved.status_code == 303
        html = await seen(client, f"/characters/{id}")
        assert re.findall(r'href="/characters\?tag=(\w+)"', html) == ["night", "Noir", "harbour"]
        assert 'value="night, Noir, harbour"' in html
        assert names(await seen(client, "/characters?tag=noir&search=zoë")) == ["Zoë"]
        card = (await row(play, id)).data["data"]
        assert (card["tags"], (await row(play, id)).version) == (["Harbour"], 1)
        async with api_client(play.runtime, play.user_id) as api:
            copy = (await api.post(f"/characters/{id}/duplicate")).json()
            changed = (await api.put(f"/characters/{id}/tags", json={"tags": ["day"]})).json()
        assert (copy["own_tags"], changed["own_tags"], changed["tags"]) == (
            ["night", "Noir", "harbour"], ["day"], ["Harbour"],
        )  # fmt: skip
        assert names(await seen(client, "/characters?tag=noir&sort=created")) == ["Zoë"]


async def test_thousands_are_shown_a_page_at_a_time(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        template = await row(play, await made(play, name="Template"))
        fixed = {column.key: getattr(template, column.key) for column in Character.__table__.c}
        async with play.runtime.database.write() as session:
            await session.execute(
                insert(Character),
                [
                    {**fixed, "id": uuid4(), "name": f"Guest {n:04}", "name_key": f"guest {n:04}", "file_sha256": None}
                    for n in range(5000)
                ],
            )
        found: list[str] = []
        html = await seen(client, "/characters?search=")
        with counted_statements(play.runtime.database) as statements:
            await seen(client, "/characters")
        assert len(statements) <= 6
        assert len(names(html)) == 48
        while True:
            found += names(html)
            more = re.search(r'<turbo-frame id="(more_[^"]+)"[^>]*>\s*<a[^>]*href="([^"]+)"', html)
            if more is None or len(found) > 400:
                break
            answer = await client.get(unescape(more[2]), headers={"Turbo-Frame": more[1]})
            html = answer.text
            assert html.strip().startswith(f'<turbo-frame id="{more[1]}">')
        guests = [name for name in found if name.startswith("Guest")]
        assert guests == [f"Guest {n:04}" for n in range(len(guests))]
        assert len(guests) > 380


async def test_the_next_page_works_without_scripts_and_a_foreign_cursor_is_a_sentence(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        for n in range(50):
            await made(play, name=f"Guest {n:02}", creator=f"Somebody {n}")
        html = await seen(client, "/characters?search=guest")
        more = re.search(r'href="([^"]*after=[^"]*)"', html)
        assert more
        second = await seen(client, unescape(more[1]))
        assert names(second) == ["Guest 48", "Guest 49"]
        assert 'href="/characters?search=guest">Back to first page' in second
        assert "does not belong to this list" in await seen(client, "/characters?after=nonsense", status=422)


async def test_files_are_imported_and_the_page_can_be_left(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        files = form(png_card(name="Anna"), b"%PDF-1.7", json_card(name="Berta"), card_files.charx(card_files.v3()))
        answer = await client.post("/characters/imports", files=files)
        assert answer.status_code == 303
        address = answer.headers["location"]
        waiting = words(await seen(client, address))
        assert "0 of 4 files" in waiting
        assert waiting.count("Waiting.") == 4
        assert f'href="{address}"' in await seen(client, "/characters")
        worker = job_worker(play.runtime, "w")
        task = asyncio.create_task(worker.run())
        streams, after = "", "0"

        async def is_over() -> bool:
            nonlocal streams, after
            told = await client.get(f"{address}/progress", params={"after": after})
            assert told.headers["content-type"].startswith("text/vnd.turbo-stream.html")
            streams += told.text
            after = re.findall(r'data-next="(\d+)"', told.text)[0]
            return "data-over" in streams

        await eventually(is_over)
        worker.stop()
        await task
        assert [streams.count(f'target="file_{n}"') >= 1 for n in range(4)] == [True] * 4
        html = await seen(client, address)
        shown = words(html)
        assert "4 of 4 files" in shown
        assert "Done: 3 imported, 1 not readable." in shown
        assert shown.count("New story") == 3
        assert "it looks like a PDF document" in shown
        failed = words(await seen(client, f"{address}?only_failed=true"))
        assert "card 1" in failed
        assert "Anna" not in failed
        assert "Import in progress" not in await seen(client, "/characters")


async def test_an_import_is_stopped_and_belongs_to_who_began_it(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        answer = await client.post("/characters/imports", files=form(json_card(name="Anna")))
        address = answer.headers["location"]
        stopped = await client.post(f"{address}/stop", follow_redirects=True)
        assert "The import was stopped" in stopped.text
        assert "Not imported." in stopped.text
        other: Any = create_app(play.runtime, (await somebody_else(play)).user_id)
        async with httpx2.AsyncClient(
            transport=httpx2.ASGITransport(other), base_url=ORIGIN, headers={"Origin": ORIGIN}
        ) as stranger:
            await seen(stranger, address, status=404)
            await seen(stranger, f"{address}/progress?after=0", status=404)
            assert (await stranger.post(f"{address}/stop")).status_code == 404


async def test_a_form_without_files_says_so_on_the_gallery(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (_, client):
        answer = await client.post("/characters/imports", data={"files": ""})
        assert answer.status_code == 422
        assert 'role="alert"' in answer.text
        assert 'class="tiles"' in answer.text


async def test_a_card_is_shown_with_everything_it_says(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        card = png_card(
            name="Ysolde", nickname="Sol", description="*Mends* clocks.", first_mes='"Tick," she says.',
            alternate_greetings=["", "Tock."], group_only_greetings=["All at once."], system_prompt="Be exact.",
        )  # fmt: skip
        character = (await brought(play, card)).character
        html = await seen(client, f"/characters/{character.id}")
        assert "<em>Mends</em> clocks." in html
        assert '<q class="said">' in html
        assert f'src="/api/v1/blobs/{character.avatar_sha256}"' in html
        shown = words(html)
        for sentence in (
            "Nickname: Sol.",
            "By me.",
            "Alternate greeting 1",
            "Group-only greeting",
            "Lore : 1 entry, 1 enabled.",
            "Be exact.",
        ):
            assert sentence in shown
        assert [f"export?format={kind}" in html for kind in ("png", "json", "charx")] == [True] * 3
        await seen(client, NOBODY, status=404)


async def test_nothing_in_a_card_runs(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        texts = ("name", "nickname", "description", "personality", "scenario", "first_mes", "mes_example", "creator",
                 "creator_notes", "system_prompt", "post_history_instructions", "character_version")  # fmt: skip
        book = {"name": HOSTILE, "description": HOSTILE, "entries": [{"keys": [HOSTILE], "content": HOSTILE}]}
        id = await made(
            play, **dict.fromkeys(texts, HOSTILE), tags=[HOSTILE], alternate_greetings=[HOSTILE], character_book=book
        )
        await edit_character(play.runtime, me(play), id, version=1, fields={"creator": f"{HOSTILE}2"})
        paths = ("", "/edit", "/versions", "/versions/1", "/delete")
        pages = [await seen(client, f"/characters/{id}{path}") for path in paths] + [await seen(client, "/characters")]
        assert not [page for page in pages if "<script>alert" in page]


async def test_a_story_begins_with_the_greeting_that_was_chosen(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        id = await made(play, first_mes="Tick.", alternate_greetings=["  ", "Tock.", "Clang."])

        async def first_words(**data: str) -> str:
            answer = await client.post(f"/characters/{id}/stories", data=data)
            assert answer.status_code == 303
            conversation = UUID(answer.headers["location"].rpartition("/")[2])
            async with play.runtime.database.read() as session:
                said = await session.scalars(select(Message).where(Message.conversation_id == conversation))
                return said.one().content

        assert await first_words() == "Tick."
        assert await first_words(greeting="1") == "Tock."
        assert await first_words(greeting="2") == "Clang."
        assert await first_words(greeting="9") == "Tick."
        assert (await client.post(f"{NOBODY}/stories")).status_code == 404


async def test_saving_what_nobody_touched_changes_nothing(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        id = await made(
            play,
            description="\n\nOne\r\nTwo\rThree",
            alternate_greetings=["", "Tock."],
            tags=["a, b", "c"],
            nickname="",
        )
        before = (await row(play, id)).data
        sent = boxes(await seen(client, f"/characters/{id}/edit"))
        answer = await client.post(f"/characters/{id}/edit", data=sent)
        assert answer.status_code == 303
        after = await row(play, id)
        assert (after.version, after.data) == (1, before)


async def test_fields_are_changed_and_the_others_stay(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        id = await made(play, name="Anna", description="One\r\nTwo")
        sent = boxes(await seen(client, f"/characters/{id}/edit"))
        sent |= {
            "name": ["Anna Lind"],
            "tags": ["sea, , salt"],
            "alternate_greetings": ["", "Ahoy."],
            "nickname": ["An"],
        }
        sent["scenario"] = ["A shop.\r\nIt rains. " + "雨" * 200_000]
        answer = await client.post(f"/characters/{id}/edit", data=sent)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/characters/{id}")
        after = await row(play, id)
        card = after.data["data"]
        assert (after.name, after.nickname, after.version) == ("Anna Lind", "An", 2)
        assert (card["tags"], card["alternate_greetings"]) == (["sea", "salt"], ["Ahoy."])
        assert card["scenario"].startswith("A shop.\nIt rains. 雨雨")
        assert card["description"] == "One\r\nTwo"


async def test_what_cannot_be_saved_is_kept_in_the_form(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        id = await made(play, name="Anna")
        for wrong, sentence in (
            ({"name": " "}, "needs a name"),
            ({"creator": "x" * 1001}, "too long: Creator. Shorten them"),
        ):
            answer = await client.post(f"/characters/{id}/edit", data={"version": "1", "scenario": "Typed.", **wrong})
            assert answer.status_code == 422
            assert sentence in answer.text
            held = boxes(answer.text)
            assert (held["scenario"], held["version"]) == (["Typed."], ["1"])
        assert (await row(play, id)).version == 1
        assert (await client.post(f"/characters/{id}/edit", data={"name": "Bo"})).status_code == 422


async def test_two_who_edit_lose_no_words(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        id = await made(play, name="Anna", description="Small.", scenario="A shop.", personality="exact")
        sent = boxes(await seen(client, f"/characters/{id}/edit"))
        elsewhere = {"description": "Tall.", "scenario": "A ship."}
        await edit_character(play.runtime, me(play), id, version=1, fields=elsewhere)
        sent |= {"description": ["Round."], "personality": ["kind"]}
        answer = await client.post(f"/characters/{id}/edit", data=sent)
        assert answer.status_code == 409
        held = boxes(answer.text)
        assert (held["description"], held["scenario"], held["personality"]) == (["Round."], ["A ship."], ["kind"])
        assert held["version"] == ["2"]
        assert re.findall(r'id="now_(\w+)"', answer.text) == ["description"]
        assert ">Tall.</pre>" in answer.text
        assert (await client.post(f"/characters/{id}/edit", data=held)).status_code == 303
        card = (await row(play, id)).data["data"]
        assert (card["description"], card["scenario"], card["personality"]) == ("Round.", "A ship.", "kind")


async def test_an_earlier_version_comes_back(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        id = await made(play, name="Anna", description="Small.")
        await edit_character(play.runtime, me(play), id, version=1, fields={"description": "Tall."})
        assert "Version 1 replaced by an edit" in words(await seen(client, f"/characters/{id}"))
        assert "Version 1" in await seen(client, f"/characters/{id}/versions")
        shown = words(await seen(client, f"/characters/{id}/versions/1"))
        assert "Version 1 Small. Current version Tall." in shown
        stale = await client.post(f"/characters/{id}/versions/1/restore", data={"version": "1"})
        assert stale.status_code == 409
        assert "changed in the meantime" in stale.text
        assert (await client.post(f"/characters/{id}/versions/1/restore", data={"version": "2"})).status_code == 303
        after = await row(play, id)
        assert (after.version, after.data["data"]["description"]) == (3, "Small.")
        await seen(client, f"/characters/{id}/versions/9", status=404)
        await seen(client, f"/characters/{id}/versions?after=nonsense", status=422)


async def test_deleting_says_what_goes_and_what_stays(database_url: str, tmp_path: Path) -> None:
    async with character_pages(database_url, tmp_path) as (play, client):
        id = await made(play, name="Anna")
        assert "has no messages" in words(await seen(client, f"/characters/{id}/delete"))
        await client.post(f"/characters/{id}/stories")
        async with play.runtime.database.write() as session:
            await session.execute(update(Space).where(Space.name == "Anna").values(name="The long winter"))
        await edit_character(play.runtime, me(play), id, version=1, fields={"description": "Tall."})
        shown = words(await seen(client, f"/characters/{id}/delete"))
        for sentence in (
            "The card goes to the trash, with its files and earlier versions.",
            "removed from these stories: The long winter .",
            "Messages of Anna are kept",
        ):
            assert sentence in shown
        answer = await client.post(f"/characters/{id}/delete")
        assert (answer.status_code, answer.headers["location"]) == (303, f"/characters?trashed=character/{id}")
        await seen(client, f"/characters/{id}", status=404)
        assert "Moved to the trash. Undo" in words(await seen(client, answer.headers["location"]))


async def test_what_is_everybodys_can_be_copied_and_not_changed(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, _):
        id = await made(play, name="Anna")
        async with play.runtime.database.write() as session:
            await session.execute(update(Character).where(Character.id == id).values(owner_id=None))
        app: Any = create_app(play.runtime, (await somebody_else(play)).user_id)
        async with httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app), base_url=ORIGIN, headers={"Origin": ORIGIN}
        ) as client:
            assert names(await seen(client, "/characters?scope=shared")) == ["Anna"]
            html = await seen(client, f"/characters/{id}")
            assert "/edit" not in html
            assert "/delete" not in html
            await seen(client, f"/characters/{id}/edit", status=403)
            await seen(client, f"/characters/{id}/delete", status=403)
            assert (await client.post(f"/characters/{id}/delete")).status_code == 403
            copy = await client.post(f"/characters/{id}/duplicate", follow_redirects=True)
            assert "/edit" in copy.text


async def test_a_character_gets_another_picture(sqlite_url: str, tmp_path: Path) -> None:
    async with character_pages(sqlite_url, tmp_path) as (play, client):
        id = await made(play, name="Anna")
        assert (
            await client.post(f"/characters/{id}/picture", files=form(picture("red"), field="file"))
        ).status_code == 303
        assert (await row(play, id)).avatar_sha256 is not None
        broken = await client.post(f"/characters/{id}/picture", files=form(b"no picture", field="file"))
        assert broken.status_code == 422
        assert "The picture cannot be read" in broken.text
