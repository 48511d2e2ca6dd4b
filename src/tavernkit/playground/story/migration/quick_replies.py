"""Sets of quick replies of a folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.migration.files import FileKind
from tavernkit.playground.base.database.models import ImportedFile, QuickReplySet
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.migration.items import ImportJob, Item, ItemHandler, ItemOutcome
from tavernkit.playground.story.migration.outcomes import imported, kept_here, notes_of, stem_of, step_for
from tavernkit.playground.story.quick_replies.files import MAX_FILE_BYTES, read_set
from tavernkit.playground.story.quick_replies.queries import set_for
from tavernkit.playground.story.quick_replies.service import NAMELESS, exported_set, replace_set, store_set
from tavernkit.text.js_json import to_json
from tavernkit.values import Value

FOLDER = "QuickReplies"


class PreparedSet(Value, frozen=True, kw_only=True):
    """A set as it is written now, its file where that is of the older format, and what of it was changed."""

    data: dict[str, Any]
    file: dict[str, Any]
    notes: tuple[str, ...]


class QuickReplyHandler:
    """Imports sets of quick replies. Where they are shown, the settings say."""

    def prepare(self, job: ImportJob, item: Item, data: bytes) -> PreparedSet:
        if len(data) > MAX_FILE_BYTES:
            size, limit = len(data), MAX_FILE_BYTES
            sentence = _("The file is too large: {size} bytes. The limit is {limit} bytes.", size=size, limit=limit)
            raise Refused("too_long", sentence)
        read = read_set(data, name=stem_of(item.path))
        if read is None:
            raise Refused("invalid", _("The file has no quick replies. Choose a quick reply set of SillyTavern."))
        written, file, report = read
        return PreparedSet(data=written, file=file, notes=tuple(notes_of(report)))

    async def store(self, session: AsyncSession, job: ImportJob, item: Item, prepared: PreparedSet) -> ItemOutcome:
        told = []
        match step_for(item):
            case "keep":
                return kept_here(item)
            case "replace" if item.target_id is not None:
                row = await set_for(session, job.viewer, item.target_id, lock=True)
                replace_set(job.runtime, row, prepared.data, file=prepared.file)
            case _:
                row = await store_set(job.runtime, session, job.viewer, prepared.data, file=prepared.file)
                if row.name != titled(prepared.data["name"], NAMELESS):
                    told.append(_("Another set has this name, so it is called “{name}” here.", name=row.name))
        return imported(item, "quick_replies", row.id, converted=prepared.notes, notes=told)


HANDLERS: Mapping[FileKind, ItemHandler] = {"quick_replies": QuickReplyHandler()}


async def sets_of(session: AsyncSession, job: ImportJob) -> dict[str, QuickReplySet]:
    """The sets of this source by their names in it, and by those of their files."""
    rows = await session.execute(
        select(ImportedFile.path, QuickReplySet)
        .join(QuickReplySet, QuickReplySet.id == ImportedFile.target_id)
        .where(
            ImportedFile.source_id == job.source_id,
            ImportedFile.target_kind == "quick_replies",
            QuickReplySet.trashed_at.is_(None),
        )
    )
    found = [(path, row) for path, row in rows]
    return {str(row.data["name"]): row for _path, row in found} | {stem_of(path): row for path, row in found}


async def quick_replies_bytes(
    runtime: Runtime, session: AsyncSession, set_id: UUID, *, name: str | None = None
) -> bytes:
    """A set as SillyTavern's file, under the name that it has here, or another one."""
    document = exported_set(await session.get_one(QuickReplySet, set_id))
    named = document if name is None else {**document, "name": name}
    return to_json(named, indent=4).encode("utf-8", "replace")
