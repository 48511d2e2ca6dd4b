"""What a run is about, fixed before it begins: nothing that changes elsewhere meanwhile can reach it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from tavernkit.artifacts.artifact import Session
from tavernkit.artifacts.pipelines.profile import PipelineTrigger, Profile
from tavernkit.artifacts.view import SwipePath
from tavernkit.characters.character import Character, User
from tavernkit.prompt.message import Message
from tavernkit.values import Value


class ChatInfo(Value, frozen=True, kw_only=True):
    """`chat` in templates."""

    id: str
    title: str = ""
    branch_id: str = ""
    created_at: datetime | None = None
    updated_at: datetime | None = None


class RunContext(Value, frozen=True, kw_only=True):
    """`turn` counts the user's turns from 1, and a regeneration has the turn of the reply it replaces; its messages end
    before that reply. `messages` are what is said, the user's current message included. `values` are further variables
    for templates, such as the texts of the card with their macros expanded; they win over what is taken from the card.
    `pipelines` limits a run to some of the profile's.
    """

    run_id: str
    idempotency_key: str
    trigger: PipelineTrigger
    profile: Profile
    session: Session
    turn: int
    now: datetime
    seed: str
    turn_id: str | None = None
    variant_id: str | None = None
    path: SwipePath | None = None
    character: Character | None = None
    user: User | None = None
    chat: ChatInfo | None = None
    messages: tuple[Message, ...] = ()
    values: Mapping[str, object] = {}
    pipelines: frozenset[str] | None = None

    @property
    def before_turn(self) -> int | None:
        """A regeneration reads what the turn has read the first time."""
        return self.turn if self.trigger == "regenerate" else None

    @property
    def user_message(self) -> str:
        """What the user has typed last."""
        return next((message.content for message in reversed(self.messages) if message.role == "user"), "")


def idempotency_key(trigger: PipelineTrigger, about: str, request: str) -> str:
    """The key of a request: `about` is the branch of a message, or the message that is regenerated, and `request` what
    the client has made up for it."""
    return f"{trigger}:{about}:{request}"
