"""Lorebooks of a folder: each file below `worlds` is one, called as its file is.

Cards, chats and personas name a book by its file. Whatever comes first waits for the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.lore import Book, read_book
from tavernkit.migration.files import FileKind
from tavernkit.playground.base.database.models import ImportedFile, Lorebook
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.lorebooks.links import link_book, places_of_single_files, places_that_name
from tavernkit.playground.story.lorebooks.queries import lorebook_of
from tavernkit.playground.story.lorebooks.service import replace_book, store_book, written_book
from tavernkit.playground.story.migration.items import ImportJob, Item, ItemHandler, ItemOutcome
from tavernkit.playground.story.migration.known_settings import FolderSettings, known_settings
from tavernkit.playground.story.migration.outcomes import imported, kept_here, notes_of, stem_of, step_for
from tavernkit.text.js_json import to_json
from tavernkit.values import Value

FOLDER = "worlds"


class PreparedBook(Value, frozen=True, kw_only=True):
    """A book, and what of its file could not be taken as it was."""

    book: Book
    notes: tuple[str, ...]


class WorldHandler:
    """Imports lorebooks."""

    def prepare(self, job: ImportJob, item: Item, data: bytes) -> PreparedBook:
        book, report = read_book(data)
        return PreparedBook(book=book, notes=tuple(notes_of(report)))

    async def store(self, session: AsyncSession, job: ImportJob, item: Item, prepared: PreparedBook) -> ItemOutcome:
        stem, owner_id = stem_of(item.path), job.viewer.user_id
        match step_for(item):
            case "keep":
                return kept_here(item)
            case "replace" if item.target_id is not None:
                row = await lorebook_of(session, job.viewer, item.target_id, lock=True)
                await replace_book(job.runtime, session, row, prepared.book, file_sha256=item.sha256)
            case _:
                row = await store_book(
                    job.runtime, session, owner_id, prepared.book, name=stem, file_sha256=item.sha256
                )
                await _connect(session, job, stem, row)
        _books(job)[stem] = row.id
        return imported(item, "lorebook", row.id, converted=prepared.notes)


HANDLERS: Mapping[FileKind, ItemHandler] = {"world": WorldHandler()}


async def book_of(session: AsyncSession, job: ImportJob, stem: str) -> UUID | None:
    """The lorebook that a file of this source became, by the name of the file; None where there is none."""
    known = _books(job)
    if stem and stem not in known:
        found = await job.target_of(session, f"{FOLDER}/{stem}.json")
        own = (Lorebook.owner_id == job.viewer.user_id, Lorebook.status == "ready")
        query = select(Lorebook.id).where(Lorebook.id == found, *own)
        if found is not None and await session.scalar(query) is not None:
            known[stem] = found
    return known.get(stem)


async def link_world(session: AsyncSession, job: ImportJob, stem: str, **place: UUID | None) -> bool:
    """Use the lorebook of this file at a place; false where the source has none."""
    book_id = await book_of(session, job, stem)
    if book_id is not None:
        await link_book(job.runtime, session, book_id, titled(stem, ""), [place])
    return book_id is not None


async def world_bytes(runtime: Runtime, session: AsyncSession, lorebook_id: UUID) -> bytes:
    """A lorebook as SillyTavern's file."""
    row = await session.get_one(Lorebook, lorebook_id)
    return to_json(await written_book(session, row), indent=4).encode("utf-8", "replace")


def _books(job: ImportJob) -> dict[str, UUID]:
    known: dict[str, UUID] = job.cache.setdefault(FOLDER, {})
    return known


async def _connect(session: AsyncSession, job: ImportJob, stem: str, row: Lorebook) -> None:
    """Link a new book with what has come earlier and names it: with single files, or from this source."""
    places = [*(await _single_files(session, job)).get(row.name, ())]
    if await _has_places(session, job):
        places += await places_that_name(session, job.viewer.user_id, row.name, source_id=job.source_id)
        settings = await known_settings(session, job) or FolderSettings()
        if stem in settings.file.global_books:
            places.append({"user_id": job.viewer.user_id})
        for card, books in settings.file.extra_books.items():
            if stem in books:
                places.append({"character_id": await job.target_of(session, f"characters/{card}.png")})
    known = [place for place in places if any(place.values())]
    if known:
        await link_book(job.runtime, session, row.id, row.name, known)


async def _single_files(session: AsyncSession, job: ImportJob) -> dict[str, list[dict[str, UUID | None]]]:
    if "single files" not in job.cache:
        job.cache["single files"] = await places_of_single_files(session, job.viewer.user_id)
    found: dict[str, list[dict[str, UUID | None]]] = job.cache["single files"]
    return found


async def _has_places(session: AsyncSession, job: ImportJob) -> bool:
    """Whether an earlier import has brought anything that can name a book: in each import, books come first."""
    if "has_places" not in job.cache:
        kinds = ("character", "conversation", "persona", "settings")
        query = select(ImportedFile.path).where(
            ImportedFile.source_id == job.source_id, ImportedFile.target_kind.in_(kinds)
        )
        job.cache["has_places"] = await session.scalar(query.limit(1)) is not None
    found: bool = job.cache["has_places"]
    return found
