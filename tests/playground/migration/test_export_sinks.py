"""Where exports are written: a folder and an archive."""

from __future__ import annotations

import io
import zipfile
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tavernkit.playground.story.migration.export_sinks import FolderSink, ZipSink
from tests.playground.support.refusals import refusal_of

pytestmark = pytest.mark.anyio

MOMENT = datetime(2024, 5, 1, 10, 20, 30, tzinfo=UTC)


async def pieces(*data: bytes) -> AsyncIterator[bytes]:
    for piece in data:
        yield piece


async def failing() -> AsyncIterator[bytes]:
    yield b"half"
    raise OSError("The disk is full.")


async def test_a_file_is_there_as_a_whole_with_its_time_or_not_at_all(tmp_path: Path) -> None:
    sink = FolderSink(tmp_path)
    assert await sink.write("a/b c/d.txt", pieces(b"one", b"two"), MOMENT) == 6
    written = tmp_path / "a" / "b c" / "d.txt"
    assert (written.read_bytes(), written.stat().st_mtime) == (b"onetwo", MOMENT.timestamp())
    with pytest.raises(OSError, match="full"):
        await sink.write("a/b c/d.txt", failing(), None)
    assert [file.name for file in written.parent.iterdir()] == ["d.txt"]
    assert written.read_bytes() == b"onetwo"


@pytest.mark.parametrize("path", ["../out", "/etc/x", "a/../../b", "", "a//b", "./a", "a/."])
async def test_a_path_that_leaves_the_folder_is_refused(path: str, tmp_path: Path) -> None:
    with ZipSink(io.BytesIO()) as archive:
        for sink in (FolderSink(tmp_path / "in"), archive):
            assert (await refusal_of(sink.write(path, pieces(b""), None))).code == "invalid"


async def test_names_that_differ_only_in_case_are_both_written_where_that_is_possible(tmp_path: Path) -> None:
    sink = FolderSink(tmp_path)
    await sink.write("Lore.json", pieces(b"1"), None)
    await sink.write("lore.json", pieces(b"2"), None)
    assert ((tmp_path / "Lore.json").read_bytes(), (tmp_path / "lore.json").read_bytes()) == (b"1", b"2")
    # A file system that does not know them apart finds the first one under the name of the second.
    (tmp_path / "LORE.json").symlink_to("Lore.json")
    refused = await refusal_of(sink.write("LORE.json", pieces(b"3"), None))
    assert "Lore.json" in refused.sentence
    assert (tmp_path / "Lore.json").read_bytes() == b"1"


async def test_an_archive_has_the_same_bytes_each_time() -> None:
    written = []
    for _ in range(2):
        file = io.BytesIO()
        with ZipSink(file) as sink:
            await sink.write("worlds/Größe.json", pieces(b"{" + b" " * 5000, b"}"), MOMENT)
            await sink.write("worlds/größe.json", pieces(b"{}"), None)
            await sink.write("characters/A.png", pieces(b"\x89PNG" * 100), datetime(1970, 1, 1, tzinfo=UTC))
        written.append(file.getvalue())
    assert written[0] == written[1]
    with zipfile.ZipFile(io.BytesIO(written[0])) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["worlds/Größe.json", "worlds/größe.json", "characters/A.png"]
        first, second, third = archive.infolist()
        assert (first.date_time, second.date_time[0], third.date_time[0]) == ((2024, 5, 1, 10, 20, 30), 1980, 1980)
        assert first.compress_size < first.file_size
        assert third.compress_size == third.file_size
