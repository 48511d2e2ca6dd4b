"""Other people's accounts, which administrators look after."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from sqlalchemy import exists, select, update

from tavernkit.playground.base.accounts.browsers import forget_browsers
from tavernkit.playground.base.accounts.names import lock_accounts
from tavernkit.playground.base.accounts.sessions import end_sessions
from tavernkit.playground.base.accounts.viewer import Role, Viewer, require_administrator
from tavernkit.playground.base.database.models import Invitation, User
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.realtime.bus import user_topic
from tavernkit.playground.base.realtime.outbox import announce_access_change
from tavernkit.playground.base.refused import Refused, existing
from tavernkit.playground.base.runtime import Runtime


async def ensure_owner(runtime: Runtime, name: str) -> User:
    """The owner; one is made on an empty database."""
    async with runtime.database.write() as session:
        owner: User | None = await session.scalar(select(User).order_by(User.created_at).limit(1))
        if owner is None:
            owner = User(id=runtime.ids(), name=name, role="administrator", created_at=runtime.clock())
            session.add(owner)
        return owner


async def change_user(
    runtime: Runtime,
    viewer: Viewer,
    user_id: UUID,
    *,
    role: Role | None = None,
    status: Literal["active", "inactive"] | None = None,
) -> User:
    """Give somebody another role, or close or open their account. The last administrator stays one.

    Who is closed out is signed out everywhere. The invitations of somebody who is no administrator any more end too.
    """
    require_administrator(viewer)
    async with runtime.database.write() as session:
        await lock_accounts(session)
        user = existing(await session.get(User, user_id, with_for_update=True), _("account"))
        was_in_charge = user.role == "administrator" and user.status == "active"
        new_role, new_status = role or user.role, status or user.status
        stays_in_charge = new_role == "administrator" and new_status == "active"
        if was_in_charge and not stays_in_charge:
            another = exists().where(
                User.id != user.id,
                User.role == "administrator",
                User.status == "active",
                User.password_hash.is_not(None),
            )
            if not await session.scalar(select(another)):
                sentence = _("This is the last administrator. Make another account an administrator first.")
                raise Refused("conflict", sentence)
            await session.execute(
                update(Invitation)
                .where(Invitation.created_by_id == user.id, Invitation.revoked_at.is_(None))
                .values(revoked_at=runtime.clock())
            )
        user.role, user.status = new_role, new_status
        # Also for another role: administrators read what is not theirs.
        announce_access_change(session, user_topic(user.id))
        if new_status == "inactive":
            await end_sessions(session, runtime.clock(), user.id)
        return user


async def sign_out_everywhere(runtime: Runtime, viewer: Viewer, user_id: UUID) -> int:
    """End all sessions of somebody, and make their browsers strangers; how many sessions those were."""
    require_administrator(viewer)
    async with runtime.database.write() as session:
        user = existing(await session.get(User, user_id, with_for_update=True), _("account"))
        await forget_browsers(session, user.id)
        return await end_sessions(session, runtime.clock(), user.id)
