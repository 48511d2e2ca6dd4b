"""What is in the trash, and whose trash that is: the one place where it is decided."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias
from uuid import UUID

from pydantic import BaseModel, Field
from sqlalchemy import ColumnElement, Select, String, and_, cast, func, literal, or_, select, tuple_, union_all
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.base import UtcDateTime
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    Lorebook,
    Message,
    Persona,
    PipelineProfile,
    Preset,
    QuickReplySet,
    Space,
    SpaceMembership,
    TextContent,
)
from tavernkit.playground.story.access.personas import AUTHOR_NAME, with_locks
from tavernkit.playground.story.conversations.queries import PREVIEW_CHARACTERS, preview
from tavernkit.playground.story.retention import EXPIRED, RetentionPeriods

TrashKind: TypeAlias = Literal[
    "space",
    "conversation",
    "message",
    "character",
    "lorebook",
    "preset",
    "persona",
    "quick_reply_set",
    "pipeline_profile",
]

TABLES: Mapping[TrashKind, Any] = {
    "space": Space,
    "conversation": Conversation,
    "message": Message,
    "character": Character,
    "lorebook": Lorebook,
    "preset": Preset,
    "persona": Persona,
    "quick_reply_set": QuickReplySet,
    "pipeline_profile": PipelineProfile,
}


class TrashedItem(BaseModel):
    """Something in the trash. `place` is the space of a conversation, the conversation of a message, the kind of a
    preset, the title of a persona."""

    kind: TrashKind
    id: UUID
    name: str = Field(description="What it is called; of a message, who said it and its beginning.")
    place: str
    trashed_at: datetime
    expires_at: datetime


def is_in_trash(row: Any) -> ColumnElement[bool]:
    """True of what can still be restored; `row` is a table of `TABLES`."""
    return and_(row.trashed_at.is_not(None), row.trashed_at > EXPIRED)


def belongs_to(kind: TrashKind, viewer: Viewer) -> ColumnElement[bool]:
    """True of what this person may restore and delete for good, as a condition on the table of its kind.

    Library and spaces are their owners'; what everybody uses, and any space, also the administrators'. Conversations
    are the owner's of their space. A message belongs to who may moderate it, and to its author.
    """
    runs_site = literal(viewer.is_administrator)
    match kind:
        case "space":
            return or_(Space.owner_id == viewer.user_id, runs_site)
        case "conversation":
            here = (Space.status != "deleting", or_(Space.owner_id == viewer.user_id, runs_site))
            return Conversation.space_id.in_(select(Space.id).where(*here))
        case "message":
            return Message.id.in_(_messages_of(viewer))
        case _:
            return _is_own(TABLES[kind], viewer)


def _is_own(row: Any, viewer: Viewer) -> ColumnElement[bool]:
    return or_(row.owner_id == viewer.user_id, and_(row.owner_id.is_(None), literal(viewer.is_administrator)))


def _messages_of(viewer: Viewer) -> Select[UUID]:
    own, message = aliased(SpaceMembership), aliased(Message)
    may = or_(
        Space.owner_id == viewer.user_id,
        literal(viewer.is_administrator),
        and_(Conversation.visibility != "private", or_(own.role == "moderator", message.membership_id == own.id)),
    )
    mine = and_(own.space_id == Space.id, own.user_id == viewer.user_id, own.status == "active")
    return (
        select(message.id)
        .join(Conversation, Conversation.id == message.conversation_id)
        .join(Space, Space.id == Conversation.space_id)
        .outerjoin(own, mine)
        .where(is_in_trash(message), Conversation.status != "deleting", Space.status != "deleting", may)
    )


def is_listed(kind: TrashKind, viewer: Viewer) -> ColumnElement[bool]:
    """True of what is in this person's own trash: an administrator's has what everybody uses, and nobody else's."""
    own = Viewer(user_id=viewer.user_id) if kind in ("space", "conversation", "message") else viewer
    return and_(is_in_trash(TABLES[kind]), belongs_to(kind, own))


async def trash_page(
    session: AsyncSession,
    viewer: Viewer,
    retention: RetentionPeriods,
    *,
    kind: TrashKind | None = None,
    after: tuple[datetime, UUID] | None = None,
    limit: int,
) -> list[TrashedItem]:
    """What is in a person's trash, what was deleted last first. Of other people's things, administrators see none."""
    parts = [query.where(is_listed(name, viewer)) for name, query in _listed().items() if kind in (None, name)]
    rows = union_all(*parts).subquery()
    query = select(rows).order_by(rows.c.trashed_at.desc(), rows.c.id.desc()).limit(limit)
    if after is not None:
        place = tuple_(rows.c.trashed_at, rows.c.id)
        query = query.where(place < tuple_(literal(after[0], UtcDateTime()), literal(after[1], rows.c.id.type)))
    period = timedelta(days=retention.trash_days)
    return [
        TrashedItem(**{**row, "name": preview(row["name"]) or ""}, expires_at=row["trashed_at"] + period)
        for row in (await session.execute(query)).mappings()
    ]


def _listed() -> Mapping[TrashKind, Select[str, str, str, UUID, datetime]]:
    def columns(kind: TrashKind, row: Any, name: Any, place: Any) -> Any:
        called, where = cast(name, String).label("name"), cast(place, String).label("place")
        return select(
            literal(kind).label("kind"), row.id.label("id"), called, where, row.trashed_at.label("trashed_at")
        )

    none = literal("")
    said = AUTHOR_NAME + ": " + func.substr(TextContent.content, 1, PREVIEW_CHARACTERS + 1)
    messages = (
        columns("message", Message, said, Conversation.title)
        .join(SpaceMembership, SpaceMembership.id == Message.membership_id)
        .join(Conversation, Conversation.id == Message.conversation_id)
        .join(TextContent, TextContent.id == Message.text_id)
    )
    conversations = columns("conversation", Conversation, Conversation.title, Space.name)
    return {
        "space": columns("space", Space, Space.name, none),
        "conversation": conversations.join(Space, Space.id == Conversation.space_id),
        "message": with_locks(messages),
        "character": columns("character", Character, Character.name, none),
        "lorebook": columns("lorebook", Lorebook, Lorebook.name, none),
        "preset": columns("preset", Preset, Preset.name, Preset.kind),
        "persona": columns("persona", Persona, Persona.name, Persona.title),
        "quick_reply_set": columns("quick_reply_set", QuickReplySet, QuickReplySet.name, none),
        "pipeline_profile": columns("pipeline_profile", PipelineProfile, PipelineProfile.name, none),
    }
