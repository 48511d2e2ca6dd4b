"""From rows to the tree of conversations.

A large tree is folded: open is only the way to the conversation that somebody came from. What is beneath the others is
read when it is opened, a page at a time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.refused import not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.text.markdown import render_markdown
from tavernkit.playground.edge.presenting.folded_stories import may_rename
from tavernkit.playground.edge.presenting.panel import KINDS, TrailView, trail_of
from tavernkit.playground.story.access.access import Access, SpaceAccess, conversation_for
from tavernkit.playground.story.characters.cards import fold
from tavernkit.playground.story.conversations.queries import TreeLine, last_texts, tree_lines
from tavernkit.values import Value

ALL_OPEN = 30
"""A tree of so many conversations is shown as a whole."""
BRANCHES_AT_ONCE = 30
LEVELS_SHOWN = 12
"""So much of the way from the root to a conversation is shown."""
FOUND_SHOWN = 50


class TreeNodeView(Value, frozen=True, kw_only=True):
    """A conversation in the tree; `left_at` says where it left its parent. What is beneath it is `branches`, or, where
    that is None, is read when it is opened."""

    row: Conversation
    name: str
    kind: str
    left_at: str
    last_line: str
    may_rename: bool
    may_delete: bool
    branches_count: int
    branches: TreeBranchesView | None


class TreeBranchesView(Value, frozen=True, kw_only=True):
    """A page of conversations in the tree, in their frame; `more` is the address of the next page, in the frame
    `more_frame`. Links lead back to the tree of the conversation `here_id`."""

    here_id: UUID
    frame: str
    nodes: tuple[TreeNodeView, ...]
    more: str
    more_frame: str
    may_share: bool


class TreeView(Value, frozen=True, kw_only=True):
    """The tree that a conversation stands in, or what was found in it. `above` is how many levels are left out, whose
    last one is at `above_address`. `problem` is about the conversation `problem_id`."""

    conversation: Conversation
    trail: TrailView
    branches: TreeBranchesView
    count: int
    found: int
    search: str
    above: int
    above_address: str
    problem: str
    problem_id: UUID | None


class _Tree:
    """The places of all conversations of a tree, as seen from one of them."""

    def __init__(self, lines: Sequence[TreeLine], here_id: UUID) -> None:
        self.lines = {line.id: line for line in lines}
        self.here_id = here_id
        self._below: defaultdict[UUID | None, list[TreeLine]] = defaultdict(list)
        for line in lines:
            # One whose parent cannot be seen stands at the top.
            self._below[line.parent_id if line.parent_id in self.lines else None].append(line)
        self.way = list(self._way())

    def _way(self) -> Iterator[UUID]:
        line = self.lines.get(self.here_id)
        while line is not None:
            yield line.id
            line = None if line.parent_id is None else self.lines.get(line.parent_id)

    def below(self, id: UUID | None) -> list[TreeLine]:
        """The branches of a conversation: the one that leads here first, then those that left last."""
        on_the_way = set(self.way)
        return sorted(
            self._below[id], key=lambda line: (line.id not in on_the_way, -line.forked_from_seq, line.created_at)
        )

    def is_open(self, id: UUID) -> bool:
        return len(self.lines) <= ALL_OPEN or id in self.way

    def count_below(self, id: UUID) -> int:
        return len(self._below[id])

    def shown_below(self, lines: Iterable[TreeLine]) -> Iterator[TreeLine]:
        """These, and what is shown beneath them."""
        waiting = list(lines)
        while waiting:
            line = waiting.pop()
            yield line
            if self.is_open(line.id):
                waiting.extend(self.below(line.id)[:BRANCHES_AT_ONCE])


async def tree_view(
    runtime: Runtime,
    viewer: Viewer,
    conversation_id: UUID,
    *,
    search: str = "",
    problem: str = "",
    problem_id: UUID | None = None,
) -> TreeView:
    """The tree that a conversation stands in, as much of it as this person may see; with `search`, those whose names
    have these words."""
    wanted = fold(search)
    async with runtime.database.read() as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.READ)
        trail = await trail_of(session, conversation, access)
        tree = _Tree(await tree_lines(session, conversation, access), conversation_id)
        found = [line for line in tree.lines.values() if all(word in fold(line.name) for word in wanted.split())]
        above = max(len(tree.way) - LEVELS_SHOWN, 0)
        top = [tree.lines[tree.way[LEVELS_SHOWN - 1]]] if above else tree.below(None)
        branches = await _branches(
            session, tree, access, found[:FOUND_SHOWN] if wanted else top, frame="tree", is_flat=bool(wanted)
        )
    return TreeView(
        conversation=conversation,
        trail=trail,
        branches=branches,
        count=len(tree.lines),
        found=len(found),
        search=search,
        above=0 if wanted else above,
        above_address=f"/conversations/{tree.way[LEVELS_SHOWN]}/tree" if above else "",
        problem=problem,
        problem_id=problem_id,
    )


async def tree_branches_view(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, node_id: UUID, *, after: UUID | None
) -> TreeBranchesView:
    """A page of what is beneath a conversation in the tree that another one is looked at in."""
    async with runtime.database.read() as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.READ)
        tree = _Tree(await tree_lines(session, conversation, access), conversation_id)
        below = tree.below(node_id) if node_id in tree.lines else []
        ids = [line.id for line in below]
        if node_id not in tree.lines or (after is not None and after not in ids):
            raise not_found(_("place in the tree"))
        begin = 0 if after is None else ids.index(after) + 1
        frame = f"tree_{node_id}" if after is None else f"behind_{after}"
        return await _branches(session, tree, access, below[begin:], of=node_id, frame=frame)


async def _branches(
    session: AsyncSession,
    tree: _Tree,
    access: SpaceAccess,
    lines: Sequence[TreeLine],
    *,
    of: UUID | None = None,
    frame: str,
    is_flat: bool = False,
) -> TreeBranchesView:
    """These conversations with what is open beneath them, in three statements however many there are."""
    at_once = lines if of is None else lines[:BRANCHES_AT_ONCE]
    shown = [line.id for line in (at_once if is_flat else tree.shown_below(at_once))]
    rows = {row.id: row for row in await session.scalars(select(Conversation).where(Conversation.id.in_(shown)))}
    texts = await last_texts(session, shown)
    count = await session.scalar(
        select(func.count())
        .select_from(Conversation)
        .where(Conversation.space_id == access.space.id, Conversation.status != "deleting")
    )
    drawing = _Drawing(tree, access, rows, texts, is_only=count == 1, is_flat=is_flat)
    return drawing.page(lines, of=of, frame=frame)


class _Drawing:
    """How conversations of a tree are shown, from rows that were read at once."""

    def __init__(
        self,
        tree: _Tree,
        access: SpaceAccess,
        rows: Mapping[UUID, Conversation],
        texts: Mapping[UUID, str],
        *,
        is_only: bool,
        is_flat: bool,
    ) -> None:
        self._tree, self._access, self._rows, self._texts = tree, access, rows, texts
        self._is_only, self._is_flat = is_only, is_flat

    def page(self, lines: Sequence[TreeLine], *, of: UUID | None, frame: str) -> TreeBranchesView:
        shown = lines if of is None else lines[:BRANCHES_AT_ONCE]
        last = shown[-1].id if len(shown) < len(lines) else None
        here_id = self._tree.here_id
        return TreeBranchesView(
            here_id=here_id,
            frame=frame,
            nodes=tuple(self._node(line) for line in shown if line.id in self._rows),
            more="" if last is None else f"/conversations/{here_id}/tree/{of}?after={last}",
            more_frame="" if last is None else f"behind_{last}",
            may_share=self._access.level >= Access.ADMINISTER,
        )

    def _node(self, line: TreeLine) -> TreeNodeView:
        row, access, tree = self._rows[line.id], self._access, self._tree
        parent = None if line.parent_id is None else tree.lines.get(line.parent_id)
        is_open = not self._is_flat and tree.is_open(line.id)
        return TreeNodeView(
            row=row,
            name=shown_name(row.name),
            kind=KINDS.get(row.kind, ""),
            left_at=""
            if parent is None or not line.forked_from_seq
            else _("from “{title}” at message {number}", title=shown_name(parent.name), number=line.forked_from_seq),
            last_line=str(render_markdown(self._texts.get(row.id, "")).striptags()),
            may_rename=may_rename(access, row),
            may_delete=access.space.status == "active" and access.level >= Access.ADMINISTER and not self._is_only,
            branches_count=0 if self._is_flat else tree.count_below(line.id),
            branches=self.page(tree.below(line.id), of=line.id, frame=f"tree_{line.id}") if is_open else None,
        )
