"""A folder of SillyTavern that is imported and exported again: what was exact has its bytes."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from random import Random

import pytest

from tests.migration.folders_generator import write_user_folder
from tests.playground.migration.exported import Exported, export, imported
from tests.playground.stories import open_story

pytestmark = pytest.mark.anyio


def digests(written: Exported) -> dict[str, str]:
    return {path: sha256(written.read(path)).hexdigest() for path in written.files}


async def test_v02_an_unedited_export_has_the_bytes_that_were_imported(database_url: str, tmp_path: Path) -> None:
    folder = write_user_folder(tmp_path / "SillyTavern" / "data", Random(2))
    async with open_story(database_url, tmp_path / "own") as story:
        await imported(story, folder.place)
        written = await export(story, tmp_path / "out")
        found = digests(written)
    wrong = {
        file.path: (file.kind, written.notes(file.path))
        for file in folder.files
        if file.expected.is_exact and found.get(file.path) != file.sha256
    }
    assert wrong == {}
    # The story that was here before is exported as well.
    known = {file.path for file in folder.files}
    new = {path for path in written.files if path not in known}
    assert {path.partition("/")[0] for path in new} <= {"characters", "chats"}
    assert len(new) == 2
    accounted = {line.path for line in written.report.lines}
    assert known <= accounted
