"""Whatever people do to a story, in whatever order, it stays whole.

A machine does at random what users do, keeps beside it a plain model of what must have come of it, and looks after each
step whether both are the same. A rule of another kind is one more method: it calls a service through `do`, and changes
`self.lines` as the service should have changed the database.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import select

from tavernkit.playground.characters.importing import import_character
from tavernkit.playground.conversations.forking import ForkKind, fork
from tavernkit.playground.database.models import (
    Character,
    Conversation,
    Message,
    MessageSwipe,
    OutboxEvent,
    PathSnapshot,
    SpaceMembership,
    User,
)
from tavernkit.playground.llm.scripted import ScriptedModel
from tavernkit.playground.members.service import add_member, remove_member
from tavernkit.playground.messages.changing import exclude_message, hide_message, include_message, restore_message
from tavernkit.playground.messages.service import send_message
from tavernkit.playground.messages.swipes import add_swipe, delete_swipe, edit_message, edit_swipe, select_swipe
from tavernkit.playground.outcome import Refused
from tavernkit.playground.paths import snapshots
from tavernkit.playground.paths.snapshots import replay, state_at
from tavernkit.playground.paths.variables import VARIABLES, delete_variable, set_variable
from tavernkit.playground.runs.deciding import discard_text
from tavernkit.playground.runs.service import cancel_run, claim_run, finish_run
from tavernkit.playground.settings.service import (
    change_conversation_settings,
    change_space_settings,
    read_conversation_settings,
    read_space_settings,
)
from tavernkit.playground.spaces.service import start_story
from tavernkit.values import Json
from tests.playground.playing import Play, playing

T = TypeVar("T")

EXAMPLES, STEPS = settings.default.max_examples // 8 if settings.default else 12, 15
SNAPSHOT_EVERY = 3
MAX_LINES = 5
UNSET = ...

GUEST = b'{"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Pell", "description": "Sings."}}'

places = st.integers(0, 50)
texts = st.sampled_from(["One.", "Two words.", "A fox 🦊.", "*She nods.*"])
names = st.sampled_from(["gold", "hope"])
values = st.sampled_from([None, 1, "much", [1, 2]])


class Told:
    """What a message should be."""

    def __init__(self, id: UUID, seq: int, texts: list[str]) -> None:
        self.id = id
        self.seq = seq
        self.texts = texts
        self.deltas: list[dict[str, Json]] = [{} for _ in texts]
        self.active = 0
        self.visibility = "normal"
        self.revision = 1
        self.hidden = False

    def change(self) -> None:
        self.revision += 1


class Line:
    """What a conversation should be; in a delta, `UNSET` stands for what it takes away."""

    def __init__(self, id: UUID, parent: "Line | None" = None, forked_from: UUID | None = None) -> None:
        self.id = id
        self.parent = parent
        self.forked_from = forked_from
        self.beginning: dict[str, Json] = {}
        self.told: list[Told] = []
        self.last_seq = 0

    @property
    def visible(self) -> list[Told]:
        return [told for told in self.told if not told.hidden]

    @property
    def root(self) -> "Line":
        return self if self.parent is None else self.parent.root

    def add(self, id: UUID, *contents: str) -> None:
        self.last_seq += 1
        self.told.append(Told(id, self.last_seq, list(contents)))

    def state(self, seq: int) -> dict[str, Json]:
        state = dict(self.beginning)
        for told in self.visible:
            if told.seq <= seq:
                for name, value in told.deltas[told.active].items():
                    state.pop(name, None)
                    if value is not UNSET:
                        state[name] = value
        return state


class StoryMachine(RuleBasedStateMachine):
    """A new story in a database that many stories share."""

    def __init__(self, play: Play, runner: asyncio.Runner) -> None:
        super().__init__()
        self.play = play
        self.runtime = play.runtime
        self.viewer = play.viewer
        self._runner = runner
        self.lines: list[Line] = []
        self.guest: UUID | None = None
        self.guest_is_here = False
        self.depths: dict[str, int] = {}

    def do(self, action: Coroutine[Any, Any, T | Refused]) -> T:
        """Do something that must work."""
        outcome = self._runner.run(action)
        assert not isinstance(outcome, Refused), outcome
        return outcome

    def refuse(self, action: Coroutine[Any, Any, object]) -> Refused:
        """Try something that must not work."""
        outcome = self._runner.run(action)
        assert isinstance(outcome, Refused), outcome
        return outcome

    def line(self, place: int) -> Line:
        return self.lines[place % len(self.lines)]

    def message(self, place: int) -> tuple[Line, Told]:
        every = [(line, told) for line in self.lines for told in line.visible]
        return every[place % len(every)]

    @initialize()
    def begin(self) -> None:
        conversation = self.do(self._begin())
        line = Line(conversation.id)
        for message, swipes in self._runner.run(self._rows(line)):
            line.add(message.id, *(swipe.content for swipe in swipes))
            for swipe, delta in zip(swipes, line.told[-1].deltas, strict=True):
                delta.update(_model_delta(swipe.state_delta))
        self.lines = [line]
        self.space_id = conversation.space_id
        # Something to change from the first step on, with snapshots behind it.
        for gold in range(1, 6):
            self.narrate(place=0, text="One.", gold=gold)

    @rule(place=places, text=texts, gold=st.integers(0, 9))
    def narrate(self, place: int, text: str, gold: int) -> None:
        line, id = self.line(place), uuid4()
        self.do(send_message(self.runtime, self.viewer, line.id, message_id=id, content=text, role="system"))
        line.add(id, text)
        if gold:
            self.do(set_variable(self.runtime, self.viewer, line.id, "gold", gold))
            line.told[-1].deltas[0][f"{VARIABLES}gold"] = gold

    @rule(place=places, text=texts, ending=st.sampled_from(["replied", "stopped"]))
    def send(self, place: int, text: str, ending: Literal["replied", "stopped"]) -> None:
        line, id = self.line(place), uuid4()
        self.do(send_message(self.runtime, self.viewer, line.id, message_id=id, content=text))
        line.add(id, text)
        assert (
            self.do(send_message(self.runtime, self.viewer, line.id, message_id=id, content="Again.")).content == text
        )
        early = send_message(self.runtime, self.viewer, line.id, message_id=uuid4(), content="Too early.")
        assert self.refuse(early).code == "generation_locked"
        claim = self._runner.run(claim_run(self.runtime, "machine"))
        assert claim is not None
        if ending == "replied":
            reply = self._runner.run(finish_run(self.runtime, claim, f"Re: {text}"))
            assert reply is not None
            line.add(reply.id, f"Re: {text}")
        else:
            assert self._runner.run(cancel_run(self.runtime, claim, ""))
            self.do(discard_text(self.runtime, self.viewer, claim.run_id))

    @precondition(lambda self: any(line.visible for line in self.lines))
    @rule(place=places, text=texts)
    def edit(self, place: int, text: str) -> None:
        _, told = self.message(place)
        change = edit_message(self.runtime, self.viewer, told.id, content=text, revision=told.revision)
        self.do(change)
        if told.texts[told.active] != text:
            told.texts[told.active] = text
            told.change()

    @precondition(lambda self: any(line.visible for line in self.lines))
    @rule(place=places)
    def edit_from_an_older_tab(self, place: int) -> None:
        _, told = self.message(place)
        refused = self.refuse(
            edit_message(self.runtime, self.viewer, told.id, content="Late.", revision=told.revision + 1)
        )
        assert (refused.code, refused.current["content"]) == ("stale", told.texts[told.active])

    @precondition(lambda self: any(line.visible for line in self.lines))
    @rule(place=places, text=texts, activate=st.booleans())
    def add_swipe(self, place: int, text: str, activate: bool) -> None:
        _, told = self.message(place)
        self.do(add_swipe(self.runtime, self.viewer, told.id, swipe_id=uuid4(), content=text, activate=activate))
        told.texts.append(text)
        told.deltas.append({})
        told.change()
        if activate:
            told.active = len(told.texts) - 1

    @precondition(lambda self: any(line.visible for line in self.lines))
    @rule(place=places, to=st.sampled_from(["left", "right"]))
    def swipe(self, place: int, to: Literal["left", "right"]) -> None:
        _, told = self.message(place)
        self.do(select_swipe(self.runtime, self.viewer, told.id, to, revision=told.revision))
        active = max(told.active - 1, 0) if to == "left" else min(told.active + 1, len(told.texts) - 1)
        if active != told.active:
            told.active = active
            told.change()

    @precondition(lambda self: any(line.visible for line in self.lines))
    @rule(place=places, which=places, text=texts)
    def edit_swipe(self, place: int, which: int, text: str) -> None:
        line, told = self.message(place)
        position = which % len(told.texts)
        swipe_id = self._swipe_ids(line, told)[position]
        self.do(edit_swipe(self.runtime, self.viewer, told.id, swipe_id, content=text, revision=None))
        if told.texts[position] != text:
            told.texts[position] = text
            told.change()

    @precondition(lambda self: any(line.visible for line in self.lines))
    @rule(place=places, which=places)
    def delete_swipe(self, place: int, which: int) -> None:
        line, told = self.message(place)
        position = which % len(told.texts)
        removal = delete_swipe(self.runtime, self.viewer, told.id, self._swipe_ids(line, told)[position])
        if len(told.texts) == 1:
            assert self.refuse(removal).code == "conflict"
            return
        self.do(removal)
        del told.texts[position], told.deltas[position]
        told.change()
        if position < told.active or (position == told.active and position > 0):
            told.active -= 1

    @precondition(lambda self: any(line.visible for line in self.lines))
    @rule(place=places)
    def hide(self, place: int) -> None:
        _, told = self.message(place)
        self.do(hide_message(self.runtime, self.viewer, told.id))
        told.hidden = True
        told.change()
        late = edit_message(self.runtime, self.viewer, told.id, content="Late.", revision=told.revision)
        assert self.refuse(late).code == "conflict"

    @precondition(lambda self: any(told.hidden for line in self.lines for told in line.told))
    @rule(place=places)
    def undo(self, place: int) -> None:
        hidden = [told for line in self.lines for told in line.told if told.hidden]
        told = hidden[place % len(hidden)]
        self.do(restore_message(self.runtime, self.viewer, told.id))
        told.hidden = False
        told.change()

    @precondition(lambda self: any(line.visible for line in self.lines))
    @rule(place=places)
    def toggle_exclusion(self, place: int) -> None:
        _, told = self.message(place)
        if told.visibility == "normal":
            self.do(exclude_message(self.runtime, self.viewer, told.id))
            told.visibility = "excluded"
        else:
            self.do(include_message(self.runtime, self.viewer, told.id))
            told.visibility = "normal"
        told.change()

    @precondition(lambda self: len(self.lines) < MAX_LINES and any(line.visible for line in self.lines))
    @rule(place=places, kind=st.sampled_from(["branch", "thread", "checkpoint"]))
    def fork(self, place: int, kind: ForkKind) -> None:
        line, told = self.message(place)
        child = self.do(fork(self.runtime, self.viewer, line.id, told.id, kind=kind))
        branch = Line(child.id, line, told.id)
        branch.beginning = dict(line.beginning)
        if str(line.id) in self.depths:
            self.depths[str(child.id)] = self.depths[str(line.id)]
        branch.last_seq = told.seq
        branch.told = deepcopy([other for other in line.visible if other.seq <= told.seq])
        for (copy, _), expected in zip(self._runner.run(self._rows(branch)), branch.told, strict=True):
            assert copy.origin_message_id == expected.id
            expected.id, expected.revision = copy.id, 1
        self.lines.append(branch)

    @rule(place=places, name=names, value=values)
    def set_variable(self, place: int, name: str, value: Json) -> None:
        line = self.line(place)
        self.do(set_variable(self.runtime, self.viewer, line.id, name, value))
        if line.visible:
            last = line.visible[-1]
            last.deltas[last.active][VARIABLES + name] = value
        else:
            line.beginning[VARIABLES + name] = value

    @rule(place=places, name=names)
    def delete_variable(self, place: int, name: str) -> None:
        line = self.line(place)
        removal = delete_variable(self.runtime, self.viewer, line.id, name)
        if VARIABLES + name not in line.state(line.last_seq):
            assert self.refuse(removal).code == "not_found"
            return
        self.do(removal)
        if line.visible:
            last = line.visible[-1]
            last.deltas[last.active][VARIABLES + name] = UNSET
        else:
            del line.beginning[VARIABLES + name]

    @rule()
    def let_the_guest_in_or_out(self) -> None:
        if self.guest is not None and self.guest_is_here:
            removed = self.do(remove_member(self.runtime, self.viewer, self.guest, reason="Late."))
            assert (removed.status, removed.participation, removed.copilot_mode) == ("removed", "muted", "none")
        else:
            character_id = self._runner.run(self._guest())
            member = self.do(add_member(self.runtime, self.viewer, self.space_id, character_id=character_id))
            assert self.guest in (None, member.id), "who comes back is the same member"
            self.guest = member.id
            twice = add_member(self.runtime, self.viewer, self.space_id, character_id=character_id)
            self._runner.run(twice)
        self.guest_is_here = not self.guest_is_here

    @rule(place=places, layer=st.sampled_from(["space", "conversation"]), depth=st.integers(0, 9))
    def change_settings(self, place: int, layer: Literal["space", "conversation"], depth: int) -> None:
        line = self.line(place)
        patch: dict[str, Json] = {"authors_note": {"depth": depth}}
        if layer == "space":
            before = self.do(read_space_settings(self.runtime, self.viewer, self.space_id))
            change = partial(change_space_settings, self.runtime, self.viewer, self.space_id, patch=patch)
        else:
            before = self.do(read_conversation_settings(self.runtime, self.viewer, line.id))
            change = partial(change_conversation_settings, self.runtime, self.viewer, line.id, patch=patch)
        self.do(change(settings_version=before.settings_version))
        late = self.refuse(change(settings_version=before.settings_version))
        assert (late.code, late.current["settings_version"]) == ("stale", before.settings_version + 1)
        self.depths["space" if layer == "space" else str(line.id)] = depth

    @invariant()
    def settings_say_where_they_come_from(self) -> None:
        for line in self.lines:
            now = self.do(read_conversation_settings(self.runtime, self.viewer, line.id))
            depth = now.effective["authors_note"]["depth"]
            own, shared = self.depths.get(str(line.id)), self.depths.get("space")
            if own is not None:
                assert (depth.value, depth.source) == (own, "conversation")
            elif shared is not None:
                assert (depth.value, depth.source) == (shared, "space")

    @invariant()
    def members_never_vanish(self) -> None:
        assert self._runner.run(self._members()) == (1 if self.guest is None else 2, self.guest_is_here)

    @invariant()
    def messages_are_what_was_said(self) -> None:
        for line in self.lines:
            rows = self._runner.run(self._rows(line))
            assert [(row.id, row.seq) for row, _ in rows] == [(told.id, told.seq) for told in line.told]
            for (row, swipes), told in zip(rows, line.told, strict=True):
                assert row.revision == told.revision
                assert (row.visibility, row.hidden_from) == (
                    ("hidden", told.visibility) if told.hidden else (told.visibility, None)
                )
                assert row.swipes_count == len(told.texts)
                assert [(swipe.position, swipe.content) for swipe in swipes] == list(enumerate(told.texts))
                active = swipes[told.active]
                assert (row.active_swipe_id, row.text_id, row.run_id) == (active.id, active.text_id, active.run_id)

    @invariant()
    def conversations_count_and_hang_together(self) -> None:
        for line in self.lines:
            row, events = self._runner.run(self._conversation(line.id))
            assert (row.messages_count, row.last_seq) == (len(line.visible), line.last_seq)
            assert events == list(range(1, row.last_event + 1))
            assert row.root_conversation_id == line.root.id
            assert row.parent_conversation_id == (line.parent.id if line.parent else None)
            assert row.forked_from_message_id == line.forked_from
            if line.parent is not None:
                assert line.forked_from in {told.id for told in line.parent.told}

    @invariant()
    def the_state_is_what_a_replay_says(self) -> None:
        for line in self.lines:
            self._runner.run(self._check_state(line))

    def _swipe_ids(self, line: Line, told: Told) -> list[UUID]:
        return [swipe.id for row, swipes in self._runner.run(self._rows(line)) if row.id == told.id for swipe in swipes]

    async def _begin(self) -> Conversation | Refused:
        async with self.runtime.database.read() as session:
            owner = await session.get_one(User, self.play.user_id)
            character = (await session.scalars(select(Character.id).order_by(Character.created_at).limit(1))).one()
        return await start_story(self.runtime, owner, character)

    async def _guest(self) -> UUID:
        async with self.runtime.database.read() as session:
            owner = await session.get_one(User, self.play.user_id)
        return (await import_character(self.runtime, owner, GUEST)).id

    async def _members(self) -> tuple[int, bool]:
        """How many characters the space has ever had, and whether the guest is there now."""
        async with self.runtime.database.read() as session:
            members = list(
                await session.scalars(
                    select(SpaceMembership).where(
                        SpaceMembership.space_id == self.space_id, SpaceMembership.kind == "character"
                    )
                )
            )
            return len(members), any(member.id == self.guest and member.status == "active" for member in members)

    async def _rows(self, line: Line) -> list[tuple[Message, list[MessageSwipe]]]:
        async with self.runtime.database.read() as session:
            rows = list(
                await session.scalars(select(Message).where(Message.conversation_id == line.id).order_by(Message.seq))
            )
            swipes = list(
                await session.scalars(
                    select(MessageSwipe)
                    .join(Message, Message.id == MessageSwipe.message_id)
                    .where(Message.conversation_id == line.id)
                    .order_by(MessageSwipe.position)
                )
            )
            return [(row, [swipe for swipe in swipes if swipe.message_id == row.id]) for row in rows]

    async def _conversation(self, id: UUID) -> tuple[Conversation, list[int]]:
        async with self.runtime.database.read() as session:
            events = await session.scalars(
                select(OutboxEvent.seq).where(OutboxEvent.conversation_id == id).order_by(OutboxEvent.seq)
            )
            return await session.get_one(Conversation, id), list(events)

    async def _check_state(self, line: Line) -> None:
        async with self.runtime.database.read() as session:
            kept = await session.scalars(
                select(PathSnapshot.seq)
                .where(PathSnapshot.conversation_id == line.id, PathSnapshot.seq > 0)
                .order_by(PathSnapshot.seq)
            )
            assert list(kept) == list(range(SNAPSHOT_EVERY, line.last_seq + 1, SNAPSHOT_EVERY))
            for seq in {line.last_seq, line.last_seq // 2}:
                expected = line.state(seq)
                assert await state_at(session, line.id, seq) == expected
                assert await replay(session, line.id, seq) == expected


def _model_delta(delta: dict[str, Json] | None) -> dict[str, Json]:
    return {} if delta is None else {**delta.get("set", {}), **dict.fromkeys(delta.get("unset", ()), UNSET)}


def test_a_story_stays_whole(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Stories of twenty steps are short; with snapshots this close, most changes have some behind them.
    monkeypatch.setattr(snapshots, "EVERY", SNAPSHOT_EVERY)
    opened = AsyncExitStack()
    with asyncio.Runner() as runner:
        play = runner.run(opened.enter_async_context(playing(database_url, tmp_path, ScriptedModel())))
        try:
            run_state_machine_as_test(
                lambda: StoryMachine(play, runner),
                settings=settings(
                    max_examples=EXAMPLES,
                    stateful_step_count=STEPS,
                    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
                ),
            )
        finally:
            runner.run(opened.aclose())
