"""Who is speaking, written in front of what they say, for providers that know no names."""

from __future__ import annotations

from tavernkit.dialects.wire import WireContent, WirePart, is_text
from tavernkit.values import Value

EXAMPLE_USER = "example_user"
EXAMPLE_ASSISTANT = "example_assistant"


class SpeakerNames(Value, frozen=True, kw_only=True):
    """The names in play. An empty name is never written."""

    char: str = ""
    user: str = ""
    group: tuple[str, ...] = ()

    def as_user(self, content: WireContent) -> WireContent:
        """Put the user's name in front unless it stands there."""
        return prefix_once(content, self.user) if self.user else content

    def as_character(self, content: WireContent) -> WireContent:
        """Put the character's name in front unless it or a group member's name stands there."""
        opening = _opening(content)
        if not self.char or any(opening.startswith(label(name)) for name in self.group):
            return content
        return prefix_once(content, self.char)

    def as_example(self, content: WireContent, name: object) -> WireContent:
        """Put in front whom an example line belongs to; lines of any other name stay as they are."""
        if name == EXAMPLE_USER:
            return self.as_user(content)
        if name == EXAMPLE_ASSISTANT:
            return self.as_character(content)
        return content


def label(name: str) -> str:
    return f"{name}: "


def prefix_once(content: WireContent, name: str) -> WireContent:
    """Put a name in front unless it stands there, exactly as it would be written."""
    return content if _opening(content).startswith(label(name)) else prefix(content, name)


def prefix(content: WireContent, name: str) -> WireContent:
    """Put a name in front of a text, or of the first text of a list of parts."""
    if not isinstance(content, tuple):
        return label(name) + (content or "")
    if content and is_text(content[0]):
        first: WirePart = {**content[0], "text": label(name) + str(content[0]["text"])}
        return (first, *content[1:])
    return ({"type": "text", "text": label(name)}, *content)


def _opening(content: WireContent) -> str:
    if isinstance(content, tuple):
        return str(content[0]["text"]) if content and is_text(content[0]) else ""
    return content or ""
