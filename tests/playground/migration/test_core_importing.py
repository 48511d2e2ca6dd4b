"""An import goes through all items once, whoever is stopped, pauses or dies meanwhile, and keeps every file's bytes."""

import asyncio
import hashlib
import json
import threading
import tracemalloc
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.lore import Book
from tavernkit.playground.base.database.models import ImportItem, ImportSource, KeptFile, KeptPiece, Lorebook
from tavernkit.playground.base.jobs.service import claim_job, reap_jobs
from tavernkit.playground.base.jobs.work import JobWork
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.lorebooks.documents import PatchLorebook
from tavernkit.playground.story.lorebooks.service import delete_lorebook, import_lorebook, update_lorebook
from tavernkit.playground.story.migration import importing, report
from tavernkit.playground.story.migration.choices import ImportChoices
from tavernkit.playground.story.migration.importing import import_folder
from tavernkit.playground.story.migration.items import Finish, ImportJob, Item, ItemOutcome
from tavernkit.playground.story.migration.kept import kept_bytes, kept_pieces
from tavernkit.playground.story.migration.kinds import LONG_CHAT_BYTES, WHOLE_BYTES
from tavernkit.playground.story.migration.markers import touching
from tavernkit.playground.story.migration.queries import origins_of
from tavernkit.playground.story.migration.service import (
    choose_for_item,
    discard_import,
    import_from_path,
    pause_import,
    start_import,
)
from tavernkit.playground.story.migration.steps import IMPORT_KIND, step
from tests.playground.migration.support import (
    KEY,
    Interrupted,
    Worlds,
    book_names,
    chat,
    count,
    handlers_of,
    imported,
    imported_files,
    lines,
    migrating,
    migrating_story,
    scanned,
    shown,
    world,
    worlds,
    write_folder,
)
from tests.playground.stories import Story, open_story
from tests.playground.support.databases import on_sqlite
from tests.playground.support.jobs import ended_job
from tests.support.hanging import eventually

pytestmark = pytest.mark.anyio


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four items share a transaction, so that a small folder takes several."""
    monkeypatch.setattr(importing, "ITEMS_AT_ONCE", 4)


async def rename_book(story: Story, name: str, to: str) -> None:
    async with story.runtime.database.read() as session:
        book = (await session.scalars(select(Lorebook).where(Lorebook.name == name))).one()
    patch = PatchLorebook(name=to, settings_version=book.settings_version)
    await update_lorebook(story.runtime, story.viewer, book.id, patch)


async def test_v02_every_accepted_file_is_kept_with_its_path_time_and_hash(database_url: str, tmp_path: Path) -> None:
    files = {
        **worlds("Harbour"),
        "settings.json": {"power_user": {}, "oai_settings": {"proxy_password": KEY}, "username": "Sam"},
        "themes/Dark.json": b'{"name":   "Dark"}',
        "backgrounds/sea.png": bytes(range(256)) * 9000,
        "stats.json": b"",
        "content.log": b"a line\r\n" * 300_000,
        "secrets.json": {"key": KEY},
    }
    folder = write_folder(tmp_path / "data", files)
    async with migrating_story(database_url, tmp_path) as story:
        await imported(story, folder)
        kept = await imported_files(story)
        assert kept.keys() == files.keys() - {"secrets.json"}
        async with story.runtime.database.read() as session:
            for path, row in kept.items():
                content = (folder / path).read_bytes()
                assert row.sha256 == hashlib.sha256(content).hexdigest()
                assert row.size == len(content)
                assert row.modified is not None
                assert row.modified.timestamp() == pytest.approx((folder / path).stat().st_mtime, abs=1e-5)
                assert row.kept_sha256 is not None
                bytes_kept = await kept_bytes(session, row.kept_sha256)
                assert hashlib.sha256(bytes_kept).hexdigest() == row.kept_sha256
                if path == "settings.json":
                    assert json.loads(bytes_kept)["oai_settings"] == {"proxy_password": ""}
                    assert json.loads(bytes_kept)["username"] == "Sam"
                else:
                    assert bytes_kept == content
            pieces = await session.execute(select(KeptPiece.compressed, KeptPiece.data))
            stored = [(compressed, data) for compressed, data in pieces]
        assert {compressed for compressed, _data in stored} == {True, False}
        assert all(KEY.encode() not in data for _compressed, data in stored)
        # The log is kept in three pieces and takes a small part of its room.
        assert sum(len(data) for _compressed, data in stored) < 2_500_000


async def test_v17_importing_again_changes_nothing(database_url: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", {**worlds("A", "B"), "stats.json": {"n": 1}})
    async with migrating_story(database_url, tmp_path) as story:
        first = await imported(story, folder)
        before = await lines(story, first)
        files = {path: row.marker for path, row in (await imported_files(story)).items()}
        again = await imported(story, folder)
        after = await lines(story, again)
        assert {line.verdict for line in after.values()} == {"unchanged"}
        assert {path: line.target_id for path, line in after.items()} == {
            path: line.target_id for path, line in before.items()
        }
        assert await book_names(story) == ["A", "B"]
        assert {path: row.marker for path, row in (await imported_files(story)).items()} == files
        assert again.summary["verdicts"] == {"unchanged": 3}


@pytest.mark.parametrize(
    ("conflict", "names", "verdict"),
    [
        ("keep", ["A", "Mine"], "skipped"),
        ("replace", ["A", "Theirs"], "exact"),
        ("both", ["A", "Mine", "Theirs"], "exact"),
    ],
)
async def test_v17_what_was_changed_on_both_sides_is_kept_replaced_or_both(
    database_url: str, tmp_path: Path, conflict: str, names: list[str], verdict: str
) -> None:
    folder = write_folder(tmp_path / "data", worlds("A", "B"))
    async with migrating_story(database_url, tmp_path) as story:
        await imported(story, folder)
        await rename_book(story, "B", "Mine")
        write_folder(folder, {"worlds/B.json": world("Theirs")})
        row = await scanned(story, folder)
        assert (await lines(story, row))["worlds/B.json"].state == "changed"
        await imported(story, row, ImportChoices(conflict=conflict))
        assert await book_names(story) == names
        assert (await lines(story, row))["worlds/B.json"].verdict == verdict


async def test_v17_a_choice_for_one_file_overrides_the_choice_for_all(database_url: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", worlds("A", "B", "C", "D"))
    async with migrating_story(database_url, tmp_path) as story:
        await imported(story, folder)
        write_folder(folder, {f"worlds/{name}.json": world(f"{name}2") for name in "ABC"})
        row = await scanned(story, folder)
        found = await lines(story, row)
        for name, choice in (("A", "keep"), ("B", "both"), ("C", "skip"), ("D", "replace")):
            position = found[f"worlds/{name}.json"].position
            await choose_for_item(story.runtime, story.viewer, row.id, position, choice)
        await imported(story, row, ImportChoices(conflict="replace"))
        assert await book_names(story) == ["A", "B", "B2", "C", "D"]
        verdicts = [line.verdict for line in (await lines(story, row)).values()]
        assert verdicts == ["skipped", "exact", "skipped", "exact"]


async def test_v17_what_changed_in_the_folder_alone_replaces_what_is_here(database_url: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", worlds("A", "B"))
    async with migrating_story(database_url, tmp_path) as story:
        first = await lines(story, await imported(story, folder))
        write_folder(folder, {"worlds/B.json": world("B", "New.")})
        again = await lines(story, await imported(story, folder))
        assert again["worlds/B.json"].target_id == first["worlds/B.json"].target_id
        assert (await imported_files(story))["worlds/B.json"].sha256 == again["worlds/B.json"].sha256
        assert await book_names(story) == ["A", "B"]


async def test_v17_a_book_that_is_here_already_is_not_imported_once_more(database_url: str, tmp_path: Path) -> None:
    content = b'{"name": "Harbour", "entries": {}}'
    first = write_folder(tmp_path / "first", {"worlds/Harbour.json": content, "chats/A/2024-01-01.jsonl": chat("One.")})
    second = write_folder(
        tmp_path / "second", {"worlds/Harbour.json": content, "chats/A/2024-02-02.jsonl": chat("Two.")}
    )
    async with migrating_story(database_url, tmp_path) as story:
        book, _report = await import_lorebook(story.runtime, story.viewer, content)
        for folder in (first, second):
            found = await lines(story, await imported(story, folder))
            assert found["worlds/Harbour.json"].verdict == "duplicate"
            assert found["worlds/Harbour.json"].target_id == book.id
            assert len(found["worlds/Harbour.json"].notes) == 1
            row = (await imported_files(story))["worlds/Harbour.json"]
            # Links of each source resolve to it, and an export writes it as it was.
            assert (row.target_kind, row.target_id, row.marker) == ("lorebook", book.id, "0")
            assert row.kept_sha256 == row.sha256
        assert await count(story, Lorebook) == 1
        async with story.runtime.database.read() as session:
            origins = await origins_of(session, story.viewer, "lorebook", book.id)
        assert [(file.path, source.name) for file, source in origins] == [
            ("worlds/Harbour.json", "first"),
            ("worlds/Harbour.json", "second"),
        ]


async def test_what_was_deleted_here_stays_deleted(database_url: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", worlds("A", "B"))
    async with migrating_story(database_url, tmp_path) as story:
        found = await lines(story, await imported(story, folder))
        deleted = found["worlds/A.json"].target_id
        assert deleted is not None
        await delete_lorebook(story.runtime, story.viewer, deleted)
        again = await lines(story, await imported(story, folder))
        assert again["worlds/A.json"].verdict == "unchanged"
        assert "deleted here" in again["worlds/A.json"].notes[0]
        assert await book_names(story) == ["B"]


class Refusing(Worlds):
    """Refuses books by what they are called, after it has written rows."""

    async def store(self, session: AsyncSession, job: ImportJob, item: Item, prepared: Book) -> ItemOutcome:
        outcome = await super().store(session, job, item, prepared)
        match prepared.name:
            case "Refused":
                raise Refused("invalid", "This book is refused.")
            case "Broken":
                raise KeyError("a mistake of ours")
        return outcome


async def test_v21_the_report_lists_every_file_and_a_refused_one_leaves_no_rows(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "PAGE", 5)
    files = {
        **worlds("A", "Refused", "Broken", "B"),
        "worlds/damaged.json": b'{"entries": ',
        "themes/Dark.json": {"name": "Dark"},
        "secrets.json": {"key": KEY},
        **{f"worlds/more {number}.json": world("More", str(number)) for number in range(8)},
    }
    folder = write_folder(tmp_path / "data", files)
    handlers = handlers_of(world=Refusing())
    async with migrating_story(database_url, tmp_path, handlers=handlers) as story:
        row = await imported(story, folder)
        assert row.status == "done"
        found = await lines(story, row)
        assert found.keys() == files.keys()
        assert [line.position for line in found.values()] == list(range(1, len(files) + 1))
        others = {path: line for path, line in found.items() if line.verdict != "exact"}
        assert {path: line.verdict for path, line in others.items()} == {
            "secrets.json": "refused",
            "themes/Dark.json": "kept",
            "worlds/Broken.json": "refused",
            "worlds/Refused.json": "refused",
            "worlds/damaged.json": "refused",
        }
        assert found["worlds/Refused.json"].notes == ("This book is refused.",)
        assert "internal error" in found["worlds/Broken.json"].notes[0]
        assert "JSON" in found["worlds/damaged.json"].notes[0]
        assert await count(story, Lorebook) == 10
        assert row.summary["verdicts"] == {"exact": 10, "kept": 1, "refused": 4}
        assert not {"worlds/Refused.json", "worlds/damaged.json"} & (await imported_files(story)).keys()


async def test_a_file_that_changed_after_the_scan_is_refused(database_url: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", worlds("A", "B", "C"))
    async with migrating_story(database_url, tmp_path) as story:
        row = await scanned(story, folder)
        write_folder(folder, {"worlds/A.json": world("Another")})
        (folder / "worlds/C.json").unlink()
        await imported(story, row)
        found = await lines(story, row)
        assert [line.verdict for line in found.values()] == ["refused", "exact", "refused"]
        assert "changed after the scan" in found["worlds/A.json"].notes[0]
        # The next import takes them.
        write_folder(folder, worlds("C"))
        await imported(story, folder)
        assert await book_names(story) == ["Another", "B", "C"]


async def test_an_import_whose_folder_is_gone_fails_and_goes_on_when_it_is_back(
    database_url: str, tmp_path: Path
) -> None:
    folder = write_folder(tmp_path / "data", worlds("A"))
    async with migrating_story(database_url, tmp_path) as story:
        row = await scanned(story, folder)
        folder.rename(tmp_path / "away")
        row = await imported(story, row)
        assert row.status == "failed"
        assert row.error is not None
        assert "cannot be found" in row.error["message"]
        (tmp_path / "away").rename(folder)
        begun = await start_import(story.runtime, story.viewer, row.id, ImportChoices())
        assert begun.job_id is not None
        await ended_job(story.runtime, begun.job_id)
        assert (await shown(story, row.id)).status == "done"
        assert await book_names(story) == ["A"]


@pytest.mark.usefixtures("small_steps")
async def test_v18_an_import_goes_on_behind_every_step_and_doubles_nothing(database_url: str, tmp_path: Path) -> None:
    names = [f"{number:03}" for number in range(13)]
    folder = write_folder(tmp_path / "data", {**worlds(*names), "stats.json": {"n": 1}})
    async with open_story(database_url, tmp_path) as story:
        async with migrating(story.runtime):
            row = await scanned(story, folder)
        await start_import(story.runtime, story.viewer, row.id, ImportChoices())
        steps = 0
        while not await Interrupted.steps_of(story, 1):
            steps += 1
            verdicts = (await shown(story, row.id)).summary["verdicts"]
            assert sum(verdicts.values()) == await count(story, Lorebook) + verdicts.get("kept", 0)
        assert steps == 4
        row = await shown(story, row.id)
        assert (row.status, row.summary["verdicts"]) == ("done", {"exact": 13, "kept": 1})
        assert await book_names(story) == names


async def test_v18_large_files_are_kept_in_pieces_with_flat_memory(sqlite_url: str, tmp_path: Path) -> None:
    large = WHOLE_BYTES + 3 * 1024 * 1024 + 17
    folder = write_folder(tmp_path / "data", worlds("A"))
    (folder / "assets/bgm").mkdir(parents=True)
    with (folder / "assets/bgm/song.ogg").open("wb") as file:
        for number in range(large // 4096):
            file.write(number.to_bytes(4) * 1024)
        file.write(b"!" * (large % 4096))
    async with open_story(sqlite_url, tmp_path) as story:
        async with migrating(story.runtime):
            row = await scanned(story, folder)
        await start_import(story.runtime, story.viewer, row.id, ImportChoices())
        tracemalloc.start()
        try:
            # Also where somebody else has to begin with it once more.
            assert not await Interrupted.steps_of(story, 4)
            assert await Interrupted.steps_of(story, 1000)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < WHOLE_BYTES
        found = (await lines(story, row))["assets/bgm/song.ogg"]
        assert found.verdict == "kept"
        assert "larger than" in found.notes[0]
        kept = (await imported_files(story))["assets/bgm/song.ogg"]
        sha256 = hashlib.sha256()
        async with story.runtime.database.read() as session:
            async for piece in kept_pieces(session, kept.kept_sha256 or ""):
                sha256.update(piece)
        assert sha256.hexdigest() == kept.sha256 == found.sha256
        assert not await is_waiting(story)


async def is_waiting(story: Story) -> bool:
    return await claim_job(story.runtime, "nobody", [IMPORT_KIND]) is not None


async def test_a_large_file_that_may_hold_keys_is_not_kept(sqlite_url: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", {**worlds("A"), "unknown.json": b'{"proxy_password": "' + b"k" * 2**24})
    async with migrating_story(sqlite_url, tmp_path) as story:
        found = await lines(story, await imported(story, folder))
        assert found["unknown.json"].verdict == "refused"
        assert "searched for keys" in found["unknown.json"].notes[0]
        assert await count(story, KeptFile) == 1


async def test_a_long_chat_is_imported_in_steps_that_end_with_its_outcome(database_url: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", {"chats/A/long.jsonl": b"", "chats/A/short.jsonl": chat("One.")})
    with (folder / "chats/A/long.jsonl").open("wb") as file:
        file.write(chat("Hello."))
        file.truncate(LONG_CHAT_BYTES + 1)
    asked: list[str] = []

    async def read_long_chat(work: JobWork, job: ImportJob, item: Item, finish: Finish) -> None:
        asked.append(item.path)
        async with step(work, job.import_id, job.done):
            pass
        if len(asked) == 1:
            raise Refused("invalid", "Not today.")
        async with step(work, job.import_id, job.done) as (session, _row):
            await finish(session, ItemOutcome(verdict="converted", notes=("In pieces.",)))

    async with open_story(database_url, tmp_path) as story:
        for verdict, note in (("refused", "Not today."), ("converted", "In pieces.")):
            async with migrating(story.runtime):
                row = await scanned(story, folder)
            begun = await start_import(story.runtime, story.viewer, row.id, ImportChoices())
            claim = await claim_job(story.runtime, "w", [IMPORT_KIND])
            assert claim is not None
            assert begun.job_id == claim.job_id
            await import_folder(JobWork(story.runtime, claim), handlers_of(), read_long_chat)
            found = await lines(story, row)
            assert (found["chats/A/long.jsonl"].verdict, found["chats/A/long.jsonl"].notes) == (verdict, (note,))
        kept = (await imported_files(story))["chats/A/long.jsonl"]
        assert kept.kept_sha256 == kept.sha256
        assert asked == ["chats/A/long.jsonl"] * 2


class Gate(Worlds):
    """Waits with each book until it is opened."""

    def __init__(self) -> None:
        self.reached, self.opened = threading.Event(), threading.Event()

    def prepare(self, job: ImportJob, item: Item, data: bytes) -> Book:
        self.reached.set()
        assert self.opened.wait(60)
        return super().prepare(job, item, data)


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.opened.set()


@pytest.mark.usefixtures("small_steps")
async def test_a_paused_import_stops_and_goes_on_from_there(database_url: str, tmp_path: Path, gate: Gate) -> None:
    folder = write_folder(tmp_path / "data", worlds(*"ABCDEFGHI"))
    async with open_story(database_url, tmp_path) as story:
        async with migrating(story.runtime):
            row = await scanned(story, folder)
            with pytest.raises(Refused, match="paused"):
                await pause_import(story.runtime, story.viewer, row.id)
        async with migrating(story.runtime, handlers=handlers_of(world=gate)):
            begun = await start_import(story.runtime, story.viewer, row.id, ImportChoices())
            await eventually(gate.reached.is_set)
            paused = await pause_import(story.runtime, story.viewer, row.id)
            assert (await pause_import(story.runtime, story.viewer, row.id)).status == "paused"
            # Whoever was at work does not disturb who goes on.
            resumed = await start_import(story.runtime, story.viewer, row.id, ImportChoices())
            assert paused.job_id == begun.job_id != resumed.job_id
            gate.opened.set()
            assert begun.job_id is not None
            assert resumed.job_id is not None
            assert (await ended_job(story.runtime, begun.job_id)).status == "canceled"
            assert (await ended_job(story.runtime, resumed.job_id)).status == "succeeded"
        row = await shown(story, row.id)
        assert (row.status, row.summary["verdicts"]) == ("done", {"exact": 9})
        assert await count(story, Lorebook) == 9


async def test_a_worker_that_has_lost_its_job_writes_nothing(database_url: str, tmp_path: Path, gate: Gate) -> None:
    folder = write_folder(tmp_path / "data", worlds("A", "B"))
    async with open_story(database_url, tmp_path) as story:
        async with migrating(story.runtime):
            row = await scanned(story, folder)
        begun = await start_import(story.runtime, story.viewer, row.id, ImportChoices())
        assert begun.job_id is not None
        claim = await claim_job(story.runtime, "slow", [IMPORT_KIND])
        assert claim is not None
        slow = asyncio.create_task(import_folder(JobWork(story.runtime, claim), handlers_of(world=gate)))
        await eventually(gate.reached.is_set)
        story.outlast_leases()
        await reap_jobs(story.runtime)
        async with migrating(story.runtime, "other"):
            assert (await ended_job(story.runtime, begun.job_id)).status == "succeeded"
        gate.opened.set()
        with pytest.raises(Exception, match="lost"):
            await slow
        assert await book_names(story) == ["A", "B"]
        assert (await shown(story, row.id)).summary["verdicts"] == {"exact": 2}


@pytest.mark.usefixtures("small_steps")
async def test_two_imports_of_one_person_at_once_double_nothing(database_url: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", worlds(*"ABCDEFGHI"))
    async with open_story(database_url, tmp_path) as story:
        async with migrating(story.runtime):
            rows = [await scanned(story, folder) for _ in range(2)]
            assert len({row.source_id for row in rows}) == 2
        async with migrating(story.runtime, "one"), migrating(story.runtime, "two"):
            await asyncio.gather(*(imported(story, row) for row in rows))
        # Neither knew of the other when it was scanned, so that each has its own.
        assert await count(story, Lorebook) == 18
        async with migrating(story.runtime):
            again = await imported(story, folder)
        assert again.summary["verdicts"] == {"unchanged": 9}
        assert await count(story, ImportSource) == 2


@pytest.mark.usefixtures("small_steps")
async def test_a_discarded_import_ends_and_what_was_imported_stays(database_url: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", worlds(*"ABCDEF"))
    async with open_story(database_url, tmp_path) as story:
        async with migrating(story.runtime):
            row = await scanned(story, folder)
        await start_import(story.runtime, story.viewer, row.id, ImportChoices())
        assert not await Interrupted.steps_of(story, 1)
        await discard_import(story.runtime, story.viewer, row.id)
        assert (await shown(story, row.id)).status == "discarded"
        assert await count(story, Lorebook) == 4
        with pytest.raises(Refused, match="cannot be started"):
            await start_import(story.runtime, story.viewer, row.id, ImportChoices())
        assert not await is_waiting(story)


async def test_only_chosen_kinds_are_imported(sqlite_url: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", {**worlds("A"), "themes/Dark.json": {"name": "Dark"}})
    async with migrating_story(sqlite_url, tmp_path) as story:
        row = await scanned(story, folder)
        await imported(story, row, ImportChoices(kinds=("kept",)))
        assert {path: line.verdict for path, line in (await lines(story, row)).items()} == {
            "themes/Dark.json": "kept",
            "worlds/A.json": "skipped",
        }
        # What was skipped is new the next time.
        again = await scanned(story, folder)
        assert (await lines(story, again))["worlds/A.json"].state == "new"


class Touching(Worlds):
    """Renames the first book when it meets the second, as the file of the first says."""

    async def store(self, session: AsyncSession, job: ImportJob, item: Item, prepared: Book) -> ItemOutcome:
        first = await job.target_of(session, "worlds/A.json")
        if first is not None and item.path != "worlds/A.json":
            await touching(session, job, "lorebook", first)
            book = await session.get_one(Lorebook, first)
            book.settings_version += 1
        return await super().store(session, job, item, prepared)


async def test_what_an_import_itself_changes_does_not_count_as_changed_here(database_url: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", worlds("A", "B"))
    handlers = handlers_of(world=Touching())
    async with migrating_story(database_url, tmp_path, handlers=handlers) as story:
        await imported(story, folder)
        assert (await imported_files(story))["worlds/A.json"].marker == "1"
        await rename_book(story, "A", "Mine")
        write_folder(folder, worlds("C"))
        await imported(story, folder)
        # But what somebody has changed here still does.
        assert (await imported_files(story))["worlds/A.json"].marker == "1"


@on_sqlite
async def test_an_item_without_a_handler_is_kept(database_url: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", {**worlds("A"), "QuickReplies/One.json": {"qrList": []}})
    async with migrating_story(database_url, tmp_path) as story:
        found = await lines(story, await imported(story, folder))
        assert found["QuickReplies/One.json"].verdict == "kept"


@on_sqlite
async def test_the_job_counts_what_is_done(database_url: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", {**worlds("A", "B"), "secrets.json": {"key": KEY}})
    async with migrating_story(database_url, tmp_path) as story:
        row = await imported(story, folder)
        assert row.job_id is not None
        job = await ended_job(story.runtime, row.job_id)
        assert (job.done, job.total, job.result) == (3, 3, {"verdicts": {"refused": 1, "exact": 2}})
        story.skipped += timedelta(days=1)
        async with story.runtime.database.read() as session:
            items = (await session.scalars(select(ImportItem).where(ImportItem.verdict.is_(None)))).all()
        assert items == []


async def test_importing_a_folder_needs_no_more_than_its_path(sqlite_url: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", worlds("A"))
    async with open_story(sqlite_url, tmp_path) as story:
        row = await import_from_path(story.runtime, story.viewer, folder)
        assert (row.status, row.is_uploaded, row.name) == ("scanning", False, "data")
        with pytest.raises(Refused, match="Scan its files first"):
            await start_import(story.runtime, story.viewer, row.id, ImportChoices())
