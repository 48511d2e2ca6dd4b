"""Keys with which programs act for a person."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import func, select

from tavernkit.playground.base.accounts.names import tidy
from tavernkit.playground.base.accounts.tokens import PREFIX_LENGTH, fingerprint, new_api_key
from tavernkit.playground.base.accounts.viewer import Viewer, require_person
from tavernkit.playground.base.database.models import ApiKey, User
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.realtime.bus import user_topic
from tavernkit.playground.base.realtime.outbox import announce_access_change
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.values import Value

LONGEST_KEY_NAME = 200
MOST_KEYS = 50


class NewKey(Value, frozen=True, kw_only=True):
    """A key that was just made; its text is known here and nowhere else."""

    key: str
    row: ApiKey


async def create_api_key(runtime: Runtime, viewer: Viewer, *, name: str) -> NewKey:
    """Make a key under a name that says what it is for."""
    require_person(viewer)
    name = tidy(name)
    if not name:
        raise Refused("blank", _("Enter a name for the key."))
    if len(name) > LONGEST_KEY_NAME:
        raise Refused("too_long", _("The name can have at most {count} characters.", count=LONGEST_KEY_NAME))
    key = new_api_key()
    async with runtime.database.write() as session:
        await session.get(User, viewer.user_id, with_for_update=True)
        mine = ApiKey.user_id == viewer.user_id
        count = await session.scalar(select(func.count()).select_from(ApiKey).where(mine, ApiKey.revoked_at.is_(None)))
        if (count or 0) >= MOST_KEYS:
            raise Refused("conflict", _("You already have {count} keys. Revoke one you do not use.", count=MOST_KEYS))
        row = ApiKey(
            id=runtime.ids(),
            user_id=viewer.user_id,
            name=name,
            prefix=key[:PREFIX_LENGTH],
            token_hash=fingerprint(key),
            created_at=runtime.clock(),
        )
        session.add(row)
    return NewKey(key=key, row=row)


async def revoke_api_key(runtime: Runtime, viewer: Viewer, key_id: UUID) -> ApiKey:
    """Make one of one's own keys worthless."""
    require_person(viewer)
    async with runtime.database.write() as session:
        row = await session.get(ApiKey, key_id)
        if row is None or row.user_id != viewer.user_id:
            raise not_found(_("API key"))
        row.revoked_at = row.revoked_at or runtime.clock()
        announce_access_change(session, user_topic(viewer.user_id))
        return row
