"""What the API takes and gives about conversations."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tavernkit.playground.base.schemas import StrictModel
from tavernkit.playground.story.conversations.documents import ConversationOut

MAX_TITLE = 200


class ConversationIn(StrictModel):
    """A new conversation, beside those that the space has."""

    title: str = Field(default="", max_length=MAX_TITLE, description="Blank takes the next number.")
    visibility: Literal["shared", "private", "public"] = Field(
        default="shared", description="For the members, for the owner alone, or for everybody who may sign in."
    )
    greeting: bool = Field(default=True, description="Whether each character says its first message.")


class ConversationChange(StrictModel):
    """A change of a conversation; what is left out stays."""

    settings_version: int = Field(ge=0, description="The version that the change was made from.")
    title: str | None = Field(default=None, max_length=MAX_TITLE)
    visibility: Literal["shared", "private", "public"] | None = None
    archived: bool | None = Field(default=None, description="An archived conversation can only be read.")


class ConversationItem(ConversationOut):
    """A conversation in a list."""

    last_text: str | None = Field(description="The beginning of its newest message.")
