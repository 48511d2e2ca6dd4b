"""A small story that comes with the package: somebody to talk to before you have brought anybody."""

from __future__ import annotations

from importlib.resources import files

from tavernkit.characters import Character, User, load
from tavernkit.prompt.message import Message

__all__ = ["LOREBOOK", "OTTOLINE", "PRESET", "TANSY", "WINTER_FERRY", "character", "history", "read", "user"]

OTTOLINE = "ottoline.json"
"""The card of who keeps the dead-letter office at the end of tram line nine."""
TANSY = "tansy.json"
"""The card of who keeps the kiosk there."""
LOREBOOK = "line_nine.json"
"""What both of them know about the place."""
PRESET = "storyteller.json"
"""A system prompt that is short enough for a small model and says enough to a large one."""

WINTER_FERRY = "winter_ferry.json"
"""Another story, of 40 turns: its card, lorebook, preset, person, author's note, and what was said in each turn."""


def read(name: str) -> bytes:
    """One of the files of this story."""
    return files(__name__).joinpath(name).read_bytes()


def character() -> Character:
    """Ottoline Marsh, who keeps the dead-letter office at the end of tram line nine."""
    return load(read(OTTOLINE)).card.character


def user() -> User:
    """The person with the envelope."""
    return User(
        name="Robin",
        persona="{{user}} is thirty-four, repairs pianos, and has slept badly since the envelope came.",
    )


def history() -> tuple[Message, ...]:
    """How the conversation began."""
    who = character()
    return (
        Message(role="assistant", name=who.display_name, content=who.first_mes),
        Message(
            role="user",
            name=user().name,
            content="Last spring, I think. And no. But I don't remember being *un*happy either. I brought it here "
            "because the conductor on the tram looked at it and told me not to get off before the end.",
        ),
        Message(
            role="assistant",
            name=who.display_name,
            content='"Abel said that. Out loud?" She is already turning pages; the ledger smells of cold tea and '
            "rope. Her finger stops on a line that has been ruled through in green and then, very carefully, "
            "un-ruled. \"Then we'd better do this properly. Sit. Mind the cat, she's a parcel.\"",
        ),
    )
