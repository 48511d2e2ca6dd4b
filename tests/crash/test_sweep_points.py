"""Whoever sweeps dies at a write: another one goes on, what was deleted is gone, and nothing that is in use is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import NamedTuple, TypeVar
from uuid import UUID

import pytest
from sqlalchemy import func, select, update

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.blobs.store import is_unused
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database.models import Blob, Conversation, Lorebook, Message, Persona, TextContent, User
from tavernkit.playground.base.runtime import Runtime, open_runtime
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.conversations.service import delete_conversation
from tavernkit.playground.story.lorebooks.documents import NewLorebook
from tavernkit.playground.story.lorebooks.service import create_lorebook, delete_lorebook
from tavernkit.playground.story.messages.service import add_swipe, hide_message, read_messages, send_message
from tavernkit.playground.story.personas.documents import NewPersona
from tavernkit.playground.story.personas.service import create_persona, delete_persona, set_picture
from tavernkit.playground.story.retention import EXPIRED, request_sweep
from tavernkit.playground.story.spaces.service import create_space
from tavernkit.playground.story.trash.queries import TABLES
from tests.crash.points import IN_FULL
from tests.crash.stages import Place, Stage
from tests.playground.characters.builders import picture
from tests.support.hanging import wait_until

T = TypeVar("T")

TIMED = {"extend_leases", "extend_job_lease", "reap_jobs", "reap_runs"}
"""What timers write; leases have tests of their own."""
DEATHS = 3
"""So many deaths for each kind of database in `make test`."""


class Deleted(NamedTuple):
    """A story whose root was deleted, the branch that stays, and the job that removes the rest."""

    name: str
    branch: UUID
    job: UUID


class Deleter:
    """A person on the machine of the database, who writes stories and deletes them."""

    def __init__(self, database_url: str, folder: Path) -> None:
        self._settings = AppConfig(data_dir=folder, database_url=database_url)
        self._numbers = count(1)

    def delete_a_story(self) -> Deleted:
        """Write a story and a lorebook, delete them but for a branch of the story, and let their period be over."""
        name = f"Story {next(self._numbers):03}"

        async def act(runtime: Runtime, viewer: Viewer) -> Deleted:
            async def say(conversation_id: UUID, text: str) -> Message:
                id = runtime.ids()
                return await send_message(
                    runtime, viewer, conversation_id, message_id=id, content=f"{name}: {text}", role="system"
                )

            root = (await create_space(runtime, viewer, name=name)).conversation
            shared = [await say(root.id, f"shared {number}") for number in range(3)]
            branch = await fork(runtime, viewer, root.id, shared[-1].id, title=name)
            swiped = [await say(root.id, f"gone {number}") for number in range(3)][-1]
            await add_swipe(runtime, viewer, swiped.id, swipe_id=runtime.ids(), content=f"{name}: gone as well")
            hidden = await say(branch.id, "gone from the branch")
            await hide_message(runtime, viewer, hidden.id)
            # Two personas with pictures of their own, of which one goes.
            for number, title in enumerate(("gone", "kept")):
                persona = await create_persona(runtime, viewer, NewPersona(name=name, title=title))
                drawn = picture(size=(len(name) + int(name[-3:]), 8 + number))
                await set_picture(runtime, viewer, persona.id, drawn, settings_version=0)
                if title == "gone":
                    await delete_persona(runtime, viewer, persona.id)
            book = await create_lorebook(runtime, viewer, NewLorebook(name=name))
            await delete_lorebook(runtime, viewer, book.id)
            await delete_conversation(runtime, viewer, root.id)
            async with runtime.database.write() as session:
                for row in TABLES.values():
                    await session.execute(update(row).where(row.trashed_at.is_not(None)).values(trashed_at=EXPIRED))
            return Deleted(name, branch.id, await request_sweep(runtime, viewer))

        return self._do(act)

    def problems(self, deleted: Deleted) -> list[str]:
        """What is left of what was deleted, or missing of what was not, in sentences."""

        async def look(runtime: Runtime, viewer: Viewer) -> list[str]:
            window = await read_messages(runtime, viewer, deleted.branch, before=None, after=None, limit=10)
            shown = [one.message.content for one in window.messages]
            async with runtime.database.read() as session:
                texts = set(
                    await session.scalars(
                        select(TextContent.content).where(TextContent.content.startswith(deleted.name))
                    )
                )
                titles = await session.scalars(select(Conversation.title).where(Conversation.title == deleted.name))
                books = await session.scalars(select(Lorebook.name).where(Lorebook.name == deleted.name))
                expected = [f"{deleted.name}: shared {number}" for number in range(3)]
                found = [] if shown == expected else [f"the branch shows {shown}"]
                if texts != set(expected):
                    found.append(f"the texts are {sorted(texts)}")
                personas = select(Persona.title).where(Persona.name == deleted.name)
                pictured = personas.join(Blob, Blob.sha256 == Persona.avatar_sha256)
                unused = select(func.count()).select_from(Blob).where(*is_unused())
                if len(titles.all()) != 1 or books.all():
                    found.append("a conversation is missing, or a lorebook is left")
                if [list(await session.scalars(query)) for query in (personas, pictured)] != [["kept"]] * 2:
                    found.append(
                        "the persona that was not deleted is missing, or its picture, or the other one is left"
                    )
                if await session.scalar(unused):
                    found.append("a picture is left that nothing refers to")
                return found

        return self._do(look)

    def _do(self, action: Callable[[Runtime, Viewer], Awaitable[T]]) -> T:
        async def run() -> T:
            async with open_runtime(self._settings) as runtime:
                async with runtime.database.read() as session:
                    owner = (await session.scalars(select(User.id).order_by(User.created_at).limit(1))).one()
                return await action(runtime, Viewer(user_id=owner, role="administrator"))

        return asyncio.run(run())


def test_whoever_sweeps_dies_at_a_write(own_stage: Stage, subtests: pytest.Subtests, tmp_path: Path) -> None:
    # Sweeps leave gaps between messages, which other tests would take for losses: nobody else looks at this database.
    stage, deleter = own_stage, Deleter(own_stage.database_url, tmp_path)
    began = stage.log_lengths()
    stage.clear()
    deleted = deleter.delete_a_story()
    assert stage.rows.wait_until_job_ended(deleted.job) == "succeeded"
    places = [place for place in stage.passed_each_time() if place.write not in TIMED]
    stage.clear()
    assert deleter.problems(deleted) == []
    assert len(places) > 8
    for place in places if IN_FULL else _some(places, stage.database_kind):
        with subtests.test(str(place)):
            stage.clear()
            stage.processes[place.role].points.arm(place.point)
            deleted = deleter.delete_a_story()
            wait_until(stage.processes[place.role].is_dead)
            stage.clear()
            stage.raise_dead()
            assert stage.rows.wait_until_job_ended(deleted.job) == "succeeded"
            assert deleter.problems(deleted) == []
    assert "Traceback" not in stage.logged(since=began)


def _some(places: list[Place], kind: str) -> list[Place]:
    """Some places of the whole sweep, others for each kind of database."""
    start = 1 if kind == "sqlite" else 2
    return places[start :: max(1, len(places) // DEATHS)][:DEATHS]
