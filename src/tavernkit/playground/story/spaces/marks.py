"""What people note about stories for themselves: which are pinned, and under which tags they are found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from uuid import UUID

from sqlalchemy import delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Space, StoryPin, StoryTag
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.access.access import Access, is_in, space_for

MAX_PINS = 50
MAX_TAGS = 50
TAG_CHARACTERS = 100


async def pin_space(runtime: Runtime, viewer: Viewer, space_id: UUID, *, pinned: bool) -> bool:
    """Let a space stand first in the person's own list, or no longer."""
    async with runtime.database.write() as session:
        await space_for(session, space_id, viewer, Access.READ, lock=True)
        pin = await session.get(StoryPin, (viewer.user_id, space_id))
        if pinned and pin is None:
            own = select(func.count()).select_from(StoryPin).where(StoryPin.user_id == viewer.user_id)
            if (await session.scalar(own) or 0) >= MAX_PINS:
                raise Refused("conflict", _("You can pin at most {limit} stories. Unpin one first.", limit=MAX_PINS))
            session.add(StoryPin(user_id=viewer.user_id, space_id=space_id, created_at=runtime.clock()))
        elif not pinned and pin is not None:
            await session.delete(pin)
    return pinned


async def tag_space(runtime: Runtime, viewer: Viewer, space_id: UUID, tags: Sequence[str]) -> list[str]:
    """Give a space these tags in the person's own list, in place of those that it has there."""
    if len(named := named_tags(tags)) > MAX_TAGS:
        raise Refused("too_long", _("A story has at most {limit} tags.", limit=MAX_TAGS))
    async with runtime.database.write() as session:
        await space_for(session, space_id, viewer, Access.READ, lock=True)
        await store_tags(session, viewer, space_id, named)
    return list(named.values())


async def store_tags(session: AsyncSession, viewer: Viewer, space_id: UUID, named: Mapping[str, str]) -> None:
    """Let a space have these tags, by their keys, and no others."""
    await session.execute(delete(StoryTag).where(StoryTag.user_id == viewer.user_id, StoryTag.space_id == space_id))
    session.add_all(
        StoryTag(user_id=viewer.user_id, space_id=space_id, key=key, position=position, tag=tag)
        for position, (key, tag) in enumerate(named.items())
    )


def named_tags(tags: Iterable[str]) -> dict[str, str]:
    """Tags as they are stored, each once, by their keys."""
    named: dict[str, str] = {}
    for tag in tags:
        if name := titled(tag, "", limit=TAG_CHARACTERS):
            named.setdefault(tag_key(name), name)
    return named


def tag_key(tag: str) -> str:
    """A tag as it is compared: however it is spelled, it is one."""
    return titled(tag.casefold(), "")


async def tags_of(session: AsyncSession, viewer: Viewer, space_ids: Collection[UUID]) -> Mapping[UUID, Sequence[str]]:
    """The tags that this person has given each of these spaces."""
    rows = await session.execute(
        select(StoryTag.space_id, StoryTag.tag)
        .where(StoryTag.user_id == viewer.user_id, StoryTag.space_id.in_(space_ids))
        .order_by(StoryTag.position)
    )
    found: defaultdict[UUID, list[str]] = defaultdict(list)
    for space_id, tag in rows:
        found[space_id].append(tag)
    return found


async def used_story_tags(session: AsyncSession, viewer: Viewer, *, limit: int) -> list[str]:
    """The tags that this person has given most stories in use, in the order of the alphabet."""
    rows = await session.execute(
        select(StoryTag.key, func.min(StoryTag.tag))
        .join(Space, Space.id == StoryTag.space_id)
        .where(StoryTag.user_id == viewer.user_id, Space.status == "active", is_in(viewer))
        .group_by(StoryTag.key)
        .order_by(func.count().desc(), StoryTag.key)
        .limit(limit)
    )
    return [tag for _key, tag in sorted(tuple(row) for row in rows)]
