"""The round and its turns as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, Self, TypeAlias
from uuid import UUID

from pydantic import BaseModel, Field

from tavernkit.playground.base.database.models import RoundSlot, Run
from tavernkit.playground.base.schemas import Document
from tavernkit.playground.story.runs.planner import RunKind, RunStatus, SchedulingState
from tavernkit.playground.story.runs.queries import ShownRound, Turns

TurnsState: TypeAlias = Literal["idle", "generating", "paused", "failed"]


_STATES: Mapping[str | None, TurnsState] = {"ai_generating": "generating", "paused": "paused", "failed": "failed"}


class RunErrorOut(BaseModel):
    """Why a run came to nothing."""

    code: str = Field(description="For programs.")
    message: str = Field(description="For people: what went wrong.")


class ReuseOut(BaseModel):
    """How much of a prompt begins as the prompt before it did, as we count tokens."""

    common_tokens: int
    total_tokens: int
    share: float = Field(description="The share that the provider could have taken from its cache.")

    @classmethod
    def of(cls, run: Run) -> Self | None:
        """None where there was no prompt to compare with."""
        common, total = run.common_tokens, run.compared_tokens
        if common is None or total is None:
            return None
        return cls(common_tokens=common, total_tokens=total, share=round(common / total, 4) if total else 1.0)


class RunOut(Document):
    """One attempt at a reply."""

    id: UUID
    conversation_id: UUID = Field(description="Where the reply goes: a branch, if telling it anew needed one.")
    kind: RunKind = Field(description="Why there is such a run at all.")
    status: RunStatus
    reason: str = Field(description="Why it is this speaker, in one word.")
    speaker_id: UUID = Field(description="The member who speaks.")
    round_id: UUID | None = Field(description="The round to which the turn belongs.")
    round_position: int | None = Field(description="Which turn of it.")
    target_message_id: UUID | None = Field(description="The message that is told anew, or gone on with.")
    text: str = Field(description="What has been written so far.")
    error: RunErrorOut | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None = Field(description="How many of the prompt's tokens the provider says that it knew.")
    reuse: ReuseOut | None = Field(
        description="What the prompt has in common with the last one of the conversation to the same model."
    )
    cost: float | None = Field(description="What the provider says that it cost.")
    dismissed: bool = Field(description="Nobody has to decide about it any more.")
    run_after: datetime = Field(description="Not before this time does it begin, by the clock of the database.")
    started_at: datetime | None
    finished_at: datetime | None
    created_at: datetime
    debug: dict[str, Any] = Field(description="Who has answered, and what else is known about it.")

    @classmethod
    def of(cls, run: Run, live_text: Mapping[UUID, str]) -> Self:
        """The run; of one that is being written in this process, all that has been written."""
        text = live_text.get(run.id, run.text)
        return cls.of_row(run, speaker_id=run.speaker_membership_id, text=text, reuse=ReuseOut.of(run))


class SlotOut(Document):
    """One turn of a round."""

    position: int
    member_id: UUID
    name: str = Field(description="Who has it.")
    status: Literal["pending", "spoken", "skipped"]
    reason: dict[str, Any] = Field(
        description="Why it is theirs: `cause` is one word for programs, `sentence` is for people."
    )
    skip_reason: str | None = Field(description="Why it was passed over.")

    @classmethod
    def of(cls, slot: RoundSlot, name: str) -> Self:
        return cls.of_row(slot, member_id=slot.membership_id, name=name)


class RoundOut(Document):
    """The round that goes on: who speaks after whom."""

    id: UUID
    status: Literal["active", "finished", "superseded", "canceled"]
    scheduling_state: SchedulingState | None = Field(
        description="Somebody is about to speak, or it waits for a person: paused, or because a reply failed."
    )
    current_position: int = Field(description="The turn that it is.")
    by: Literal["person", "automation"] = Field(description="Who began it.")
    trigger_message_id: UUID | None = Field(description="The message that it answers.")
    slots: list[SlotOut] = Field(description="The turns in their order; a member may have several.")

    @classmethod
    def of(cls, shown: ShownRound) -> Self:
        round = shown.round
        by = "automation" if round.metadata_.get("by") == "automation" else "person"
        return cls.of_row(round, by=by, slots=[SlotOut.of(slot, name) for slot, name in shown.slots])


class TurnsOut(BaseModel):
    """What goes on in a conversation."""

    conversation_id: UUID
    revision: int = Field(description="Grows with all that happens there; of two answers, the higher one is newer.")
    state: TurnsState = Field(
        description="`generating`: somebody writes or is about to; `paused` and `failed`: a round, or a reply that went"
        " wrong, waits for a person; `idle`: nothing goes on."
    )
    run: RunOut | None = Field(
        description="The reply that is being written or about to be; else the one that was cut short, until somebody"
        " has decided about it."
    )
    round: RoundOut | None
    auto_mode_remaining_rounds: int | None = Field(
        description="For how many rounds characters go on by themselves; null if they do not."
    )

    @classmethod
    def of(cls, turns: Turns, live_text: Mapping[UUID, str]) -> Self:
        return cls(
            conversation_id=turns.conversation.id,
            revision=turns.conversation.last_event,
            state=_state(turns),
            run=None if turns.run is None else RunOut.of(turns.run, live_text),
            round=None if turns.round is None else RoundOut.of(turns.round),
            auto_mode_remaining_rounds=turns.conversation.auto_mode_remaining_rounds,
        )


def _state(turns: Turns) -> TurnsState:
    if turns.run is not None and turns.run.status in ("queued", "running"):
        return "generating"
    if turns.round is not None:
        return _STATES[turns.round.round.scheduling_state]
    return "failed" if turns.run is not None and turns.run.status == "failed" else "idle"
