"""What people write, as it can be stored."""

from __future__ import annotations

from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.storable import storable

MAX_MESSAGE_CHARACTERS = 100_000


def clean_text(content: str) -> str:
    """The text without the space around it and without what no database can hold; a blank one is refused."""
    text = storable(content).strip()
    if not text:
        raise Refused(code="blank", sentence="There is nothing to send yet.")
    if len(text) > MAX_MESSAGE_CHARACTERS:
        raise Refused(
            code="too_long",
            sentence=f"That is {len(text):,} characters; at most {MAX_MESSAGE_CHARACTERS:,} fit into one message.",
        )
    return text
