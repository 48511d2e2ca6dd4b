"""Runs and rounds as the API gives and takes them."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import Field

from tavernkit.playground.base.schemas import StrictModel
from tavernkit.playground.story.replies.actions import MAX_CANDIDATES
from tavernkit.playground.story.runs.round_control import MAX_ROUNDS, MAX_STEPS

MAX_SLOTS = 100


class GenerateIn(StrictModel):
    """Who is to speak."""

    speaker_id: UUID | None = Field(
        default=None, description="A character of the space, muted or not; without one, whoever would speak next."
    )


class RegenerateIn(StrictModel):
    """What is to be regenerated."""

    message_id: UUID | None = Field(
        default=None,
        description="This reply alone; without one, the last, or the last turn where the space regenerates turns.",
    )


class QueueIn(StrictModel):
    """Who speaks next, and in which order."""

    round_id: UUID | None = Field(description="The round whose order it is; null to begin one where none goes on.")
    member_ids: Annotated[list[UUID], Field(max_length=MAX_SLOTS)] = Field(
        description="Those who speak in the turns that have not begun; a member may have several."
    )


class AutoModeIn(StrictModel):
    """How long characters answer each other."""

    rounds: int = Field(ge=0, le=MAX_ROUNDS, description="For so many rounds; 0 ends it behind the round that goes on.")


class CopilotIn(StrictModel):
    """How long a model writes for the person who asks."""

    steps: int = Field(ge=0, le=MAX_STEPS, description="So many messages; with 0 they write themselves again.")


class CandidatesIn(StrictModel):
    """How many suggestions."""

    count: int = Field(default=1, ge=1, le=MAX_CANDIDATES)
