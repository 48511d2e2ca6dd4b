"""Conversations as JSON: what one is made from, changed by, and looks like."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias
from uuid import UUID

from pydantic import Field

from tavernkit.playground.base.schemas import StoredDocument, StrictModel

Title = Annotated[str, Field(max_length=200)]
Visibility: TypeAlias = Literal["shared", "private", "public"]


class ConversationIn(StrictModel):
    """A new conversation, beside those that the space has."""

    title: Title = Field(default="", description="Blank takes the next number.")
    visibility: Visibility = Field(
        default="shared", description="For the members, for the owner alone, or for everybody who may sign in."
    )
    greeting: bool = Field(default=True, description="Whether each character says its first message.")


class ConversationChange(StrictModel):
    """A change of a conversation; what is left out stays."""

    settings_version: int = Field(ge=0, description="The version that the change was made from.")
    title: Title | None = Field(
        default=None, description="Blank names a branch after the message that it goes on from."
    )
    visibility: Visibility | None = None
    archived: bool | None = Field(default=None, description="An archived conversation can only be read.")


class ConversationOut(StoredDocument):
    """A conversation, without its messages."""

    space_id: UUID
    kind: str
    title: str
    has_own_title: bool = Field(description="False where the title says which message a branch goes on from.")
    visibility: str
    status: str
    parent_conversation_id: UUID | None
    root_conversation_id: UUID | None
    forked_from_message_id: UUID | None
    settings_version: int
    messages_count: int
    last_event: int
    prompt_tokens_total: int
    completion_tokens_total: int
