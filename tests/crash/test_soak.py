"""Processes are killed at any moment of a turn, an import, a backup and a restore, again and again.

`TAVERNKIT_CRASHES` says how often, for each of the four on each kind of database: once by default, 1,000 times
altogether on each kind of database in `make soak`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import signal
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from tests.crash.checking import find_problems
from tests.crash.imports import Importer
from tests.crash.stages import Stage
from tests.crash.tally import Count, Tally
from tests.crash.turns import ONE, PAIR, Story
from tests.playground.database.contents import contents
from tests.playground.support.databases import new_database_url
from tests.playground.support.forking import Forked, tavernkit
from tests.playground.support.postgres import PostgresServer

CRASHES = int(os.environ.get("TAVERNKIT_CRASHES", "1"))
SEED = int(os.environ.get("TAVERNKIT_SEED", "1"))

CARDS = 8
# A long chat is imported by a job, a short one at once.
CHAT_MESSAGES = (40, 1100)
COMMAND_SECONDS = 120


@pytest.fixture
def importer(either_stage: Stage) -> Iterator[Importer]:
    with Importer(either_stage.processes["serve"].url, either_stage.rows) as importer:
        yield importer


def test_killed_during_turns(either_stage: Stage, count_kills: Count) -> None:
    stage, random, stories = either_stage, Random(SEED), [either_stage.player.begin(ONE)]
    stage.player.say_until_accepted(stories[0])
    seconds = _seconds(lambda: stage.player.play(stories[0]))
    with count_kills("turn", stage.database_kind) as tally:
        while tally.kills < CRASHES:
            stories.append(_kill_turn(stage, random, seconds, tally))
            stage.player.play(stories[-1])
        for story in stories:
            said, replies = stage.player.count_messages(story)
            tally.acknowledged += 1 + len(story.turn.speakers)
            tally.compare(said)
            tally.compare(replies, len(story.turn.speakers))
    assert (tally.lost, tally.doubled) == (0, 0)
    assert asyncio.run(find_problems(stage.database_url, stories)) == []


def _kill_turn(stage: Stage, random: Random, seconds: float, tally: Tally) -> Story:
    story = stage.player.begin(random.choice([ONE, PAIR]))
    with ThreadPoolExecutor(1) as elsewhere:
        saying = elsewhere.submit(stage.player.say, story)
        _kill_one(stage, random, seconds, tally)
    # What has been acknowledged is not sent again: it must be there.
    if not saying.result():
        stage.player.say_until_accepted(story)
    return story


def test_killed_during_imports(either_stage: Stage, importer: Importer, count_kills: Count) -> None:
    random, space = Random(SEED), importer.open_space()
    names, chats = ["First"], {"First": Chat(max(CHAT_MESSAGES), True)}
    # A long chat takes longer than the characters, so that kills come before, during and after either.
    seconds = _seconds(lambda: importer.wait_for(importer.send_characters(names) or ""))
    seconds = max(seconds, _seconds(lambda: importer.send_chat(space, "First", max(CHAT_MESSAGES))))
    with count_kills("import", either_stage.database_kind) as tally:
        while tally.kills < CRASHES:
            cards = [f"Guest {tally.kills}.{number}" for number in range(CARDS)]
            with ThreadPoolExecutor(1) as elsewhere:
                sending = elsewhere.submit(importer.send_characters, cards)
                _kill_one(either_stage, random, seconds, tally)
            job = sending.result() or importer.send_characters(cards)
            assert job is not None, "nobody has been killed, and the import is not accepted"
            names += cards
            title, length = f"Chat {tally.kills}", random.choice(CHAT_MESSAGES)
            with ThreadPoolExecutor(1) as elsewhere:
                accepting = elsewhere.submit(importer.send_chat, space, title, length)
                _kill_one(either_stage, random, seconds, tally)
            # It is not sent again, for that would be a second chat.
            chats[title] = Chat(length, accepting.result())
            # Now, because a job that has been interrupted three times at the same place is given up.
            importer.wait_for(job)
        _count_imports(importer, space, names, chats, tally)
    assert (tally.lost, tally.doubled) == (0, 0)


class Chat(NamedTuple):
    """A chat that was sent."""

    messages: int
    is_acknowledged: bool


def _count_imports(importer: Importer, space: str, names: list[str], chats: dict[str, Chat], tally: Tally) -> None:
    characters, conversations = importer.characters(), importer.chats(space)
    tally.acknowledged += len(names) + sum(chat.is_acknowledged for chat in chats.values())
    for name in names:
        tally.compare(characters[name])
    for title, chat in chats.items():
        found = conversations.get(title, [])
        # One that was not acknowledged may have been imported: once, and with all messages.
        tally.compare(found.count(chat.messages), 1 if chat.is_acknowledged or found else 0)
        tally.doubled += len(found) - found.count(chat.messages)


def _kill_one(stage: Stage, random: Random, within: float, tally: Tally) -> None:
    """Kill one of the processes at any moment, not only where something is written; and start it again."""
    time.sleep(random.random() * within)
    role, process = random.choice(list(stage.processes.items()))
    process.kill()
    tally.kills += 1
    stage.expire_leases_of(role)
    process.start()


def _seconds(action: Callable[[], object]) -> float:
    """How long something takes that nobody disturbs: a kill within this time is at any moment of it."""
    began = time.monotonic()
    action()
    return time.monotonic() - began


class Command(NamedTuple):
    """Runs `tavernkit db` on a database."""

    database_url: str
    environment: dict[str, str]
    log: Path

    def run(self, *arguments: str | Path) -> float:
        """Run it to its end; the seconds that it took."""
        return _seconds(lambda: self._finish(*arguments))

    def run_until_killed(self, seconds: float, *arguments: str | Path) -> bool:
        """Kill it after so many seconds; whether it was, and did not end before."""
        process = self._start(*arguments)
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        code = process.wait(COMMAND_SECONDS)
        assert code in (0, -signal.SIGKILL), self.log.read_text()
        return code != 0

    def _finish(self, *arguments: str | Path) -> None:
        assert self._start(*arguments).wait(COMMAND_SECONDS) == 0, self.log.read_text()

    def _start(self, *arguments: str | Path) -> Forked:
        environment = {**self.environment, "TAVERNKIT_DATABASE_URL": self.database_url}
        return Forked(tavernkit, ["db", *map(str, arguments)], environment, self.log)


def test_killed_during_backups_and_restores(
    own_stage: Stage, count_kills: Count, mortal_postgres: PostgresServer, tmp_path: Path
) -> None:
    stage, folder = own_stage, tmp_path / "backups"
    live = Command(stage.database_url, stage.processes["serve"].whole_environment(), tmp_path / "commands.log")
    other = live._replace(database_url=new_database_url(stage.database_kind, tmp_path, mortal_postgres))
    files = [tmp_path / "one.zip", tmp_path / "two.zip"]
    stories = []
    for file in files:
        stories.append(stage.player.begin(ONE))
        stage.player.say_until_accepted(stories[-1])
        stage.player.play(stories[-1])
        seconds = live.run("backup", file)
    with count_kills("restore", stage.database_kind) as tally:
        _kill_restores(other, files, tally)
    assert (tally.lost, tally.doubled) == (0, 0)
    target = folder / "tavern.zip"
    folder.mkdir()
    shutil.copy(files[-1], target)
    with count_kills("backup", stage.database_kind) as tally:
        _kill_backups(stage, live, target, seconds, [story.conversation.hex for story in stories], tally)
    assert (tally.lost, tally.doubled) == (0, 0)
    live.run("backup", target, "--force")
    assert [file.name for file in folder.iterdir()] == [target.name]
    other.run("restore", target, "--force")
    assert asyncio.run(contents(other.database_url)) == asyncio.run(contents(live.database_url))


def _kill_restores(command: Command, files: list[Path], tally: Tally) -> None:
    """Restore one file in place of the other: afterwards the database holds the one or the other, and nothing else."""
    random, seconds = Random(SEED), 0.0
    whole = []
    for file in files:
        seconds = command.run("restore", file, "--force")
        whole.append(asyncio.run(contents(command.database_url)))
    current = len(files) - 1
    while tally.kills < CRASHES:
        chosen = 1 - current
        was_killed = command.run_until_killed(random.random() * seconds, "restore", files[chosen], "--force")
        tally.kills += was_killed
        tally.acknowledged += not was_killed
        found = asyncio.run(contents(command.database_url))
        if found == whole[chosen]:
            current = chosen
        else:
            tally.lost += not was_killed or found != whole[current]


def _kill_backups(
    stage: Stage, command: Command, target: Path, seconds: float, conversations: list[str], tally: Tally
) -> None:
    """Back up while a story begins: the file is the one before or a whole new one, with all that was there before."""
    random, acknowledged = Random(SEED), list(conversations)
    tally.acknowledged += len(acknowledged)
    while tally.kills < CRASHES:
        before, expected = target.read_bytes(), list(acknowledged)
        with ThreadPoolExecutor(1) as elsewhere:
            beginning = elsewhere.submit(stage.player.begin, ONE)
            was_killed = command.run_until_killed(random.random() * seconds, "backup", target, "--force")
        acknowledged.append(beginning.result().conversation.hex)
        tally.kills += was_killed
        tally.acknowledged += 2 - was_killed
        if target.read_bytes() == before:
            tally.lost += not was_killed
            continue
        found = _conversations_in(target)
        for conversation in expected:
            tally.compare(found[conversation])


def _conversations_in(file: Path) -> Counter[str]:
    """The conversations in a backup, whose tables have to be what its manifest says."""
    with zipfile.ZipFile(file) as archive:
        tables = json.loads(archive.read("manifest.json"))["tables"]
        for name, part in tables.items():
            data = archive.read(f"tables/{name}.jsonl")
            assert (data.count(b"\n"), hashlib.sha256(data).hexdigest()) == (part["rows"], part["sha256"])
        rows = archive.read("tables/conversations.jsonl").splitlines()
    place = tables["conversations"]["columns"].index("id")
    return Counter(json.loads(row)[place] for row in rows)
