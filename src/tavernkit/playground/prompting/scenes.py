"""What a platform's build leaves behind for the reply and for the record of the prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, TypeAlias

from tavernkit.sillytavern.world_info import TimedState
from tavernkit.values import Value

__all__ = ["LoreVerdict", "PlatformScene", "ReplyPart", "Scripts"]

ReplyPart: TypeAlias = Literal["reasoning", "reply", "input"]
"""What a script is run on: what a model thinks, what it says, and what it says for a person."""

Scripts: TypeAlias = Callable[[ReplyPart, str], str]


class LoreVerdict(Value, frozen=True, kw_only=True):
    """What became of an entry of a lorebook that woke up, or almost did; `sentence` is for people,
    and `content` what it says, with its macros as they are."""

    book: str
    entry: str
    name: str
    reason: str
    sentence: str
    content: str = ""

    @property
    def is_activated(self) -> bool:
        return self.reason == "activated"


class PlatformScene(Protocol):
    """The scene of a prompt that is built, in which its reply is made."""

    def expand(self, text: str) -> str:
        """The text with the platform's macros expanded."""

    def scripts(self) -> Scripts:
        """The regex scripts for one reply, which share a time limit."""

    def lore(self) -> Sequence[LoreVerdict]:
        """The entries that woke up or almost did."""

    def timers(self) -> TimedState | None:
        """Which lore stays or rests from now on; None where nobody has looked, or the platform knows no such thing."""

    def said(self, reply: str) -> str:
        """Let the character act on what it has said; the reply as it is stored."""
