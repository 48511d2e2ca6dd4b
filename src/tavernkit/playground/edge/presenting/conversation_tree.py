"""From rows to the tree of conversations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias
from uuid import UUID

from sqlalchemy import func, select

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.text.markdown import render_markdown
from tavernkit.playground.edge.presenting.panel import KINDS, TrailView, trail_of
from tavernkit.playground.story.access.access import Access, SpaceAccess, conversation_for
from tavernkit.playground.story.conversations.queries import TreeNode, last_texts, read_tree
from tavernkit.values import Value

Rail: TypeAlias = Literal["gap", "line", "tee", "end"]
"""What is drawn left of a conversation, level by level: nothing, a line that goes on, or where this one leaves it."""


class TreeNodeView(Value, frozen=True, kw_only=True):
    """A conversation in the tree; `left_at` says where it left its parent."""

    row: Conversation
    kind: str
    rails: tuple[Rail, ...]
    left_at: str
    last_line: str
    may_rename: bool
    may_delete: bool


class TreeView(Value, frozen=True, kw_only=True):
    """All conversations of a root, parents before children. `problem` is about the conversation `problem_id`, whose new
    title `typed` is kept."""

    conversation: Conversation
    trail: TrailView
    nodes: tuple[TreeNodeView, ...]
    has_more: bool
    problem: str
    problem_id: UUID | None
    typed: str


NODES_SHOWN = 500
RAILS_SHOWN = 12
"""Branches of branches of branches are drawn no further to the right."""


async def tree_view(
    runtime: Runtime,
    viewer: Viewer,
    conversation_id: UUID,
    *,
    problem: str = "",
    problem_id: UUID | None = None,
    typed: str = "",
) -> TreeView:
    """The tree that a conversation stands in, as much of it as this person may see."""
    nodes = await read_tree(runtime, viewer, conversation_id, limit=NODES_SHOWN + 1)
    shown = nodes[:NODES_SHOWN]
    async with runtime.database.read() as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.READ)
        trail = await trail_of(session, conversation, access)
        texts = await last_texts(session, [node.conversation.id for node in shown])
        count = await session.scalar(
            select(func.count())
            .select_from(Conversation)
            .where(Conversation.space_id == access.space.id, Conversation.status != "deleting")
        )
    titles = {node.conversation.id: node.conversation.title for node in shown}
    return TreeView(
        conversation=conversation,
        trail=trail,
        nodes=tuple(
            _node(node, rails, titles, texts, access, is_only=count == 1) for node, rails in _with_rails(shown)
        ),
        has_more=len(nodes) > NODES_SHOWN,
        problem=problem,
        problem_id=problem_id,
        typed=typed,
    )


def _with_rails(nodes: Sequence[TreeNode]) -> Iterator[tuple[TreeNode, tuple[Rail, ...]]]:
    """The conversations as they are read from top to bottom, each below its parent, with what is drawn beside it.

    One whose parent cannot be seen stands at the left.
    """
    known = {node.conversation.id for node in nodes}
    children: dict[UUID | None, list[TreeNode]] = defaultdict(list)
    for node in nodes:
        parent = node.conversation.parent_conversation_id
        children[parent if parent in known else None].append(node)
    for below in children.values():
        # Those that left first come last, so that the line to each passes only what belongs to later ones.
        below.sort(key=lambda node: (-(node.forked_from_seq or 0), node.conversation.created_at))
    waiting: list[tuple[TreeNode, tuple[Rail, ...]]] = [(node, ()) for node in reversed(children[None])]
    while waiting:
        node, rails = waiting.pop()
        yield node, rails[-RAILS_SHOWN:]
        passed: tuple[Rail, ...] = tuple("line" if rail in ("line", "tee") else "gap" for rail in rails)
        below = children[node.conversation.id]
        for place, child in reversed(list(enumerate(below))):
            waiting.append((child, (*passed, "end" if place == len(below) - 1 else "tee")))


def _node(
    node: TreeNode,
    rails: tuple[Rail, ...],
    titles: Mapping[UUID, str],
    texts: Mapping[UUID, str],
    access: SpaceAccess,
    *,
    is_only: bool,
) -> TreeNodeView:
    row = node.conversation
    is_open = access.space.status == "active"
    parent = None if row.parent_conversation_id is None else titles.get(row.parent_conversation_id)
    return TreeNodeView(
        row=row,
        kind=KINDS.get(row.kind, ""),
        rails=rails,
        left_at=""
        if parent is None or node.forked_from_seq is None
        else _("from “{title}” at message {number}", title=shown_name(parent), number=node.forked_from_seq),
        last_line=str(render_markdown(texts.get(row.id, "")).striptags()),
        may_rename=is_open and access.level >= Access.MODERATE and row.status in ("ready", "archived"),
        may_delete=is_open and access.level >= Access.ADMINISTER and not is_only,
    )
