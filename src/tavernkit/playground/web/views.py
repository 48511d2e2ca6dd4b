"""What the templates are given: values that are ready to be shown, and nothing else."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from markupsafe import Markup

from tavernkit.values import Value

__all__ = [
    "CharacterView",
    "ConversationCard",
    "ConversationView",
    "HomeView",
    "MessageView",
    "OlderView",
    "RunView",
]


class CharacterView(Value, frozen=True, kw_only=True):
    """Somebody to talk to."""

    id: str
    name: str
    tagline: str
    initials: str


class MessageView(Value, frozen=True, kw_only=True):
    """One message; `html` has been through `render_markdown`."""

    id: str
    seq: int
    role: Literal["user", "assistant", "system"]
    author: str
    is_own: bool
    html: Markup
    created_at: datetime


class RunView(Value, frozen=True, kw_only=True):
    """A reply that is not a message yet, or that never became one.

    `can_skip`: it was cut short, and others are to speak behind it.
    """

    id: str
    status: Literal["queued", "running", "failed", "canceled"]
    speaker: str
    text: str
    error: str | None = None
    preparing: bool = False
    can_skip: bool = False


class ConversationView(Value, frozen=True, kw_only=True):
    """The chat page. `older_before` is the number of the first message shown, when there are older ones."""

    id: str
    title: str
    space_name: str
    character: CharacterView
    messages: tuple[MessageView, ...]
    older_before: int | None
    run: RunView | None
    last_event: int
    model_name: str
    model_is_embedded: bool
    persona_name: str


class OlderView(Value, frozen=True, kw_only=True):
    """The messages before number `before`, for the frame that asked for them."""

    conversation_id: str
    before: int
    messages: tuple[MessageView, ...]
    older_before: int | None


class ConversationCard(Value, frozen=True, kw_only=True):
    """A conversation on the home page."""

    id: str
    title: str
    space_name: str
    character: CharacterView
    last_line: str
    last_at: datetime | None


class HomeView(Value, frozen=True, kw_only=True):
    """The first page."""

    conversations: tuple[ConversationCard, ...]
    characters: tuple[CharacterView, ...]
    model_name: str
    model_is_embedded: bool
