"""`tavernkit db backup` and `restore` as a person runs them: processes that have imported nothing before."""

import asyncio
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import httpx2
import pytest
from sqlalchemy import insert

from tavernkit.playground.base.database.engine import create_engine
from tavernkit.playground.base.database.migrate import upgrade
from tavernkit.playground.base.database.models import TextContent
from tavernkit.playground.edge.web.requests import API_PREFIX
from tests.playground.characters.builders import json_card, png_card
from tests.playground.database.contents import contents
from tests.playground.support.databases import KINDS, new_database_url, shared_story_url
from tests.playground.support.forking import Forked, Program, tavernkit
from tests.playground.support.postgres import PostgresServer
from tests.playground.support.rows import open_rows
from tests.playground.support.server import ScriptedModel, ServerProcess, running
from tests.playground.support.visitor import Visitor
from tests.support.hanging import wait_until

Databases = Callable[[str], str]


class Played:
    """An installation that has been used over HTTP, and is still running."""

    def __init__(self, server: ServerProcess, database_url: str) -> None:
        self.url = server.url
        self.kind = "postgresql" if database_url.startswith("postgresql") else "sqlite"
        self.database_url = database_url
        # What the database held when it was backed up: the server goes on, and sweeps now and then.
        self.saved: dict[str, list[str]] = {}
        with Visitor(server.url) as visitor, self.api() as api, open_rows(database_url) as rows:
            card = ("Ada.png", png_card(name="Ada", first_mes="Grüße 🦊"), "image/png")
            character = api.post("/characters", files={"file": card}).raise_for_status().json()["character"]
            opened = api.post("/spaces", json={"character_ids": [character["id"]]}).raise_for_status().json()
            self.conversation = opened["conversation"]["id"]
            visitor.send(self.conversation, uuid4(), '[[say: Very well.]] \u2028 and \\ "quotes"')
            rows.wait_until_ended(self.conversation)
            assert visitor.read(self.conversation).messages[-1] == "Very well."
            chat = ("Evening.jsonl", b'{"name":"Sam","is_user":true,"mes":"Hi."}')
            space = opened["space"]["id"]
            api.post(f"/spaces/{space}/conversations/import", files={"file": chat}).raise_for_status()
            cards = [("files", (f"{name}.json", json_card(name=name))) for name in ("Bea", "Cy")]
            job = api.post("/characters/import", files=cards).raise_for_status().json()["id"]
            wait_until(lambda: rows.job_status(job) == "succeeded")

    def api(self) -> httpx2.Client:
        return httpx2.Client(
            base_url=self.url + API_PREFIX,
            headers={"Origin": self.url},
            timeout=30,
            trust_env=False,
            follow_redirects=True,
        )


@pytest.fixture(scope="module", params=KINDS)
def played(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, scripted_model: ScriptedModel
) -> Iterator[Played]:
    folder = tmp_path_factory.mktemp("played")
    url = shared_story_url(request, request.param, folder)
    with running(ServerProcess(folder, model_url=scripted_model.base_url, database_url=url)) as server:
        yield Played(server, url)


@pytest.fixture
def databases(tmp_path: Path, postgres_server: PostgresServer) -> Databases:
    """Makes an empty database of either kind."""
    return lambda kind: new_database_url(kind, tmp_path, postgres_server)


@pytest.fixture(scope="module")
def backup(played: Played, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of the installation."""
    target = tmp_path_factory.mktemp("backups") / "tavern.zip"
    written = run_fresh(played.database_url, "db", "backup", target)
    assert (written.code, "Wrote" in written.output) == (0, True), written.output
    played.saved = asyncio.run(contents(played.database_url))
    return target


def test_a_backup_goes_into_the_other_kind_and_back_row_by_row(
    played: Played, databases: Databases, backup: Path, tmp_path: Path
) -> None:
    before = played.saved
    rows = sum(map(len, before.values()))
    assert min(len(before[name]) for name in ("blobs", "messages", "characters", "jobs", "prompt_pieces")) > 0
    there, back = databases("sqlite" if played.kind == "postgresql" else "postgresql"), databases(played.kind)
    restored = run_forked(there, "db", "restore", backup)
    assert (restored.code, f"Restored {rows:,} rows" in restored.output) == (0, True), restored.output
    assert asyncio.run(contents(there)) == before
    second = tmp_path / "second.zip"
    # Otherwise one more row would say that the search index is to be built.
    indexed = run_forked(there, "db", "reindex")
    assert (indexed.code, "Indexed" in indexed.output) == (0, True), indexed.output
    assert f"Wrote {rows:,} rows" in run_forked(there, "db", "backup", second).output
    assert run_forked(back, "db", "restore", second).code == 0
    assert asyncio.run(contents(back)) == before


def test_a_database_in_use_is_replaced_only_by_force(
    played: Played, databases: Databases, backup: Path, tmp_path: Path
) -> None:
    url = databases(played.kind)
    asyncio.run(_add_text(url))
    own = asyncio.run(contents(url))
    refused = run_forked(url, "db", "restore", backup)
    assert (refused.code, "The database is not empty. Say --force" in refused.output) == (2, True)
    damaged = tmp_path / "damaged.zip"
    shutil.copy(backup, damaged)
    with damaged.open("r+b") as file:
        file.seek(damaged.stat().st_size // 2)
        file.write(b"damage" * 100)
    broken = run_forked(url, "db", "restore", damaged, "--force")
    assert (broken.code, broken.output.count("\n"), "damaged" in broken.output) == (2, 1, True), broken.output
    assert asyncio.run(contents(url)) == own
    assert run_forked(url, "db", "restore", backup, "--force").code == 0
    assert asyncio.run(contents(url)) == played.saved


def test_a_backup_that_cannot_be_written_leaves_nothing_behind(played: Played, backup: Path, tmp_path: Path) -> None:
    target = tmp_path / "folder" / "tavern.zip"
    target.parent.mkdir()
    shutil.copy(backup, target)
    target.with_name(f".{target.name}-killed.tavernkit-tmp").write_bytes(b"PK")
    for place, reason in ((target, "File too large"), (target / "below" / "x.zip", "Not a directory")):
        failed = run_forked(played.database_url, "db", "backup", place, "--force", program=with_a_full_disk)
        assert (failed.code, failed.output.count("\n")) == (2, 1), failed.output
        assert f"The backup cannot be written: {reason}." in failed.output
    folder = run_forked(played.database_url, "db", "backup", target.parent)
    assert (folder.code, "Name a file" in folder.output) == (2, True)
    assert [path.name for path in target.parent.iterdir()] == [target.name]
    assert target.read_bytes() == backup.read_bytes()


def test_a_backup_during_a_reply_is_whole(played: Played, databases: Databases, tmp_path: Path) -> None:
    file = tmp_path / "during.zip"
    with Visitor(played.url) as visitor:
        story = visitor.begin_story()
        visitor.send(story, uuid4(), "[[hang]] [[say: Well]] Say everything.")
        written = run_forked(played.database_url, "db", "backup", file)
        run = visitor.read(story).run_id
        assert run is not None, "the reply was over before the backup was"
        visitor.press(f"/runs/{run}/stop")
        visitor.wait_until_ended(run)
    assert written.code == 0, written.output
    url = databases("sqlite")
    assert run_forked(url, "db", "restore", file).code == 0
    before, restored = asyncio.run(contents(played.database_url)), asyncio.run(contents(url))
    assert {name: restored[name] for name in ("messages", "blobs")} == {
        name: before[name] for name in ("messages", "blobs")
    }
    assert len(restored["conversation_runs"]) == len(before["conversation_runs"])


def test_a_database_without_tables_is_not_backed_up(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
        connection.execute("INSERT INTO alembic_version VALUES ('0001')")
        connection.commit()
    refused = run_forked(f"sqlite+aiosqlite:///{tmp_path / 't.db'}", "db", "backup", tmp_path / "x.zip")
    assert (refused.code, "no tables of TavernKit" in refused.output) == (2, True)
    assert not (tmp_path / "x.zip").exists()


class Ended(NamedTuple):
    """What a command has come to."""

    code: int
    output: str


def run_fresh(database_url: str, *arguments: str | Path) -> Ended:
    """The program in a new interpreter, as a shell starts it."""
    command = [sys.executable, "-m", "tavernkit", *map(str, arguments)]
    ended = subprocess.run(command, env=_environment(database_url), capture_output=True, text=True, timeout=120)
    return Ended(ended.returncode, ended.stdout + ended.stderr)


def run_forked(database_url: str, *arguments: str | Path, program: Program = tavernkit) -> Ended:
    """The program in a process of its own, which starts within moments because it is forked from one that is ready."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        process = Forked(program, [str(each) for each in arguments], _environment(database_url), log)
        return Ended(process.wait(120), log.read_text())


def with_a_full_disk(arguments: Sequence[str]) -> None:
    """The program where the system refuses files beyond a length, as a disk without room does."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    tavernkit(arguments)


def _environment(database_url: str) -> dict[str, str]:
    others = {name: value for name, value in os.environ.items() if not name.startswith("TAVERNKIT_")}
    return {**others, "TAVERNKIT_DATABASE_URL": database_url}


async def _add_text(database_url: str) -> None:
    await upgrade(database_url)
    engine = create_engine(database_url)
    async with engine.begin() as connection:
        await connection.execute(insert(TextContent).values(id=uuid4(), content="Mine."))
    await engine.dispose()
