"""Global variables: values that macros and people set, and that all spaces of one person share. They follow no path."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import GlobalVariable, User
from tavernkit.playground.base.refused import not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.paths.variables import MAX_VARIABLES, check_room, check_variable
from tavernkit.values import Json, Value


class GlobalChanges(Value, frozen=True, kw_only=True):
    """What a reply has changed."""

    set: Mapping[str, Json] = {}
    unset: tuple[str, ...] = ()


async def read_globals(session: AsyncSession, user_id: UUID) -> dict[str, Json]:
    """The variables of a person, by name."""
    query = select(GlobalVariable.name, GlobalVariable.value).where(GlobalVariable.user_id == user_id)
    return {row.name: row.value for row in await session.execute(query.order_by(GlobalVariable.name))}


async def change_globals(session: AsyncSession, user_id: UUID, changes: GlobalChanges, now: datetime) -> None:
    """Write what has changed and nothing else, as far as there is room; another reply may have changed others
    meanwhile. The person's row is locked by who calls this."""
    if changes.unset:
        await session.execute(
            delete(GlobalVariable).where(GlobalVariable.user_id == user_id, GlobalVariable.name.in_(changes.unset))
        )
    if not changes.set:
        return
    rows = await session.scalars(select(GlobalVariable).where(GlobalVariable.user_id == user_id))
    known = {row.name: row for row in rows}
    for name, value in changes.set.items():
        if name in known:
            known[name].value, known[name].updated_at = value, now
        elif len(known) < MAX_VARIABLES:
            known[name] = GlobalVariable(user_id=user_id, name=name, value=value, updated_at=now)
            session.add(known[name])
    await session.flush()


async def get_globals(runtime: Runtime, viewer: Viewer) -> dict[str, Json]:
    """One's own variables."""
    async with runtime.database.read() as session:
        return await read_globals(session, viewer.user_id)


async def set_global(runtime: Runtime, viewer: Viewer, name: str, value: Json) -> dict[str, Json]:
    """Set one; all of them as they are then."""
    check_variable(name, value)
    async with runtime.database.write() as session:
        await _lock(session, viewer.user_id)
        known = await read_globals(session, viewer.user_id)
        check_room(known, name)
        await change_globals(session, viewer.user_id, GlobalChanges(set={name: value}), runtime.clock())
        return {**known, name: value}


async def delete_global(runtime: Runtime, viewer: Viewer, name: str) -> dict[str, Json]:
    """Remove one; what there is then."""
    async with runtime.database.write() as session:
        await _lock(session, viewer.user_id)
        known = await read_globals(session, viewer.user_id)
        if name not in known:
            raise not_found("variable")
        await change_globals(session, viewer.user_id, GlobalChanges(unset=(name,)), runtime.clock())
        return {other: value for other, value in known.items() if other != name}


async def _lock(session: AsyncSession, user_id: UUID) -> None:
    await session.execute(select(User.id).where(User.id == user_id).with_for_update(key_share=True))
