"""Characters of a folder. Which character a card is, its file says: cards of one name in several files are several."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.migration.files import FileKind
from tavernkit.playground.base.database.models import Character
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.characters.cards import embedded_book
from tavernkit.playground.story.characters.files import PreparedFile, prepare, written_card
from tavernkit.playground.story.characters.importing import store_file
from tavernkit.playground.story.characters.queries import find_character
from tavernkit.playground.story.migration.items import ImportJob, Item, ItemHandler, ItemOutcome
from tavernkit.playground.story.migration.known_settings import known_settings
from tavernkit.playground.story.migration.lorebooks import link_world
from tavernkit.playground.story.migration.of_characters import give_settings
from tavernkit.playground.story.migration.outcomes import imported, kept_here, step_for
from tavernkit.playground.story.migration.personas import connect_character
from tavernkit.reading import LooseObject, ReportBuilder


class CharacterHandler:
    """Imports cards."""

    def prepare(self, job: ImportJob, item: Item, data: bytes) -> PreparedFile:
        return prepare(data)

    async def store(self, session: AsyncSession, job: ImportJob, item: Item, prepared: PreparedFile) -> ItemOutcome:
        step, target = step_for(item), None
        if step == "keep":
            return kept_here(item)
        if step == "replace" and item.target_id is not None:
            target = await find_character(session, item.target_id, job.viewer, to_change=True)
        before = "" if target is None else _world(target)
        stored = await store_file(
            session, job.runtime, job.viewer.user_id, prepared, target=target, as_new=True, links_book=False
        )
        row, avatar = stored.character, PurePosixPath(item.path).name
        is_first = "avatar" not in row.file
        row.file = {**row.file, "avatar": avatar}
        if is_first:
            await _connect(session, job, row, avatar)
        notes = await _link(session, job, row, before)
        return imported(item, "character", row.id, converted=prepared.notes, notes=notes)


HANDLERS: Mapping[FileKind, ItemHandler] = {"character": CharacterHandler()}


async def character_bytes(runtime: Runtime, session: AsyncSession, character_id: UUID) -> bytes:
    """A character as the card file of SillyTavern."""
    return await written_card(session, await session.get_one(Character, character_id), "png")


async def _link(session: AsyncSession, job: ImportJob, row: Character, before: str) -> tuple[str, ...]:
    """Link the lorebook whose file the card names, unless the card before named it already; what is missing."""
    stem = _world(row)
    if stem in ("", before) or await link_world(session, job, stem, character_id=row.id):
        return ()
    if embedded_book(row) is not None:
        return ()
    return (_("The card uses the lorebook {lorebook}, which is missing. Import it to link it.", lorebook=stem),)


async def _connect(session: AsyncSession, job: ImportJob, row: Character, avatar: str) -> None:
    """Give a new character what settings that were imported earlier say about it."""
    settings = await known_settings(session, job)
    if settings is not None:
        await give_settings(session, job, settings, row, avatar)
        await connect_character(session, job, row, avatar)


def _world(row: Character) -> str:
    return LooseObject(row.data, ReportBuilder()).nested("data").nested("extensions").text("world")
