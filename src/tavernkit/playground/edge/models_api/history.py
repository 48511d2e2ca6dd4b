"""How far a story that is stored here and one that a program sends along are the same."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Literal, NamedTuple, TypeAlias
from uuid import UUID

Role: TypeAlias = Literal["user", "assistant", "system"]


class Said(NamedTuple):
    """A message as a program sends it: its text as it would be stored."""

    role: Role
    text: str


class Told(NamedTuple):
    """A message as it is stored.

    `role` is empty for what no program has said, such as another person's words. `sent_as` is the fingerprint of the
    text that was streamed to the program, where the stored one has been tidied up since.
    """

    id: UUID
    role: Role | Literal[""]
    text: str
    is_greeting: bool = False
    sent_as: str | None = None


class Common(NamedTuple):
    """How many messages of each side are the same; greetings that only one side knows count as told.

    `is_open`: everything that was told is among it, so that what is told next matters too.
    """

    asked: int
    told: int
    is_open: bool


def common_part(told: Sequence[Told], asked: Sequence[Said]) -> Common:
    """The longest beginning that both sides share. The program may know the greetings or some of the last of them, or
    none at all."""
    greetings = next((place for place, message in enumerate(told) if not message.is_greeting), len(told))
    shared = [_shared(told, skipped, asked) for skipped in range(greetings + 1)]
    asked_in_all, skipped = max((count, skipped) for skipped, count in enumerate(shared))
    return Common(
        asked=asked_in_all,
        told=skipped + asked_in_all,
        is_open=any(skipped + count == len(told) for skipped, count in enumerate(shared)),
    )


def fingerprint(text: str) -> str:
    """What is kept of a text to know it again."""
    return sha256(text.encode()).hexdigest()


def _shared(told: Sequence[Told], skipped: int, asked: Sequence[Said]) -> int:
    count = 0
    while count < len(asked) and skipped + count < len(told) and _is_same(told[skipped + count], asked[count]):
        count += 1
    return count


def _is_same(told: Told, said: Said) -> bool:
    if told.role != said.role:
        return False
    return told.text == said.text or (told.sent_as is not None and told.sent_as == fingerprint(said.text))
