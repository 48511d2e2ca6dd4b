"""Whatever is deleted, restored, branched, swiped and swept, in whatever order: each path that is seen is whole."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine

from tavernkit.playground.base.database.models import User
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.characters.service import create_character
from tavernkit.playground.story.conversations.forking import fork
from tavernkit.playground.story.conversations.queries import list_conversations
from tavernkit.playground.story.conversations.service import delete_conversation
from tavernkit.playground.story.messages.service import (
    add_swipe,
    delete_swipe,
    hide_message,
    read_messages,
    select_swipe,
    send_message,
)
from tavernkit.playground.story.paths.state import replay, state_at
from tavernkit.playground.story.paths.variables import set_variable
from tavernkit.playground.story.retention import RetentionPeriods
from tavernkit.playground.story.spaces.service import delete_space, start_story
from tavernkit.playground.story.sweeping.service import sweep
from tavernkit.playground.story.trash.queries import TrashKind
from tavernkit.playground.story.trash.service import delete_for_good, read_trash, restore
from tests.playground.stories import Story, open_story

pytestmark = pytest.mark.slow

T = TypeVar("T")
EXAMPLES, STEPS = settings.default.max_examples // 12 if settings.default else 8, 25
MOST_LINES = 6
PERIOD = RetentionPeriods().trash_days
places = st.integers(0, 50)


@dataclass
class Told:
    """A message as it should be: its versions, which of them is seen, and whether it is in the trash."""

    id: UUID
    texts: list[str]
    active: int = 0
    is_gone: bool = False


@dataclass
class Line:
    """A conversation as it should be."""

    id: UUID
    told: list[Told] = field(default_factory=list)

    @property
    def seen(self) -> list[Told]:
        return [told for told in self.told if not told.is_gone]


class TrashMachine(RuleBasedStateMachine):
    """A story with branches, and what must be seen of it. `trash` has what can be restored, with the day of each."""

    def __init__(self, play: Story, runner: asyncio.Runner, character_id: UUID) -> None:
        super().__init__()
        self.play, self.runner, self.character_id = play, runner, character_id
        self.lines: dict[UUID, Line] = {}
        self.put_away: dict[UUID, Line] = {}
        self.trash: dict[tuple[TrashKind, UUID], int] = {}
        self.lost: dict[UUID, Line] = {}
        self.space_id = UUID(int=0)

    def do(self, action: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(action)

    @property
    def day(self) -> int:
        return self.play.skipped.days

    @initialize()
    def begin(self) -> None:
        self.lines, self.put_away, self.lost, self.trash = {}, {}, {}, {}
        made = self.do(start_story(self.play.runtime, self.do(self._user()), self.character_id))
        self.space_id = made.space_id
        self.lines[made.id] = Line(made.id, self._read(made.id))
        for _ in range(3):
            self.narrate(0)

    async def _user(self) -> User:
        async with self.play.runtime.database.read() as session:
            return await session.get_one(User, self.play.user_id)

    def _read(self, conversation_id: UUID) -> list[Told]:
        window = self.do(
            read_messages(self.play.runtime, self.play.viewer, conversation_id, before=None, after=None, limit=200)
        )
        return [Told(one.message.id, [one.message.content]) for one in window.messages]

    def _line(self, place: int) -> Line:
        return list(self.lines.values())[place % len(self.lines)]

    def _told(self, place: int) -> tuple[Line, Told] | None:
        line = self._line(place)
        return (line, line.seen[place % len(line.seen)]) if line.seen else None

    @precondition(lambda self: self.lines)
    @rule(place=places)
    def narrate(self, place: int) -> None:
        line, id = self._line(place), self.play.runtime.ids()
        text = f"Said {id}"
        message = send_message(self.play.runtime, self.play.viewer, line.id, message_id=id, content=text, role="system")
        self.do(message)
        line.told.append(Told(id, [text]))
        self.do(set_variable(self.play.runtime, self.play.viewer, line.id, "gold", len(line.told)))

    @precondition(lambda self: self.lines)
    @rule(place=places, how=st.sampled_from(["add", "left", "delete"]))
    def swipe(self, place: int, how: str) -> None:
        found = self._told(place)
        if found is None:
            return
        told, runtime, viewer = found[1], self.play.runtime, self.play.viewer
        if how == "add":
            text, id = f"Swiped {place}", runtime.ids()
            self.do(add_swipe(runtime, viewer, told.id, swipe_id=id, content=text))
            told.texts.append(text)
            told.active = len(told.texts) - 1
        elif how == "left":
            self.do(select_swipe(runtime, viewer, told.id, "left"))
            told.active = max(0, told.active - 1)
        elif len(told.texts) > 1:
            shown = self.do(self.play.swipes(told.id))[told.active]
            self.do(delete_swipe(runtime, viewer, told.id, shown.id))
            del told.texts[told.active]
            told.active = max(0, told.active - 1)

    @precondition(lambda self: 0 < len(self.lines) + len(self.put_away) < MOST_LINES and self.lines)
    @rule(place=places)
    def branch(self, place: int) -> None:
        found = self._told(place)
        if found is None:
            return
        line, last = found
        made = self.do(fork(self.play.runtime, self.play.viewer, line.id, last.id))
        copies = self._read(made.id)
        kept = line.seen[: line.seen.index(last) + 1]
        told = [replace(one, id=copy.id, texts=list(one.texts)) for one, copy in zip(kept, copies, strict=True)]
        self.lines[made.id] = Line(made.id, told)

    @precondition(lambda self: self.lines)
    @rule(place=places, kind=st.sampled_from(["message", "message", "conversation", "space"]))
    def delete(self, place: int, kind: TrashKind) -> None:
        runtime, viewer = self.play.runtime, self.play.viewer
        if kind == "message":
            found = self._told(place)
            if found is not None:
                self.do(hide_message(runtime, viewer, found[1].id))
                found[1].is_gone = True
                self.trash["message", found[1].id] = self.day
        elif kind == "conversation" and len(self.lines) > 1:
            line = self._line(place)
            self.do(delete_conversation(runtime, viewer, line.id))
            self.put_away[line.id] = self.lines.pop(line.id)
            self.trash["conversation", line.id] = self.day
        elif kind == "space":
            self.do(delete_space(runtime, viewer, self.space_id))
            self.trash["space", self.space_id] = self.day
            self.lost, self.lines = self.lines, {}

    @precondition(lambda self: self.trash)
    @rule(place=places)
    def bring_back(self, place: int) -> None:
        kind, id = list(self.trash)[place % len(self.trash)]
        action = restore(self.play.runtime, self.play.viewer, kind, id)
        is_elsewhere = kind != "space" and ("space", self.space_id) in self.trash
        if is_elsewhere or (kind == "message" and self._owner_of(id) is None):
            with pytest.raises(Refused, match="does not exist"):
                self.do(action)
            return
        self.do(action)
        del self.trash[kind, id]
        if kind == "space":
            self.lines = self.lost
        elif kind == "conversation":
            self.lines[id] = self.put_away.pop(id)
        else:
            next(told for line in self.lines.values() for told in line.told if told.id == id).is_gone = False

    def _owner_of(self, message_id: UUID) -> Line | None:
        return next((line for line in self.lines.values() if any(one.id == message_id for one in line.told)), None)

    @precondition(lambda self: self.trash)
    @rule(place=places)
    def delete_one_for_good(self, place: int) -> None:
        kind, id = list(self.trash)[place % len(self.trash)]
        is_elsewhere = kind != "space" and ("space", self.space_id) in self.trash
        if is_elsewhere or (kind == "message" and self._owner_of(id) is None):
            return
        self.do(delete_for_good(self.play.runtime, self.play.viewer, kind, id))
        self._forget(kind, id)

    @rule(days=st.sampled_from([0, 1, PERIOD - 1, PERIOD]))
    def let_time_pass_and_sweep(self, days: int) -> None:
        self.play.skipped += timedelta(days=days)
        self.do(sweep(self.play.runtime, asyncio.Event()))
        for (kind, id), day in list(self.trash.items()):
            if day + PERIOD <= self.day:
                self._forget(kind, id)

    def _forget(self, kind: TrashKind, id: UUID) -> None:
        self.trash.pop((kind, id), None)
        if kind == "message":
            for line in (*self.lines.values(), *self.put_away.values(), *self.lost.values()):
                line.told = [told for told in line.told if told.id != id]
        elif kind == "conversation":
            self.put_away.pop(id, None)
        else:
            self.begin()

    @invariant()
    def every_path_that_is_seen_is_whole(self) -> None:
        if not self.lines:
            return
        runtime, viewer = self.play.runtime, self.play.viewer
        listed = self.do(list_conversations(runtime, viewer, self.space_id, after=None, limit=50))
        rows = {one.conversation.id: one.conversation for one in listed}
        assert set(rows) == set(self.lines)
        for line in self.lines.values():
            seen = [(told.id, told.texts[told.active]) for told in line.seen]
            assert [(one.id, one.texts[0]) for one in self._read(line.id)] == seen
            assert rows[line.id].messages_count == len(seen)
            top = rows[line.id]
            while top.parent_conversation_id is not None:
                assert top.root_conversation_id == rows[line.id].root_conversation_id
                top = rows[top.parent_conversation_id]
            assert top.id == rows[line.id].root_conversation_id
            self.do(self._check_state(line.id, rows[line.id].last_seq))
        can_return = {(item.kind, item.id) for item in self.do(read_trash(runtime, viewer, limit=200))}
        here = {id for line in self.lines.values() for id in (told.id for told in line.told)}
        assert {(kind, id) for kind, id in can_return if kind != "space" and (kind != "message" or id in here)} == {
            (kind, id) for kind, id in self.trash if kind != "message" or id in here
        }

    async def _check_state(self, conversation_id: UUID, seq: int) -> None:
        async with self.play.runtime.database.read() as session:
            assert await state_at(session, conversation_id, seq) == await replay(session, conversation_id, seq)


def test_a_trash_leaves_every_path_whole(database_url: str, tmp_path: Path) -> None:
    opened = AsyncExitStack()
    with asyncio.Runner() as runner:
        play = runner.run(opened.enter_async_context(open_story(database_url, tmp_path)))
        try:
            character_id = runner.run(_character(play))

            class Machine(TrashMachine):
                def __init__(self) -> None:
                    super().__init__(play, runner, character_id)

            options = settings(
                max_examples=EXAMPLES // 2 if play.runtime.database.is_postgresql else EXAMPLES,
                stateful_step_count=STEPS,
                suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
            )
            run_machine(Machine, settings=options)
        finally:
            runner.run(opened.aclose())


async def _character(play: Story) -> UUID:
    return (await create_character(play.runtime, play.viewer, {"name": "Ada", "first_mes": "Hello."})).id
