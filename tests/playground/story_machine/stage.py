"""What all rules need: a story, its model, a clock and ids that are the same each time."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, TypeVar
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine
from sqlalchemy import delete, select, union
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character, Conversation, Message, MessageSwipe, TextContent, User
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.characters.importing import import_file
from tavernkit.playground.story.runs.service import Claim
from tavernkit.playground.story.runs.speakers import has_copilot
from tavernkit.playground.story.spaces.service import remove_space, start_story
from tavernkit.values import Json
from tests.playground.stories import Story
from tests.playground.story_machine.model import Line, Told, model_delta
from tests.playground.story_machine.stored import Stored, read_stored
from tests.playground.support.refusals import all_rows

__all__ = ["MAX_LINES", "Clock", "Stage", "Theatre", "places", "texts"]

T = TypeVar("T")

MAX_LINES = 4
GUEST = b'{"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Pell", "description": "Sings."}}'

places = st.integers(0, 50)
texts = st.sampled_from(["One.", "Two words.", "A fox 🦊.", "*She nods.*"])


class Clock:
    """Goes on a little whenever somebody looks at it."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.pass_by(0.001)
        return self._now

    async def now(self, session: AsyncSession) -> datetime:
        return self()

    def pass_by(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)


class Theatre:
    """A database for many stories, one after the other, and two characters to play in them."""

    def __init__(self, play: Story, runner: asyncio.Runner) -> None:
        self.runtime = play.runtime
        self.viewer = play.viewer
        self._user_id = play.user_id
        self.run = runner.run
        self._character_id = self.run(self._first_character())
        self.guest_id = self.run(self._import_guest())

    def prepare(self) -> Clock:
        """Let the clock and the ids begin anew, so that the same steps give the same story."""
        numbers, clock = count(1), Clock()
        self.runtime.clock = self.runtime.lease_clock = clock
        self.runtime.ids = lambda: UUID(int=next(numbers), version=4)
        return clock

    async def open(self) -> Conversation:
        return await start_story(self.runtime, await self._owner(), self._character_id)

    async def close(self, space_id: UUID) -> None:
        async with self.runtime.database.write() as session:
            await remove_space(session, space_id)
            # Texts that were edited or deleted belong to nobody, and their ids come again in the next story.
            used = union(select(Message.text_id), select(MessageSwipe.text_id))
            await session.execute(delete(TextContent).where(TextContent.id.not_in(used)))

    async def _first_character(self) -> UUID:
        async with self.runtime.database.read() as session:
            return (await session.scalars(select(Character.id))).one()

    async def _import_guest(self) -> UUID:
        return (await import_file(self.runtime, Viewer(user_id=(await self._owner()).id), GUEST)).character.id

    async def _owner(self) -> User:
        async with self.runtime.database.read() as session:
            return await session.get_one(User, self._user_id)


class Stage(RuleBasedStateMachine):
    """One story. Rules call services through `do`, and change the model as the services should change the database.

    `stored` is what the database held when the step began.
    """

    def __init__(self, theatre: Theatre) -> None:
        super().__init__()
        self.theatre = theatre
        self.clock = theatre.prepare()
        self.runtime = theatre.runtime
        self.viewer = theatre.viewer
        self.run = theatre.run
        self.lines: list[Line] = []
        self.stored: dict[UUID, Stored] = {}
        self.manners: dict[str, Json] = {}
        self.claims: dict[UUID, Claim] = {}
        self.lost: list[Claim] = []
        self.guest: UUID | None = None
        self.guest_is_here = False
        self.depths: dict[str, int] = {}
        conversation = self.do(theatre.open())
        self.space_id = conversation.space_id
        line = Line(conversation.id)
        self.lines = [line]
        self.look()
        greeting = self.stored[line.id]
        for message in greeting.messages:
            swipes = greeting.swipes[message.id]
            told = line.add(message.id, message.role, *(swipe.content for swipe in swipes))
            for swipe, delta in zip(swipes, told.deltas, strict=True):
                delta.update(model_delta(swipe.state_delta))

    def teardown(self) -> None:
        self.run(self.theatre.close(self.space_id))

    def look(self) -> None:
        self.stored = self.run(read_stored(self.runtime, self.space_id, [line.id for line in self.lines]))

    def do(self, action: Coroutine[Any, Any, T]) -> T:
        """Do something that must work."""
        return self.run(action)

    def attempt(self, action: Coroutine[Any, Any, T]) -> T | Refused:
        """Try something that may be refused, which leaves every row as it was."""
        before = self.run(all_rows(self.runtime))
        try:
            return self.run(action)
        except Refused as refused:
            assert self.run(all_rows(self.runtime)) == before
            return refused

    def refuse(self, action: Coroutine[Any, Any, object]) -> Refused:
        """Try something that must not work."""
        outcome = self.attempt(action)
        assert isinstance(outcome, Refused), outcome
        return outcome

    def line(self, place: int) -> Line:
        return self.lines[place % len(self.lines)]

    def line_of(self, conversation_id: UUID) -> Line:
        return next(line for line in self.lines if line.id == conversation_id)

    def message(self, place: int) -> tuple[Line, Told]:
        every = [(line, told) for line in self.lines for told in line.visible]
        return every[place % len(every)]

    def has_copilot(self, line: Line) -> bool:
        """Whether a model writes for the person there."""
        return any(has_copilot(member, line.id) for member in self.stored[line.id].members.values())

    def add_branch(self, line: Line, told: Told, id: UUID) -> None:
        """A line has been forked at a message."""
        branch = line.fork(id, told)
        if str(line.id) in self.depths:
            self.depths[str(id)] = self.depths[str(line.id)]
        self.lines.append(branch)
        self.look()
        for copy, expected in zip(self.stored[id].messages, branch.told, strict=True):
            assert copy.origin_message_id == expected.id
            expected.id, expected.revision = copy.id, 1
