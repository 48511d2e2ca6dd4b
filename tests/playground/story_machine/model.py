"""What a story should be: a plain model, kept beside the database."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from uuid import UUID

from tavernkit.playground.base.database.models import Run
from tavernkit.playground.story.runs.planner import AGAINST_A_TARGET, WRITTEN_FOR_A_PERSON
from tavernkit.values import Json

__all__ = ["UNSET", "Line", "Told", "model_delta"]

UNSET = ...
"""Stands in a delta for what it takes away."""


class Told:
    """What a message should be; each way of telling it has a text, a delta, and the run it came from."""

    def __init__(self, id: UUID, seq: int, role: str, texts: list[str], run_id: UUID | None = None) -> None:
        self.id = id
        self.seq = seq
        self.role = role
        self.texts = texts
        self.deltas: list[dict[str, Json]] = [{} for _ in texts]
        self.runs: list[UUID | None] = [run_id for _ in texts]
        self.active = 0
        self.visibility = "normal"
        self.revision = 1
        self.hidden = False

    def change(self) -> None:
        self.revision += 1

    def hide(self) -> None:
        self.hidden = True
        self.change()

    def add_swipe(self, text: str, *, activate: bool, delta: dict[str, Json], run_id: UUID | None = None) -> None:
        self.texts.append(text)
        self.deltas.append(delta)
        self.runs.append(run_id)
        self.change()
        if activate:
            self.active = len(self.texts) - 1


class Line:
    """What a conversation should be."""

    def __init__(self, id: UUID, parent: Line | None = None, forked_from: UUID | None = None) -> None:
        self.id = id
        self.parent = parent
        self.forked_from = forked_from
        self.beginning: dict[str, Json] = {}
        self.told: list[Told] = []
        self.last_seq = 0
        self.turns = 0
        self.kept: set[UUID] = set()
        """Runs that were cut short, and whose text somebody has kept."""
        self.deleted: set[UUID] = set()
        """Runs whose reply somebody has deleted."""

    @property
    def visible(self) -> list[Told]:
        return [told for told in self.told if not told.hidden]

    @property
    def root(self) -> Line:
        return self if self.parent is None else self.parent.root

    def add(self, id: UUID, role: str, *contents: str, run_id: UUID | None = None) -> Told:
        self.last_seq += 1
        self.told.append(Told(id, self.last_seq, role, list(contents), run_id))
        return self.told[-1]

    def find(self, id: UUID | None) -> Told | None:
        return next((told for told in self.told if told.id == id), None)

    def reply(self, run: Run, message_id: UUID, text: str, delta: Mapping[str, Json]) -> None:
        """A run has said something: at the end, or beside what it was to tell anew or to go on with."""
        self.turns += 1
        target = self.find(run.target_message_id)
        if run.kind in AGAINST_A_TARGET and target is not None and not target.hidden:
            assert message_id == target.id
            before = target.deltas[target.active] if run.kind == "continue" else {}
            target.add_swipe(text, activate=True, delta={**before, **delta}, run_id=run.id)
            return
        role = "user" if run.kind in WRITTEN_FOR_A_PERSON else "assistant"
        self.add(message_id, role, text, run_id=run.id).deltas[0].update(delta)

    def fork(self, id: UUID, told: Told) -> Line:
        """A line of its own with everything up to a message; its messages still have the ids of the originals."""
        branch = Line(id, self, told.id)
        branch.beginning = dict(self.beginning)
        branch.last_seq = told.seq
        branch.told = deepcopy([other for other in self.visible if other.seq <= told.seq])
        return branch

    def state(self, seq: int) -> dict[str, Json]:
        state = dict(self.beginning)
        for told in self.visible:
            if told.seq <= seq:
                for name, value in told.deltas[told.active].items():
                    state.pop(name, None)
                    if value is not UNSET:
                        state[name] = value
        return state


def model_delta(delta: Mapping[str, Json] | None) -> dict[str, Json]:
    """A delta of the database as the model has it."""
    return {} if delta is None else {**delta.get("set", {}), **dict.fromkeys(delta.get("unset", ()), UNSET)}
