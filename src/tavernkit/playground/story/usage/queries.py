"""What was used, added up. It counts for who owned the space at that time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any, Literal, TypeAlias
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, case, desc, exists, func, literal, or_, select, union
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from tavernkit.playground.base.accounts.viewer import Viewer, require_administrator
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    Job,
    Message,
    MessageSwipe,
    Run,
    Space,
    SpaceMembership,
    UsageEntry,
    User,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.story.access.access import Access, conversation_for, space_for
from tavernkit.playground.story.usage.prices import cost_of_entry, with_prices
from tavernkit.values import Value

StoryHeading: TypeAlias = Literal["conversation", "space", "character", "model", "day", "kind"]
UsageBy: TypeAlias = Literal["user"] | StoryHeading
StoryUsageBy: TypeAlias = Literal["message", "branch"] | StoryHeading
MOST_LINES = 400
"""So many lines are shown, those with the most tokens; of days and messages, the newest."""


class UsageLine(Value, frozen=True, kw_only=True):
    """What was used under one heading. Of `requests` to models, `replies` were for replies.

    `estimated_tokens` are those of all tokens that no provider has reported. `cost` is what is known of it in dollars;
    `unpriced` requests have none. `since` is when the first of them was made.
    """

    name: str = ""
    id: UUID | None = None
    requests: int = 0
    replies: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    estimated_tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0
    since: datetime | None = None

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def plus(self, other: UsageLine) -> UsageLine:
        """Both together, without a heading."""
        dates = [date for date in (self.since, other.since) if date is not None]
        return UsageLine(
            **{name: getattr(self, name) + getattr(other, name) for name in _FIGURES},
            since=min(dates, default=None),
        )


class UsageTable(Value, frozen=True, kw_only=True):
    """Lines, and what they are together."""

    lines: list[UsageLine]
    total: UsageLine

    @classmethod
    def of(cls, lines: list[UsageLine]) -> UsageTable:
        return cls(lines=lines, total=added_up(lines))


_FIGURES = (
    *("requests", "replies", "prompt_tokens", "completion_tokens", "cached_tokens"),
    *("estimated_tokens", "cost", "unpriced"),
)


def day_start(now: datetime) -> datetime:
    """When the day began, in UTC."""
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


async def usage(session: AsyncSession, viewer: Viewer, now: datetime, *, by: UsageBy, days: int) -> UsageTable:
    """What everybody has used within the last days, today included."""
    require_administrator(viewer)
    return UsageTable.of(await _lines(session, by, _within(now, days)))


async def story_usage(
    session: AsyncSession,
    viewer: Viewer,
    now: datetime,
    *,
    by: StoryUsageBy,
    days: int | None = None,
    space_id: UUID | None = None,
    conversation_id: UUID | None = None,
) -> UsageTable:
    """What a person's own stories have used; or a space of theirs, or a conversation that they are in, with its
    branches. Of branches, what they share counts once in the total."""
    among = _within(now, days)
    if by == "branch" or by == "message":
        if conversation_id is None:
            raise Refused("invalid", _("Choose a conversation: branches and messages are added up in one."))
        conversation, tree = await _tree_for(session, viewer, conversation_id)
        if by == "message":
            return UsageTable.of(await _by_message(session, conversation.id, among))
        together = await _lines(session, "kind", [*among, UsageEntry.conversation_id.in_(tree)])
        return UsageTable(lines=await _by_branch(session, tree, among), total=added_up(together))
    if conversation_id is not None:
        _conversation, tree = await _tree_for(session, viewer, conversation_id)
        among.append(UsageEntry.conversation_id.in_(tree))
    elif space_id is not None:
        await space_for(session, space_id, viewer, Access.ADMINISTER, even_archived=True)
        among.append(Conversation.space_id == space_id)
    else:
        among.append(UsageEntry.owner_id == viewer.user_id)
    return UsageTable.of(await _lines(session, by, among))


def added_up(lines: Sequence[UsageLine]) -> UsageLine:
    """The lines together, without a heading."""
    return reduce(UsageLine.plus, lines, UsageLine())


async def used_today(session: AsyncSession, owner_id: UUID, now: datetime) -> UsageLine:
    """What the spaces of one account have used since midnight in UTC."""
    return await used_since(session, UsageEntry.owner_id == owner_id, since=day_start(now))


async def used_since(
    session: AsyncSession, which: ColumnElement[bool], *, since: datetime | None, with_open: bool = False
) -> UsageLine:
    """What the entries have used; `with_open` also what those that are being answered may use at most."""
    query = _totals(UsageEntry.is_open.is_(False) | is_at_work() if with_open else UsageEntry.is_open.is_(False), which)
    return _line((await session.execute(query if since is None else query.where(UsageEntry.created_at >= since))).one())


def is_at_work() -> ColumnElement[bool]:
    """Whether the run or the job that an entry belongs to is running."""
    return or_(
        exists().where(Run.id == UsageEntry.run_id, Run.status == "running"),
        exists().where(Job.id == UsageEntry.job_id, Job.status == "running"),
    )


def in_tree(root_id: UUID) -> ColumnElement[bool]:
    """Whether an entry belongs to a conversation or to a branch of it."""
    is_of_it = or_(Conversation.id == root_id, Conversation.root_conversation_id == root_id)
    return UsageEntry.conversation_id.in_(select(Conversation.id).where(is_of_it))


def in_space(space_id: UUID) -> ColumnElement[bool]:
    """Whether an entry belongs to a conversation of a space."""
    return UsageEntry.conversation_id.in_(select(Conversation.id).where(Conversation.space_id == space_id))


def _within(now: datetime, days: int | None) -> list[ColumnElement[bool]]:
    return [] if days is None else [UsageEntry.created_at >= day_start(now) - timedelta(days=days - 1)]


async def _tree_for(session: AsyncSession, viewer: Viewer, conversation_id: UUID) -> tuple[Conversation, Select[UUID]]:
    """The conversation, for those who are in its space, and all of its tree that they may read."""
    conversation, access = await conversation_for(session, conversation_id, viewer, Access.READ)
    if access.member is None and access.level < Access.ADMINISTER:
        raise not_found(_("conversation"))
    root_id = conversation.root_conversation_id or conversation.id
    tree = select(Conversation.id).where(
        or_(Conversation.id == root_id, Conversation.root_conversation_id == root_id),
        Conversation.status != "deleting",
    )
    return conversation, tree if access.level >= Access.ADMINISTER else tree.where(Conversation.visibility != "private")


async def _lines(session: AsyncSession, by: UsageBy, among: Sequence[ColumnElement[bool]]) -> list[UsageLine]:
    name, *ids = _heading(session, by)
    # By its label: PostgreSQL does not see that two expressions with parameters are the same.
    query = _used(*among).add_columns(name.label("heading"), *ids)
    order = "heading" if by == "day" else "tokens"
    rows = await session.execute(query.group_by("heading", *ids).order_by(desc(order), "heading").limit(MOST_LINES))
    return [_line(row, name=row.heading or "", id=row[-1] if ids else None) for row in rows]


async def _by_branch(
    session: AsyncSession, tree: Select[UUID], among: Sequence[ColumnElement[bool]]
) -> list[UsageLine]:
    """Each branch from the root on: what it shares with others counts in each of them."""
    spent = union(
        select(UsageEntry.conversation_id.label("branch_id"), UsageEntry.id.label("entry_id")).where(
            UsageEntry.conversation_id.in_(tree)
        ),
        _on_path(Message.conversation_id.label("branch_id")).where(Message.conversation_id.in_(tree)),
    ).subquery()
    branch = aliased(Conversation)
    query = (
        _totals(UsageEntry.is_open.is_(False), *among)
        .join(spent, spent.c.entry_id == UsageEntry.id)
        .join(branch, branch.id == spent.c.branch_id)
        .add_columns(branch.title.label("heading"), branch.id)
    )
    rows = await session.execute(query.group_by(branch.title, branch.id).order_by(desc("tokens")).limit(MOST_LINES))
    return [_line(row, name=row.heading, id=row[-1]) for row in rows]


async def _by_message(
    session: AsyncSession, conversation_id: UUID, among: Sequence[ColumnElement[bool]]
) -> list[UsageLine]:
    """Each message of one branch with all its swipes and the steps around them, the newest first; what belongs to none
    of them is a line without an id."""
    of_messages = _on_path(Message.id.label("message_id"), Message.seq.label("seq")).where(
        Message.conversation_id == conversation_id
    )
    known = of_messages.subquery()
    others = select(literal(None).label("message_id"), literal(0).label("seq"), UsageEntry.id.label("entry_id")).where(
        UsageEntry.conversation_id == conversation_id, UsageEntry.id.not_in(select(known.c.entry_id))
    )
    spent = union(of_messages, others).subquery()
    query = (
        _totals(UsageEntry.is_open.is_(False), *among)
        .join(spent, spent.c.entry_id == UsageEntry.id)
        .add_columns(spent.c.seq, spent.c.message_id)
    )
    rows = await session.execute(
        query.group_by(spent.c.seq, spent.c.message_id).order_by(spent.c.seq.desc()).limit(MOST_LINES)
    )
    return [_line(row, name="" if row[-1] is None else str(row.seq), id=row[-1]) for row in rows]


def _on_path(*columns: ColumnElement[Any]) -> Select[Any]:
    """The entries of the messages that branches show: a branch has copies of those before it, with the same runs."""
    return (
        select(*columns, UsageEntry.id.label("entry_id"))
        .select_from(Message)
        .join(MessageSwipe, MessageSwipe.message_id == Message.id)
        .join(UsageEntry, UsageEntry.run_id == MessageSwipe.run_id)
        .where(Message.visibility != "hidden")
        .distinct()
    )


def _line(row: Any, *, name: str = "", id: UUID | None = None) -> UsageLine:
    return UsageLine(
        name=name,
        id=id,
        requests=row.requests,
        cost=float(row.cost),
        since=row.since,
        **{figure: int(getattr(row, figure)) for figure in _FIGURES if figure not in ("requests", "cost")},
    )


def _totals(*among: ColumnElement[bool]) -> Select[Any]:
    cost = cost_of_entry()
    both = UsageEntry.prompt_tokens + UsageEntry.completion_tokens

    def added(figure: ColumnElement[Any], when: ColumnElement[bool] | None = None) -> ColumnElement[Any]:
        counted = figure if when is None else case((when, figure), else_=0)
        return func.coalesce(func.sum(counted), 0)

    query = select(
        func.count().label("requests"),
        added(literal(1), UsageEntry.kind == "reply").label("replies"),
        added(UsageEntry.prompt_tokens.expression).label("prompt_tokens"),
        added(UsageEntry.completion_tokens.expression).label("completion_tokens"),
        added(UsageEntry.cached_tokens.expression).label("cached_tokens"),
        added(both, UsageEntry.is_estimated.expression).label("estimated_tokens"),
        added(cost).label("cost"),
        added(literal(1), cost.is_(None)).label("unpriced"),
        func.min(UsageEntry.created_at).label("since"),
        added(both).label("tokens"),
    ).select_from(UsageEntry)
    return with_prices(query).where(and_(*among))


def _used(*among: ColumnElement[bool]) -> Select[Any]:
    """The totals with everything that can be a heading."""
    return (
        _totals(UsageEntry.is_open.is_(False), *among)
        .join(User, User.id == UsageEntry.owner_id)
        .outerjoin(Conversation, Conversation.id == UsageEntry.conversation_id)
        .outerjoin(Space, Space.id == Conversation.space_id)
        .outerjoin(_ROOT, _ROOT.id == func.coalesce(Conversation.root_conversation_id, Conversation.id))
        .outerjoin(Run, Run.id == UsageEntry.run_id)
        .outerjoin(SpaceMembership, SpaceMembership.id == Run.speaker_membership_id)
        .outerjoin(Character, Character.id == SpaceMembership.character_id)
    )


_ROOT = aliased(Conversation)


def _heading(session: AsyncSession, by: UsageBy) -> tuple[ColumnElement[Any], ...]:
    """The name that lines are added up by, and the id of whose it is."""
    match by:
        case "user":
            return User.name.expression, User.id.expression
        case "character":
            return Character.name.expression, Character.id.expression
        case "space":
            return Space.name.expression, Space.id.expression
        case "conversation":
            return _ROOT.title.expression, _ROOT.id.expression
        case "model":
            return (UsageEntry.model.expression,)
        case "kind":
            return (UsageEntry.kind.expression,)
        case "day":
            is_postgresql = session.get_bind().dialect.name == "postgresql"
            moment = func.timezone("UTC", UsageEntry.created_at)
            return (func.to_char(moment, "YYYY-MM-DD") if is_postgresql else func.date(UsageEntry.created_at),)
