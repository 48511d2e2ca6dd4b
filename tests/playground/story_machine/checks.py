"""What holds of a story after every step, whatever was done to it."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from tavernkit.playground.base.database.models import Round, RoundSlot
from tavernkit.playground.story.runs.planner import FINAL
from tavernkit.playground.story.runs.service import Claim
from tavernkit.playground.story.runs.speakers import can_speak
from tests.playground.story_machine.model import Line
from tests.playground.story_machine.stored import Stored

__all__ = [
    "SNAPSHOT_EVERY",
    "check_conversation",
    "check_final_runs",
    "check_messages",
    "check_replies",
    "check_rounds",
    "check_runs",
    "check_state",
]

SNAPSHOT_EVERY = 3


def check_messages(line: Line, stored: Stored) -> None:
    """Messages and their swipes are what was said."""
    assert [(row.id, row.seq) for row in stored.messages] == [(told.id, told.seq) for told in line.told]
    for row, told in zip(stored.messages, line.told, strict=True):
        swipes = stored.swipes[row.id]
        assert (row.role, row.revision) == (told.role, told.revision)
        assert (row.visibility, row.hidden_from) == (
            ("hidden", told.visibility) if told.hidden else (told.visibility, None)
        )
        assert row.swipes_count == len(told.texts)
        assert [(swipe.position, swipe.content) for swipe in swipes] == list(enumerate(told.texts))
        assert [swipe.run_id for swipe in swipes] == told.runs
        active = swipes[told.active]
        assert (row.active_swipe_id, row.text_id, row.run_id) == (active.id, active.text_id, active.run_id)
        if row.run_id is not None:
            author = stored.members[row.membership_id]
            assert (row.role, author.kind) in (("assistant", "character"), ("user", "human"))


def check_conversation(line: Line, stored: Stored) -> None:
    """Conversations count what is in them, number their events without gaps, and hang together."""
    row = stored.conversation
    assert (row.messages_count, row.last_seq, row.turns_count) == (len(line.visible), line.last_seq, line.turns)
    assert stored.events == list(range(1, row.last_event + 1))
    assert row.root_conversation_id == line.root.id
    assert row.parent_conversation_id == (line.parent.id if line.parent else None)
    assert row.forked_from_message_id == line.forked_from
    if line.parent is not None:
        assert line.forked_from in {told.id for told in line.parent.told}


def check_state(line: Line, stored: Stored) -> None:
    """The state, read from snapshots or told from the beginning, is what the deltas come to."""
    kept = [snapshot for snapshot in stored.snapshots if snapshot.seq > 0]
    assert [snapshot.seq for snapshot in kept] == list(range(SNAPSHOT_EVERY, line.last_seq + 1, SNAPSHOT_EVERY))
    for snapshot in kept:
        assert snapshot.state == line.state(snapshot.seq)
    assert stored.state == stored.replayed == line.state(line.last_seq)


def check_runs(line: Line, stored: Stored, claim: Claim | None) -> None:
    """One run is running, for the worker that has claimed it; one waits; nobody speaks who has left."""
    running = [run for run in stored.runs if run.status == "running"]
    assert [(run.id, run.fence) for run in running] == ([] if claim is None else [(claim.run_id, claim.fence)])
    assert sum(run.status == "queued" for run in stored.runs) <= 1
    for run in stored.runs:
        wanted = run.status == "queued" or (run.status == "running" and run.cancel_requested_at is None)
        assert not wanted or stored.members[run.speaker_membership_id].status == "active"
        assert (run.finished_at is not None) == (run.status in FINAL)


def check_replies(line: Line, stored: Stored) -> None:
    """What a run said is there once; what was cut short is there only if somebody kept it."""
    said = Counter(swipe.run_id for row in stored.messages for swipe in stored.swipes[row.id])
    for run in stored.runs:
        is_told = (run.status == "succeeded" or run.id in line.kept) and run.id not in line.deleted
        assert said[run.id] == int(is_told)
        assert run.id not in line.kept or run.status in ("failed", "canceled")


def check_rounds(line: Line, stored: Stored) -> None:
    """A round that goes on has somebody who is about to speak, and no turn is counted that nobody took."""
    assert sum(round.status == "active" for round in stored.rounds) <= 1
    for round in stored.rounds:
        slots = stored.slots.get(round.id, ())
        assert [slot.position for slot in slots] == list(range(len(slots)))
        for slot in slots:
            _check_slot(line, stored, round, slot)
        if round.status == "finished":
            assert all(slot.status != "pending" for slot in slots)
        if round.scheduling_state == "ai_generating":
            _check_turn(stored, round, slots[round.current_position])


def _check_slot(line: Line, stored: Stored, round: Round, slot: RoundSlot) -> None:
    took_it = [
        run.speaker_membership_id
        for run in stored.runs
        if (run.round_id, run.round_position) == (round.id, slot.position)
        and (run.status == "succeeded" or run.id in line.kept)
    ]
    if slot.status == "spoken":
        assert took_it == [slot.membership_id]
    if round.status == "active":
        assert (slot.status == "pending") == (slot.position >= round.current_position)


def _check_turn(stored: Stored, round: Round, slot: RoundSlot) -> None:
    assert can_speak(stored.members[slot.membership_id], round.conversation_id)
    [run] = [
        run
        for run in stored.runs
        if run.round_id == round.id
        and (run.status == "queued" or (run.status == "running" and run.cancel_requested_at is None))
    ]
    assert (run.round_position, run.speaker_membership_id) == (slot.position, slot.membership_id)


def check_final_runs(known: dict[UUID, tuple[str, str]], stored: Stored) -> None:
    """A run that is over stays as it is."""
    for run in stored.runs:
        if run.status in FINAL:
            assert known.setdefault(run.id, (run.status, run.text)) == (run.status, run.text)
