"""A scan says what is in a folder and how it compares with what is here, and writes nothing into the library."""

import hashlib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import func, select

from tavernkit.playground.base.database.base import Base
from tavernkit.playground.base.database.models import ImportItem, ImportSource, Lorebook
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.lorebooks.service import delete_lorebook, import_lorebook
from tavernkit.playground.story.migration import scanning
from tavernkit.playground.story.migration.choices import ImportChoices
from tavernkit.playground.story.migration.queries import ItemFilter, imports_page, item_totals, items_page
from tavernkit.playground.story.migration.service import (
    choose_for_item,
    import_from_path,
    start_import,
    start_scan,
)
from tests.playground.migration.support import (
    KEY,
    Interrupted,
    chat,
    count,
    imported,
    lines,
    migrating,
    migrating_story,
    scanned,
    shown,
    world,
    write_folder,
)
from tests.playground.stories import Story, open_story
from tests.playground.support.databases import on_sqlite
from tests.playground.support.jobs import ended_job

pytestmark = pytest.mark.anyio

OF_IMPORTS = {"import_sources", "folder_imports", "import_items", "jobs"}

FOLDER = {
    "settings.json": {"power_user": {}, "oai_settings": {"proxy_password": KEY}},
    "secrets.json": {"api_key_openai": KEY},
    "worlds/Harbour.json": world("Harbour", "It is foggy."),
    "characters/Anna.png": b"a picture",
    "chats/Anna/one.jsonl": chat("Hello.", "Who is there?"),
    "chats/Anna/two.jsonl": chat("Hello.", "Nobody.", main_chat="one"),
    "chats/Bert/one.jsonl": chat("Hello."),
    "groups/1.json": {"id": "1", "members": ["Anna.png", "Carol.png"], "chats": ["g1", "g2"]},
    "group chats/g1.jsonl": chat("Hello."),
    "group chats/stray.jsonl": chat("Hello."),
    "extensions/third/index.js": b"alert(1)",
    "thumbnails/bg/one.png": b"small",
}


async def rows_of_library(story: Story) -> dict[str, int]:
    async with story.runtime.database.read() as session:
        return {
            name: await session.scalar(select(func.count()).select_from(table)) or 0
            for name, table in Base.metadata.tables.items()
            if name not in OF_IMPORTS
        }


async def test_v01_a_scan_writes_nothing_and_shows_what_there_is(database_url: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "default-user", FOLDER)
    async with migrating_story(database_url, tmp_path) as story:
        before = await rows_of_library(story)
        row = await scanned(story, folder)
        assert await rows_of_library(story) == before
        assert row.status == "scanned"
        assert row.name == "default-user"
        found = await lines(story, row)
        assert found.keys() == FOLDER.keys()
        sizes = sum((folder / path).stat().st_size for path in FOLDER)
        states = {"new": len(FOLDER) - 2, "refused": 2}
        assert row.summary["scanned"] == {"files": len(FOLDER), "bytes": sizes, "states": states}
        async with story.runtime.database.read() as session:
            totals = {(line[0], line[1]): line[3] for line in await item_totals(session, row.id)}
            (listed,) = await imports_page(session, story.viewer, None, 10)
            worlds = await items_page(
                session, row.id, ItemFilter(kinds=("world",), states=("new",), text="HARB"), None, 9
            )
            assert await items_page(session, row.id, ItemFilter(text="100%"), None, 9) == []
        assert totals["chat", "new"] == 3
        assert totals["secret", "refused"] == 1
        assert listed.id == row.id
        assert [item.path for item in worlds] == ["worlds/Harbour.json"]
        assert row.summary["broken_links"] == [
            "chats/Bert/ → characters/Bert.png",
            "groups/1.json → group chats/g2.jsonl",
            "groups/1.json → characters/Carol.png",
            "group chats/stray.jsonl → groups/",
        ]
        assert row.summary["secrets"] == ["secrets.json", "settings.json: oai_settings.proxy_password"]
        assert row.summary["verdicts"] == {"refused": 2}


async def test_files_with_keys_and_programs_are_not_read(database_url: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", FOLDER)
    (folder / "worlds/link.json").symlink_to(tmp_path / "elsewhere.json")
    async with migrating_story(database_url, tmp_path) as story:
        row = await scanned(story, folder)
        found = await lines(story, row)
        for path in ("secrets.json", "extensions/third/index.js", "worlds/link.json"):
            assert (found[path].verdict, found[path].sha256) == ("refused", None)
            assert len(found[path].notes) == 1
        assert "keys" in found["secrets.json"].notes[0]
        with pytest.raises(Refused, match="Nothing can be chosen"):
            await choose_for_item(story.runtime, story.viewer, row.id, found["secrets.json"].position, "skip")


async def test_chats_are_put_into_trees_and_ranked_behind_their_parents(database_url: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", FOLDER)
    async with migrating_story(database_url, tmp_path) as story:
        row = await scanned(story, folder)
        async with story.runtime.database.read() as session:
            rows = await session.scalars(select(ImportItem).where(ImportItem.import_id == row.id))
            items = {item.path: item for item in rows}
        parent, copy = items["chats/Anna/one.jsonl"], items["chats/Anna/two.jsonl"]
        assert (parent.rank, parent.plan) == (100, {})
        assert copy.rank == 101
        assert copy.plan == {"parent": parent.path, "fork": 1, "certain": True, "kind": "branch", "depth": 1}
        assert items["worlds/Harbour.json"].rank < items["characters/Anna.png"].rank < parent.rank
        assert items["groups/1.json"].rank < items["group chats/g1.jsonl"].rank
        content = (folder / parent.path).read_bytes()
        assert parent.sha256 == hashlib.sha256(content).hexdigest()
        assert parent.modified == datetime.fromtimestamp((folder / parent.path).stat().st_mtime, UTC)


async def test_a_second_scan_compares_with_what_was_imported(database_url: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", {f"worlds/{name}.json": world(name) for name in "ABC"})
    async with migrating_story(database_url, tmp_path) as story:
        first = await imported(story, folder)
        write_folder(folder, {"worlds/B.json": world("B", "More."), "worlds/D.json": world("D")})
        (folder / "worlds/C.json").unlink()
        row = await scanned(story, folder)
        assert row.source_id == first.source_id
        found = await lines(story, row)
        assert {path: line.state for path, line in found.items()} == {
            "worlds/A.json": "same",
            "worlds/B.json": "changed",
            "worlds/D.json": "new",
        }
        assert found["worlds/B.json"].target_id == (await lines(story, first))["worlds/B.json"].target_id
        assert row.summary["gone"] == 1


async def test_another_installation_with_the_same_shipped_files_is_another_source(
    database_url: str, tmp_path: Path
) -> None:
    shipped = {f"worlds/{name}.json": world(name) for name in "ABC"}
    first = write_folder(tmp_path / "first", {**shipped, "chats/Anna/2024-01-01.jsonl": chat("Hello.")})
    second = write_folder(tmp_path / "second", {**shipped, "chats/Anna/2024-02-02.jsonl": chat("Hello.")})
    again = write_folder(tmp_path / "again", {"chats/Anna/2024-01-01.jsonl": chat("Hello.", "More.")})
    async with migrating_story(database_url, tmp_path) as story:
        source_id = (await imported(story, first)).source_id
        assert (await scanned(story, second)).source_id != source_id
        assert (await scanned(story, again)).source_id == source_id
        assert await count(story, ImportSource) == 2


async def test_the_same_bytes_from_elsewhere_are_a_duplicate_of_one_thing(database_url: str, tmp_path: Path) -> None:
    content = b'{"name": "Harbour", "entries": {}}'
    folder = write_folder(tmp_path / "data", {"worlds/Harbour.json": content, "worlds/Copy.json": content})
    async with migrating_story(database_url, tmp_path) as story:
        book, _report = await import_lorebook(story.runtime, story.viewer, content)
        found = await lines(story, await scanned(story, folder))
        assert {(line.state, line.target_id) for line in found.values()} == {("duplicate", book.id), ("new", None)}
        await delete_lorebook(story.runtime, story.viewer, book.id)
        found = await lines(story, await scanned(story, folder))
        assert {line.state for line in found.values()} == {"new"}


async def test_a_copy_of_a_file_of_the_same_source_is_new(database_url: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", {"worlds/A.json": world("A"), "worlds/B.json": world("B")})
    async with migrating_story(database_url, tmp_path) as story:
        await imported(story, folder)
        write_folder(folder, {"worlds/A copy.json": world("A")})
        found = await lines(story, await scanned(story, folder))
        assert found["worlds/A copy.json"].state == "new"


async def test_a_scan_goes_on_behind_every_step(database_url: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", FOLDER)
    async with open_story(database_url, tmp_path) as story:
        row = await import_from_path(story.runtime, story.viewer, folder)
        steps = 0
        while not await Interrupted.steps_of(story, 1):
            steps += 1
        assert steps > 5
        assert (await shown(story, row.id)).status == "scanned"
        interrupted = await lines(story, row)
        async with migrating(story.runtime):
            whole = await lines(story, await scanned(story, folder))
        assert interrupted == whole


@on_sqlite
async def test_a_scan_starts_over_where_the_folder_has_changed_meanwhile(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "FILES_AT_ONCE", 20)
    folder = write_folder(tmp_path / "data", {f"worlds/{number:03}.json": world(str(number)) for number in range(30)})
    async with open_story(database_url, tmp_path) as story:
        row = await import_from_path(story.runtime, story.viewer, folder)
        assert not await Interrupted.steps_of(story, 1)
        assert await count(story, ImportItem) == 20
        write_folder(folder, {"worlds/000a.json": world("Earlier")})
        assert await Interrupted.steps_of(story, 100)
        assert len(await lines(story, row)) == 31


@on_sqlite
async def test_what_is_no_folder_of_another_application_fails_with_a_sentence(
    database_url: str, tmp_path: Path
) -> None:
    folder = write_folder(tmp_path / "holiday", {"beach.txt": b"sand"})
    async with migrating_story(database_url, tmp_path) as story:
        row = await scanned(story, folder)
        assert row.status == "failed"
        assert row.error is not None
        assert "SillyTavern" in row.error["message"]
        with pytest.raises(Refused, match="does not exist"):
            await import_from_path(story.runtime, story.viewer, tmp_path / "nowhere")


@on_sqlite
async def test_a_folder_can_be_scanned_again_until_it_is_imported(database_url: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", {"worlds/A.json": world("A")})
    async with migrating_story(database_url, tmp_path) as story:
        row = await scanned(story, folder)
        write_folder(folder, {"worlds/B.json": world("B")})
        again = await start_scan(story.runtime, story.viewer, row.id)
        assert again.job_id is not None
        await ended_job(story.runtime, again.job_id)
        assert (await lines(story, row)).keys() == {"worlds/A.json", "worlds/B.json"}
        await imported(story, await shown(story, row.id))
        assert await count(story, Lorebook) == 2
        with pytest.raises(Refused, match="ended"):
            await start_scan(story.runtime, story.viewer, row.id)


@on_sqlite
async def test_nobody_sees_the_imports_of_others(database_url: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", {"worlds/A.json": world("A")})
    async with migrating_story(database_url, tmp_path) as story:
        row = await scanned(story, folder)
        other = story.viewer.with_(user_id=story.runtime.ids())
        async with story.runtime.database.read() as session:
            assert await imports_page(session, other, None, 10) == []
        with pytest.raises(Refused, match="does not exist"):
            await start_scan(story.runtime, other, row.id)
        with pytest.raises(Refused, match="does not exist"):
            await start_import(story.runtime, other, row.id, ImportChoices())
