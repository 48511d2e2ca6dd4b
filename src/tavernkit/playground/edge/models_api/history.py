"""How far a story that is stored here and one that a program sends along are the same."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Literal, NamedTuple, TypeAlias
from uuid import UUID

Role: TypeAlias = Literal["user", "assistant", "system"]


class SentMessage(NamedTuple):
    """A message as a program sends it: its text as it would be stored."""

    role: Role
    text: str


class StoredMessage(NamedTuple):
    """A message as it is stored.

    `role` is empty for what no program has said, such as another person's words. `sent_as` is the fingerprint of the
    text that was streamed to the program, where the stored one has been tidied up since.
    """

    id: UUID
    role: Role | Literal[""]
    text: str
    is_greeting: bool = False
    sent_as: str | None = None


class CommonPart(NamedTuple):
    """How many messages of each side are the same; greetings that only one side knows count as stored.

    `is_open`: everything that is stored is among it, so that what is stored next matters too.
    """

    asked: int
    stored: int
    is_open: bool


def common_part(stored: Sequence[StoredMessage], asked: Sequence[SentMessage]) -> CommonPart:
    """The longest beginning that both sides share. The program may know the greetings or some of the last of them, or
    none at all."""
    greetings = next((place for place, message in enumerate(stored) if not message.is_greeting), len(stored))
    shared = [_shared(stored, skipped, asked) for skipped in range(greetings + 1)]
    asked_in_all, skipped = max((count, skipped) for skipped, count in enumerate(shared))
    return CommonPart(
        asked=asked_in_all,
        stored=skipped + asked_in_all,
        is_open=any(skipped + count == len(stored) for skipped, count in enumerate(shared)),
    )


def fingerprint(text: str) -> str:
    """What is kept of a text to know it again."""
    return sha256(text.encode()).hexdigest()


def _shared(stored: Sequence[StoredMessage], skipped: int, asked: Sequence[SentMessage]) -> int:
    count = 0
    while count < len(asked) and skipped + count < len(stored) and _is_same(stored[skipped + count], asked[count]):
        count += 1
    return count


def _is_same(stored: StoredMessage, sent: SentMessage) -> bool:
    if stored.role != sent.role:
        return False
    return stored.text == sent.text or (stored.sent_as is not None and stored.sent_as == fingerprint(sent.text))
