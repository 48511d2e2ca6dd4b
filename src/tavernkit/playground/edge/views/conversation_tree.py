"""What the page with the tree of conversations is given."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from tavernkit.playground.edge.views.spaces import TrailView
from tavernkit.values import Value

Rail: TypeAlias = Literal["gap", "line", "tee", "end"]
"""What is drawn left of a conversation, level by level: nothing, a line that goes on, or where this one leaves it."""


class TreeNodeView(Value, frozen=True, kw_only=True):
    """A conversation in the tree. `left_at` says where it left its parent, and `left_address` leads there."""

    id: str
    title: str
    kind: str
    rails: tuple[Rail, ...]
    left_at: str
    left_address: str
    is_current: bool
    is_archived: bool
    messages: int
    last_line: str
    updated_at: datetime
    version: int
    may_rename: bool
    may_delete: bool
    deletion: str


class TreeView(Value, frozen=True, kw_only=True):
    """All conversations of a root, parents before children. `problem` is about the conversation `problem_id`, whose new
    title `typed` is kept."""

    conversation_id: str
    title: str
    trail: TrailView
    nodes: tuple[TreeNodeView, ...]
    has_more: bool
    problem: str = ""
    problem_id: str = ""
    typed: str = ""
