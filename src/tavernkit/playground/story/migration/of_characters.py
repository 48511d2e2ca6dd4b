"""What the settings of a folder say about single characters: their tags, and their further lorebooks."""

from __future__ import annotations

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import Character
from tavernkit.playground.story.characters.cards import set_own_tags
from tavernkit.playground.story.migration.items import ImportJob
from tavernkit.playground.story.migration.known_settings import FolderSettings
from tavernkit.playground.story.migration.lorebooks import link_world
from tavernkit.playground.story.migration.outcomes import stem_of


async def give_settings(
    session: AsyncSession,
    job: ImportJob,
    settings: FolderSettings,
    row: Character,
    avatar: str,
    *,
    before: FolderSettings | None = None,
) -> None:
    """Give a character its tags, and link its further lorebooks.

    `before` are the settings of the import before, of which whatever was taken away here stays away.
    """
    _give_tags(row, settings.tags_of(avatar))
    card = stem_of(avatar)
    known = () if before is None else before.file.extra_books.get(card, ())
    for stem in settings.file.extra_books.get(card, ()):
        if stem not in known:
            await link_world(session, job, stem, character_id=row.id)


def _give_tags(row: Character, tags: dict[str, str]) -> None:
    known: dict[str, str] = row.file.get("tags", {})
    if tags == known:
        return
    gone = {name for id, name in known.items() if tags.get(id) != name}
    new = [name for id, name in tags.items() if known.get(id) != name]
    set_own_tags(row, [*(tag for tag in row.own_tags if tag not in gone), *new])
    row.file = {**row.file, "tags": tags}
