"""Making and revoking links, by who runs the space."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, delete, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.tokens import fingerprint, new_link_token
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, SharedLink
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused, existing, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, SpaceAccess, conversation_for
from tavernkit.values import Value

MOST_LINKS = 50
"""So many links to one conversation work at the same time."""


class NewSharedLink(Value, frozen=True, kw_only=True):
    """A link that was just made; its token is known here and nowhere else."""

    token: str
    row: SharedLink


async def create_shared_link(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, days: int | None = 30, with_branches: bool = False
) -> NewSharedLink:
    """Let anybody who has the link read the conversation, for so many days; None is until it is revoked."""
    token, now = new_link_token(), runtime.clock()
    async with runtime.database.write() as session:
        await _shareable(session, viewer, conversation_id, lock=True)
        here = SharedLink.conversation_id == conversation_id
        await session.execute(delete(SharedLink).where(here, ~works_at(now)))
        count = await session.scalar(select(func.count()).select_from(SharedLink).where(here))
        if (count or 0) >= MOST_LINKS:
            sentence = _("A conversation can have at most {count} links. Revoke one first.", count=MOST_LINKS)
            raise Refused("conflict", sentence)
        row = SharedLink(
            id=runtime.ids(),
            conversation_id=conversation_id,
            created_by_id=viewer.user_id,
            token_hash=fingerprint(token),
            with_branches=with_branches,
            expires_at=None if days is None else now + timedelta(days=days),
            created_at=now,
        )
        session.add(row)
    return NewSharedLink(token=token, row=row)


async def list_shared_links(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID
) -> tuple[Conversation, SpaceAccess, list[SharedLink]]:
    """The links to a conversation that work, the newest first, with the conversation."""
    async with runtime.database.read() as session:
        conversation, access = await _shareable(session, viewer, conversation_id)
        query = select(SharedLink).where(SharedLink.conversation_id == conversation_id, works_at(runtime.clock()))
        rows = await session.scalars(query.order_by(SharedLink.created_at.desc(), SharedLink.id.desc()))
        return conversation, access, list(rows)


async def revoke_shared_link(runtime: Runtime, viewer: Viewer, shared_link_id: UUID) -> SharedLink:
    """Let nobody read with it any more."""
    async with runtime.database.write() as session:
        row = existing(await session.get(SharedLink, shared_link_id), _("link"))
        await _shareable(session, viewer, row.conversation_id, what=_("link"))
        gone = await session.scalar(
            delete(SharedLink).where(SharedLink.id == shared_link_id).returning(SharedLink.id),
            execution_options={"synchronize_session": False},
        )
        if gone is None:
            raise not_found(_("link"))
        return row


def works_at(moment: datetime) -> ColumnElement[bool]:
    """True of links that have not expired."""
    return or_(SharedLink.expires_at.is_(None), SharedLink.expires_at > moment)


async def _shareable(
    session: AsyncSession,
    viewer: Viewer,
    conversation_id: UUID,
    *,
    lock: bool = False,
    what: str = _("conversation"),
) -> tuple[Conversation, SpaceAccess]:
    """The conversation, if this person may share it. One that is archived too: a link changes nothing in it."""
    found = await conversation_for(session, conversation_id, viewer, Access.READ, lock=lock, what=what)
    if found[1].level < Access.ADMINISTER:
        raise Refused("forbidden", _("Only the owner of the space can share a conversation."))
    return found
