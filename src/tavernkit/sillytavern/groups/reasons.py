"""Why somebody speaks: a sentence for people, the same as data for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from tavernkit.values import Value

SpeakerCause: TypeAlias = Literal[
    "forced",
    "mention",
    "talkativeness",
    "random",
    "list",
    "manual",
    "pooled",
    "pooled_again",
    "last_speaker",
    "previous_speaker",
    "first_member",
    "impersonate",
]

CAUSES: Mapping[SpeakerCause, str] = {
    "forced": "was asked to speak",
    "mention": "was mentioned as {word!r}",
    "talkativeness": "rolled {roll}, which is not above a talkativeness of {threshold}",
    "random": "was drawn from {pool}, as there was no reason for anybody in particular",
    "list": "speaks because everybody does, in the group's order",
    "manual": "was drawn from {pool}, as the group waits to be told who speaks",
    "pooled": "was drawn from the {pool} who have not spoken since the user did",
    "pooled_again": "was drawn from {pool}, as everybody has spoken since the user did",
    "last_speaker": "wrote the last message",
    "previous_speaker": "wrote the last message that counts",
    "first_member": "is the first of the group, as nobody has spoken yet",
    "impersonate": "was drawn from {pool} to be the character while the user's words are written",
}
"""The words for each cause."""


class Roll(Value, frozen=True, kw_only=True):
    """One member's throw: it speaks when `roll` is not above `threshold`, its talkativeness."""

    avatar: str
    roll: float
    threshold: float

    @property
    def speaks(self) -> bool:
        return self.threshold >= self.roll


class SpeakerReason(Value, frozen=True, kw_only=True):
    """Why one speaker was chosen.

    `word` is the word that mentioned it; `roll` the number that was drawn, `threshold` what it was held against, and
    `pool` how many were drawn from.
    """

    cause: SpeakerCause
    word: str | None = None
    roll: float | None = None
    threshold: float | None = None
    pool: int | None = None

    def __str__(self) -> str:
        return CAUSES[self.cause].format(word=self.word, roll=self.roll, threshold=self.threshold, pool=self.pool)
