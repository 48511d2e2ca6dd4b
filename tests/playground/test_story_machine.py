"""Whatever people and workers do to a story, in whatever order, it stays whole.

A machine does at random what users and workers do, keeps beside it a plain model of what must have come of it, and
looks after each step whether both are the same. A rule of another kind is one more method in `story_machine`.
"""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, run_state_machine_as_test

from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.paths import state as path_state
from tavernkit.playground.story.runs.service import repair_rounds
from tavernkit.playground.story.settings.service import read_conversation_settings
from tests.playground.stories import open_story
from tests.playground.story_machine.asking import MANNERS, Asking
from tests.playground.story_machine.checks import (
    SNAPSHOT_EVERY,
    check_conversation,
    check_final_runs,
    check_messages,
    check_replies,
    check_rounds,
    check_runs,
    check_state,
)
from tests.playground.story_machine.model import Line
from tests.playground.story_machine.stage import Theatre
from tests.playground.story_machine.telling import Telling
from tests.playground.story_machine.working import LEASE_SECONDS, Deed, deeds

pytestmark = pytest.mark.slow

EXAMPLES, STEPS = settings.default.max_examples // 6 if settings.default else 10, 30


class StoryMachine(Telling, Asking):
    """A new story in a database that many stories share, one after the other."""

    def __init__(self, theatre: Theatre) -> None:
        super().__init__(theatre)
        self.final_runs: dict[UUID, tuple[str, str]] = {}
        self.manners = dict(MANNERS)

    @initialize(
        in_a_group=st.booleans(),
        policy=st.sampled_from(["reject", "queue", "restart"]),
        order=st.sampled_from(["natural", "list", "pooled"]),
        deed=deeds,
    )
    def begin(self, in_a_group: bool, policy: str, order: str, deed: Deed) -> None:
        # Something to change from the first step on, with snapshots behind it, and somebody who is going to answer.
        for gold in range(1, 4):
            self.narrate(place=0, text="One.", gold=gold)
        if in_a_group:
            self.let_the_guest_in_or_out(deed=Deed("nothing", 0, False, 0))
        self.change_manners(change=("during_generation_user_input_policy", policy))
        self.change_manners(change=("reply_order", order))
        self.look()
        self.send(place=0, text="Hello?", to_somebody=False, deed=deed)

    @invariant()
    def the_story_is_whole(self) -> None:
        assert self.run(repair_rounds(self.runtime)) == 0
        self.look()
        for line in self.lines:
            stored = self.stored[line.id]
            check_messages(line, stored)
            check_conversation(line, stored)
            check_state(line, stored)
            check_runs(line, stored, self.claims.get(line.id))
            check_replies(line, stored)
            check_rounds(line, stored)
            check_final_runs(self.final_runs, stored)
            self._check_settings(line)
        self._check_members()

    def _check_members(self) -> None:
        """Members never vanish."""
        members = self.stored[self.lines[0].id].members
        assert sum(member.kind == "character" for member in members.values()) == (1 if self.guest is None else 2)
        is_here = self.guest is not None and members[self.guest].status == "active"
        assert is_here == self.guest_is_here

    def _check_settings(self, line: Line) -> None:
        """Settings say where they come from."""
        own, shared = self.depths.get(str(line.id)), self.depths.get("space")
        if own is None and shared is None:
            return
        now = self.do(read_conversation_settings(self.runtime, self.viewer, line.id))
        depth = now.effective["authors_note"]["depth"]
        assert (depth.value, depth.source) == ((shared, "space") if own is None else (own, "conversation"))


def test_a_story_stays_whole(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Stories of thirty steps are short; with snapshots this close, most changes have some behind them.
    monkeypatch.setattr(path_state, "EVERY", SNAPSHOT_EVERY)
    opened = AsyncExitStack()
    with asyncio.Runner() as runner:
        playable = open_story(database_url, tmp_path, ScriptedModel(), lease_seconds=LEASE_SECONDS)
        play = runner.run(opened.enter_async_context(playable))
        try:
            theatre = Theatre(play, runner)

            class Story(StoryMachine):
                def __init__(self) -> None:
                    super().__init__(theatre)

            run_state_machine_as_test(
                Story,
                settings=settings(
                    # The rules are the same on both; PostgreSQL has fewer stories, because each costs it more.
                    max_examples=EXAMPLES // 2 if play.runtime.database.is_postgresql else EXAMPLES,
                    stateful_step_count=STEPS,
                    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
                ),
            )
        finally:
            runner.run(opened.aclose())
