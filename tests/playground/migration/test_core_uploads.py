"""Files that somebody sends lie in a folder of the import's own, under limits, until it is over."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from zipfile import ZipFile

import pytest

from tavernkit.playground.base.database.models import FolderImport, ImportItem, Lorebook
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.migration.choices import ImportChoices
from tavernkit.playground.story.migration.service import (
    begin_import,
    discard_import,
    receive_file,
    start_import,
    start_scan,
)
from tavernkit.playground.story.sweeping import UPLOAD_KEPT
from tests.playground.migration.support import (
    book_names,
    count,
    imported,
    lines,
    migrating,
    migrating_story,
    shown,
    swept,
    world,
    write_folder,
)
from tests.playground.stories import Story, open_story
from tests.playground.support.databases import on_sqlite
from tests.playground.support.jobs import ended_job

pytestmark = [pytest.mark.anyio, on_sqlite]


async def pieces(content: bytes, size: int = 7) -> AsyncIterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


async def send(story: Story, row: FolderImport, path: str, content: bytes) -> int:
    return await receive_file(story.runtime, story.viewer, row.id, path, pieces(content))


async def scanned_upload(story: Story, row: FolderImport) -> FolderImport:
    begun = await start_scan(story.runtime, story.viewer, row.id)
    assert begun.job_id is not None
    await ended_job(story.runtime, begun.job_id)
    return await shown(story, row.id)


BOOK = b'{"name": "Harbour", "entries": {}}'


async def test_a_folder_that_is_sent_is_imported_and_its_files_are_removed(database_url: str, tmp_path: Path) -> None:
    async with migrating_story(database_url, tmp_path) as story:
        row = await begin_import(story.runtime, story.viewer, name="my folder")
        with pytest.raises(Refused, match="No files have arrived"):
            await start_scan(story.runtime, story.viewer, row.id)
        assert await send(story, row, "default-user/worlds/Harbour.json", b"{}") == 2
        assert await send(story, row, "default-user/worlds/Harbour.json", BOOK) == len(BOOK)
        await send(story, row, "default-user/themes/夜 – 👨‍👩‍👧.json", b"{}")
        folder = tmp_path / "imports" / str(row.id)
        file = folder / "default-user/worlds/Harbour.json"
        assert file.read_bytes() == BOOK
        assert [path.stat().st_mode & 0o777 for path in (folder, file.parent, file)] == [0o700, 0o700, 0o600]
        row = await scanned_upload(story, row)
        assert row.summary["received"] == {"files": 2, "bytes": len(BOOK) + 2}
        with pytest.raises(Refused, match="no more files"):
            await send(story, row, "late.json", b"{}")
        await imported(story, row)
        assert await book_names(story) == ["Harbour"]
        assert not list((tmp_path / "imports").iterdir())


async def test_an_archive_that_comes_alone_is_what_is_imported(database_url: str, tmp_path: Path) -> None:
    packed = tmp_path / "packed.zip"
    with ZipFile(packed, "w") as archive:
        archive.writestr("worlds/Harbour.json", BOOK)
        archive.writestr("settings.json", "{}")
    async with migrating_story(database_url, tmp_path) as story:
        row = await begin_import(story.runtime, story.viewer, name="packed.zip")
        await send(story, row, "packed.zip", packed.read_bytes())
        row = await scanned_upload(story, row)
        assert row.place.endswith("packed.zip")
        assert (await lines(story, row)).keys() == {"worlds/Harbour.json", "settings.json"}
        await imported(story, row)
        assert await book_names(story) == ["Harbour"]


@pytest.mark.parametrize(
    "path",
    ["", "/etc/passwd", "../up.json", "a/../../b", "a//b", "a/.", "a\\b", "a\nb", "a\x00b", "\ud800", "n" * 256,
     "/".join("a" * 40)],
)  # fmt: skip
async def test_v19_a_path_that_leaves_its_folder_is_refused(database_url: str, tmp_path: Path, path: str) -> None:
    async with open_story(database_url, tmp_path) as story:
        row = await begin_import(story.runtime, story.viewer, name="folder")
        with pytest.raises(Refused, match="not a file below the folder"):
            await send(story, row, path, b"{}")
        assert not (tmp_path / "imports").exists()


async def test_an_upload_has_limits_on_bytes_and_files(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, import_bytes=20, import_files=2) as story:
        row = await begin_import(story.runtime, story.viewer, name="folder")
        await send(story, row, "a.json", b"0123456789")
        with pytest.raises(Refused, match="larger than this server accepts") as refused:
            await send(story, row, "b.json", b"0123456789!")
        assert refused.value.status == 413
        # What is sent once more takes the room of what it replaces.
        await send(story, row, "a.json", b"01234567")
        await send(story, row, "b.json", b"01234567")
        with pytest.raises(Refused, match="at most 2 files"):
            await send(story, row, "c.json", b"")
        folder = tmp_path / "imports"
        assert sorted(path.name for path in folder.rglob("*") if path.is_file()) == ["a.json", "b.json"]


async def test_a_file_cannot_stand_where_a_folder_is(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        row = await begin_import(story.runtime, story.viewer, name="folder")
        await send(story, row, "a", b"{}")
        with pytest.raises(Refused, match="cannot be stored at this path"):
            await send(story, row, "a/b", b"{}")


async def test_a_connection_that_breaks_off_leaves_no_part_of_a_file(database_url: str, tmp_path: Path) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"half"
        raise ConnectionResetError

    async with open_story(database_url, tmp_path) as story:
        row = await begin_import(story.runtime, story.viewer, name="folder")
        with pytest.raises(Refused, match="cannot be stored"):
            await receive_file(story.runtime, story.viewer, row.id, "a.json", broken())
        assert [path for path in (tmp_path / "imports").rglob("*") if path.is_file()] == []


async def test_an_upload_that_is_gone_fails_with_a_sentence(database_url: str, tmp_path: Path) -> None:
    async with migrating_story(database_url, tmp_path) as story:
        row = await begin_import(story.runtime, story.viewer, name="folder")
        await send(story, row, "worlds/Harbour.json", BOOK)
        row = await scanned_upload(story, row)
        (tmp_path / "imports" / str(row.id)).rename(tmp_path / "away")
        row = await imported(story, row)
        assert row.error is not None
        assert row.error["message"] == "The files of this import are gone. Send them again."


async def test_the_files_of_an_import_that_is_discarded_or_forgotten_are_removed(
    database_url: str, tmp_path: Path
) -> None:
    uploads = tmp_path / "imports"
    async with migrating_story(database_url, tmp_path) as story:
        discarded, forgotten, begun, waiting = [
            await begin_import(story.runtime, story.viewer, name=name) for name in ("one", "two", "three", "four")
        ]
        for row in (discarded, forgotten, begun, waiting):
            await send(story, row, "worlds/Harbour.json", BOOK)
            await send(story, row, "worlds/Other.json", b'{"name": "Other", "entries": {}}')
        await discard_import(story.runtime, story.viewer, discarded.id)
        await discard_import(story.runtime, story.viewer, discarded.id)
        assert not (uploads / str(discarded.id)).exists()
        await scanned_upload(story, forgotten)
        await scanned_upload(story, begun)
        write_folder(uploads / str(story.runtime.ids()), {"worlds/Nobody's.json": world("Nobody's")})
        write_folder(uploads / "something else", {"kept.json": world("Kept")})
        story.skipped += UPLOAD_KEPT - timedelta(hours=1)
        await send(story, waiting, "worlds/More.json", BOOK)
        await swept(story)
        assert {path.name for path in uploads.iterdir()} - {
            f"{row.id}.part" for row in (forgotten, begun, waiting)
        } == {
            "something else",
            *(str(row.id) for row in (forgotten, begun, waiting)),
        }
        assert await count(story, ImportItem) == 4
        await start_import(story.runtime, story.viewer, begun.id, ImportChoices())
        story.skipped += timedelta(hours=2)
        await swept(story)
        assert (await shown(story, forgotten.id)).status == "discarded"
        assert (await shown(story, waiting.id)).status == "receiving"
        assert not (uploads / str(forgotten.id)).exists()
        assert (uploads / str(waiting.id)).exists()
        assert (uploads / "something else").exists()
        assert await count(story, ImportItem) == 2


async def test_a_sweep_leaves_the_files_of_an_import_at_work(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path) as story:
        async with migrating(story.runtime):
            row = await begin_import(story.runtime, story.viewer, name="one")
            await send(story, row, "worlds/Harbour.json", BOOK)
            row = await scanned_upload(story, row)
        await start_import(story.runtime, story.viewer, row.id, ImportChoices())
        story.skipped += 2 * UPLOAD_KEPT
        await swept(story)
        async with migrating(story.runtime):
            current = await shown(story, row.id)
            assert current.job_id is not None
            await ended_job(story.runtime, current.job_id)
        assert await count(story, Lorebook) == 1
