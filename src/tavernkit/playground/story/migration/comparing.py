"""How the files of an import compare with what was imported before: which source they are of, and which are known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple, cast
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.migration.files import FileKind
from tavernkit.playground.base.database.models import (
    Character,
    FolderImport,
    ImportedFile,
    ImportItem,
    ImportSource,
    Lorebook,
)
from tavernkit.playground.story.migration.items import TargetKind
from tavernkit.playground.story.migration.kinds import CHATS
from tavernkit.playground.story.migration.markers import marker_of

REPEATED: tuple[FileKind, ...] = (
    "world",
    "preset",
    "quick_replies",
    "character",
    "chat",
    "group",
    "group_chat",
    "risuai_module",
    "risuai_preset",
    "risuai_character",
    "risuai_chat",
)
"""Of these, the same bytes from elsewhere are the same thing. A picture may be that of several."""

NAMED_BY_PATH: tuple[FileKind, ...] = ("chat", "group", "group_chat", "chat_media", "risuai_character", "risuai_chat")
NAMED_BY_BYTES: tuple[FileKind, ...] = ("character", "persona_picture", "settings")
SHIPPED = "characters/default\\_%"
"""Cards that every installation has."""


async def likeliest_source(session: AsyncSession, row: FolderImport, application: str) -> UUID | None:
    """The person's source of the same application that shares most with these files.

    What every installation brings along proves nothing. So chats are looked at first, whose names are dates, then
    cards with their bytes, then all files; and a source that has chats, none of which is here, is another one.
    """
    items, files = ImportItem, ImportedFile
    others: set[UUID] = set()
    tiers = (
        (items.kind.in_(NAMED_BY_PATH),),
        (items.kind.in_(NAMED_BY_BYTES), items.path.not_like(SHIPPED, escape="\\"), items.sha256 == files.sha256),
        (items.sha256 == files.sha256,),
    )
    of_import = items.import_id == row.id
    for number, conditions in enumerate(tiers):
        own = (ImportSource.owner_id == row.owner_id, ImportSource.application == application)
        shared = (
            select(files.source_id, func.count())
            .join(items, items.path == files.path)
            .join(ImportSource, ImportSource.id == files.source_id)
            .where(of_import, *own, files.source_id.not_in(others), *conditions)
            .group_by(files.source_id)
        )
        counts = dict(iter(await session.execute(shared)))
        if counts:
            return max(counts, key=lambda id: (counts[id], id))
        if number == 0 and await session.scalar(select(items.position).where(of_import, *conditions).limit(1)):
            has_such = select(files.source_id).where(files.kind.in_(NAMED_BY_PATH)).distinct()
            others = set(
                await session.scalars(has_such.join(ImportSource, ImportSource.id == files.source_id).where(*own))
            )
    return None


class _Known(NamedTuple):
    """What a file has become before; one that was imported alone has no path."""

    path: str
    file_kind: str
    target_kind: TargetKind
    target_id: UUID


async def known_elsewhere(
    session: AsyncSession,
    owner_id: UUID,
    source_id: UUID,
    items: Sequence[ImportItem],
    taken: set[UUID | None],
) -> list[tuple[ImportItem, TargetKind, UUID]]:
    """What the same bytes have become, where they were imported from another source or alone; each for one file."""
    wanted = [item for item in items if item.kind in REPEATED and item.sha256 is not None]
    known = await _known_files(session, owner_id, source_id, {item.sha256 for item in wanted})
    found: list[tuple[ImportItem, TargetKind, UUID]] = []
    for item in wanted:
        there = [one for one in known[item.sha256] if one.file_kind == item.kind and one.target_id not in taken]
        if item.kind in CHATS:
            # Chats that nobody has answered yet are alike.
            there = [one for one in there if one.path == item.path]
        for one in sorted(there, key=lambda one: one.path != item.path):
            if await marker_of(session, one.target_kind, one.target_id) is not None:
                found.append((item, one.target_kind, one.target_id))
                taken.add(one.target_id)
                break
    return found


async def _known_files(
    session: AsyncSession, owner_id: UUID, source_id: UUID, names: Collection[str | None]
) -> dict[str | None, list[_Known]]:
    """What files of these hashes have become, those of this source left out."""
    known: defaultdict[str | None, list[_Known]] = defaultdict(list)
    file = ImportedFile
    rows = await session.execute(
        select(file.sha256, file.path, file.kind, file.target_kind, file.target_id)
        .join(ImportSource, ImportSource.id == file.source_id)
        .where(
            ImportSource.owner_id == owner_id,
            file.source_id != source_id,
            file.sha256.in_(names),
            file.target_id.is_not(None),
        )
        .order_by(ImportSource.created_at, file.path)
    )
    for sha256, path, kind, target_kind, target_id in rows:
        known[sha256].append(_Known(path, kind, cast(TargetKind, target_kind), cast(UUID, target_id)))
    await _add_alone(session, known, Character, owner_id, source_id, names)
    await _add_alone(session, known, Lorebook, owner_id, source_id, names)
    return known


async def _add_alone(
    session: AsyncSession,
    known: defaultdict[str | None, list[_Known]],
    model: type[Character | Lorebook],
    owner_id: UUID,
    source_id: UUID,
    names: Collection[str | None],
) -> None:
    """Add what was imported from single files."""
    of_source = (ImportedFile.source_id == source_id, ImportedFile.target_id == model.id)
    rows = await session.execute(
        select(model.file_sha256, model.id)
        .where(
            model.owner_id == owner_id,
            model.status == "ready",
            model.file_sha256.in_(names),
            ~select(ImportedFile.path).where(*of_source).exists(),
        )
        .order_by(model.created_at, model.id)
    )
    for sha256, id in rows:
        is_card = model is Character
        known[sha256].append(
            _Known("", "character" if is_card else "world", "character" if is_card else "lorebook", id)
        )


async def count_gone(session: AsyncSession, import_id: UUID) -> int:
    """How many files of the source were imported before and are not there any more."""
    row = await session.get_one(FolderImport, import_id)
    there = select(ImportItem.position).where(ImportItem.import_id == import_id, ImportItem.path == ImportedFile.path)
    query = select(func.count()).where(ImportedFile.source_id == row.source_id, ~there.exists())
    return await session.scalar(query) or 0
