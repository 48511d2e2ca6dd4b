"""What the templates show of turns: who speaks, who is next, and what goes on by itself."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tavernkit.values import Value

TurnsState: TypeAlias = Literal["idle", "writing", "paused", "failed"]


class SpeakerView(Value, frozen=True, kw_only=True):
    """Somebody who can speak; `picture` is an address, and without one there are the initials."""

    id: str
    name: str
    initials: str
    picture: str | None
    is_muted: bool = False


class SlotView(Value, frozen=True, kw_only=True):
    """Somebody's turn, and why it is theirs."""

    speaker: SpeakerView
    reason: str


class TurnsView(Value, frozen=True, kw_only=True):
    """The group bar, which is only shown where there are several characters or something goes on by itself.

    `now` speaks or is about to; `sentence` says what a round waits for that has stopped; `silence` says, below the last
    message, why nobody answers it.
    """

    conversation_id: str
    is_shown: bool = False
    is_group: bool = False
    has_round: bool = False
    state: TurnsState = "idle"
    sentence: str = ""
    silence: str = ""
    now: SlotView | None = None
    next: tuple[SlotView, ...] = ()
    auto_rounds: int | None = None
    speakers: tuple[SpeakerView, ...] = ()


class RoundView(Value, frozen=True, kw_only=True):
    """The turns that have not begun, to be changed; `round_id` is empty where no round goes on."""

    conversation_id: str
    title: str
    round_id: str
    now: SlotView | None
    places: tuple[SlotView, ...]
    speakers: tuple[SpeakerView, ...]
    notice: str = ""


class CandidateView(Value, frozen=True, kw_only=True):
    """A suggestion; neither text nor error while it is being written."""

    index: int
    text: str = ""
    error: str = ""


class CandidatesView(Value, frozen=True, kw_only=True):
    """Suggestions for what a person could say next; `is_over` when none is to come any more."""

    conversation_id: str
    job_id: str
    candidates: tuple[CandidateView, ...]
    is_over: bool
    error: str = ""
