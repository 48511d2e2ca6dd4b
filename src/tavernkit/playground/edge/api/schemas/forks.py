"""Branches as the API gives and takes them."""

from __future__ import annotations

from typing import Literal, Self
from uuid import UUID

from pydantic import BaseModel, Field

from tavernkit.playground.base.schemas import StrictModel
from tavernkit.playground.story.conversations.documents import ConversationOut
from tavernkit.playground.story.conversations.tree import TreeNode


class ForkIn(StrictModel):
    """Where to go on differently, and as what."""

    message_id: UUID = Field(description="The last message that both have.")
    id: UUID | None = Field(default=None, description="Made by the client, so that asking again never doubles it.")
    kind: Literal["branch", "thread", "checkpoint"] = "branch"
    title: str = Field(
        default="",
        description="At most 200 characters; without one, it is named after the message that it goes on from.",
    )
    visibility: Literal["shared", "private", "public"] | None = Field(
        default=None, description="Who may see it; like its parent if not given."
    )


class TreeNodeOut(ConversationOut):
    """A conversation in its tree."""

    forked_from_seq: int | None = Field(description="The number of the message in its parent that it goes on from.")

    @classmethod
    def of(cls, node: TreeNode) -> Self:
        row = ConversationOut.model_validate(node.conversation)
        return cls(**row.model_dump(), forked_from_seq=node.forked_from_seq)


class TreePage(BaseModel):
    """Conversations in the order they were made, so that parents come first."""

    items: list[TreeNodeOut]
    next: UUID | None = Field(description="Ask with it as `after` for the next page; null at the end.")
