"""A server that restores a backup at its start dies meanwhile: its database is the one before or the restored one,
whole, and the next start ends what was begun."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from io import BytesIO
from pathlib import Path
from typing import TypeVar
from zipfile import ZipFile

import pytest
from sqlalchemy import select

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.administration.backups import backups_folder, take_backup
from tavernkit.playground.base.administration.restoring import restore_outcome, stage_restore, staged_restore
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database.backup import back_up, check_backup
from tavernkit.playground.base.database.models import Conversation, TextContent, User
from tavernkit.playground.base.runtime import Runtime, open_runtime
from tavernkit.playground.story.messages.service import send_message
from tests.crash.points import IN_FULL, CrashPoint
from tests.crash.processes import Mortal
from tests.playground.database.contents import contents
from tests.playground.support.provider_server import ProviderServer
from tests.support.hanging import wait_until

T = TypeVar("T")

ROWS_OF_EACH = 3
"""Of the rows that are saved or loaded, so many are died at: the first, the last and some between."""
DEATHS = 3
"""So many deaths for each kind of database in `make test`."""


class Keeper:
    """An administrator on the machine of the server, who keeps a backup and restores it."""

    def __init__(self, database_url: str, folder: Path) -> None:
        self._settings = AppConfig(data_dir=folder / "data", database_url=database_url)
        self._url = database_url
        self.name = ""

    def keep(self, folder: Path) -> None:
        """Make the backup that is restored."""
        file = folder / "kept.zip"

        async def act(runtime: Runtime, viewer: Viewer) -> str:
            await back_up(self._url, file, runtime.clock())
            return (await take_backup(runtime, viewer, BytesIO(file.read_bytes()))).name

        self.name = self._do(act)

    def say_and_stage(self, text: str) -> None:
        """Write what the backup does not have, and have it restored at the next start."""

        async def act(runtime: Runtime, viewer: Viewer) -> None:
            async with runtime.database.read() as session:
                conversation_id = (await session.scalars(select(Conversation.id).limit(1))).one()
            id = runtime.ids()
            await send_message(runtime, viewer, conversation_id, message_id=id, content=text, role="system")
            await stage_restore(runtime, viewer, self.name)

        for saved in self._saved():
            saved.unlink()
        self._do(act)

    def contents(self) -> dict[str, list[str]]:
        return asyncio.run(contents(self._url))

    def problems(self, text: str) -> list[str]:
        """What is wrong after a start that has ended the restore, in sentences."""

        async def look(runtime: Runtime, _viewer: Viewer) -> list[str]:
            async with runtime.database.read() as session:
                left = list(await session.scalars(select(TextContent.id).where(TextContent.content == text)))
            outcome = await restore_outcome(runtime.settings)
            found = ["the database is not the one of the backup"] if left else []
            if outcome is None or outcome.problem or outcome.name != self.name:
                found.append(f"the outcome is {outcome}")
            if await staged_restore(runtime.settings) is not None:
                found.append("it would be restored again")
            return found

        saved = self._saved()
        found = self._do(look)
        if len(saved) != 1:
            return [*found, f"what was there before is in {saved}"]
        with saved[0].open("rb") as file:
            check_backup(file)
        with ZipFile(saved[0]) as archive:
            names = [name for name in archive.namelist() if "text_contents" in name]
            if not any(text.encode() in archive.read(name) for name in names):
                found.append("what was there before is not in the backup of it")
        return found

    def _saved(self) -> list[Path]:
        return sorted(backups_folder(self._settings).glob("before-restore-*"))

    def _do(self, action: Callable[[Runtime, Viewer], Awaitable[T]]) -> T:
        async def run() -> T:
            async with open_runtime(self._settings) as runtime:
                async with runtime.database.read() as session:
                    owner = (await session.scalars(select(User.id).order_by(User.created_at).limit(1))).one()
                return await action(runtime, Viewer(user_id=owner, role="administrator"))

        return asyncio.run(run())


def test_a_server_dies_while_it_restores_a_backup(
    database_url: str, tmp_path: Path, held_model: ProviderServer, subtests: pytest.Subtests
) -> None:
    server = Mortal("serve", tmp_path, model_url=held_model.base_url, database_url=database_url)
    server.start()
    server.terminate()
    keeper = Keeper(database_url, tmp_path)
    kept = keeper.contents()
    keeper.keep(tmp_path)
    keeper.say_and_stage("Undisturbed.")
    server.points.clear()
    server.start()
    server.terminate()
    assert keeper.problems("Undisturbed.") == []
    places = _places(server)
    assert {"back_up", "restore", "restore_staged", "write_outcome"} <= {
        place.moment.partition(":")[0] for place in places
    }
    half = database_url.startswith("postgresql")
    for number, place in enumerate(places if IN_FULL else places[half :: max(1, len(places) // DEATHS)]):
        with subtests.test(str(place)):
            text = f"Said before death {number}."
            keeper.say_and_stage(text)
            before = keeper.contents()
            server.points.clear()
            server.points.arm(place)
            server.begin()
            wait_until(server.is_dead)
            server.points.clear()
            assert keeper.contents() in (before, kept)
            server.rise_again()
            server.terminate()
            assert keeper.problems(text) == []
    assert "Traceback" not in server.log.read_text()


def _places(server: Mortal) -> list[CrashPoint]:
    """The points of the restore that has just been made; of all rows, some."""
    found = [point for point in server.points.passed_each_time() if point.moment.startswith(_OWN)]
    rows = [[point for point in found if point.moment == f"{name}:row"] for name in ("back_up", "restore")]
    some = {point for each in rows for point in each[:: max(1, len(each) // ROWS_OF_EACH)] + each[-1:]}
    return [point for point in found if point in some or not point.moment.endswith(":row")]


_OWN = ("back_up:", "restore:", "restore_staged:", "write_outcome:")
