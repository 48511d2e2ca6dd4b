"""Who is here: on a machine of one's own, one person without a password."""

from __future__ import annotations

from sqlalchemy import select

from tavernkit.playground.base.database.models import User
from tavernkit.playground.base.runtime import Runtime


async def ensure_owner(runtime: Runtime, name: str) -> User:
    """The owner; one is made on an empty database."""
    async with runtime.database.write() as session:
        owner: User | None = await session.scalar(select(User).order_by(User.created_at).limit(1))
        if owner is None:
            owner = User(id=runtime.ids(), name=name, role="administrator", created_at=runtime.clock())
            session.add(owner)
        return owner
