"""Presets of a folder: the folder says of which kind a file is, and the file what it is called."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import ParseError
from tavernkit.migration.files import FileKind
from tavernkit.playground.base.database.models import Preset
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.migration.items import ImportJob, Item, ItemHandler, ItemOutcome
from tavernkit.playground.story.migration.outcomes import imported, kept_here, notes_of, stem_of, step_for
from tavernkit.playground.story.presets.queries import decode_preset, preset_for
from tavernkit.playground.story.presets.service import MAX_FILE_BYTES, NAMELESS, replace_preset, store_preset
from tavernkit.reading import parse_json
from tavernkit.text.js_json import to_json
from tavernkit.values import Json, Value

FOLDERS: Mapping[str, str] = {
    "chat": "OpenAI Settings",
    "text": "TextGen Settings",
    "instruct": "instruct",
    "context": "context",
    "system_prompt": "sysprompt",
    "reasoning": "reasoning",
}
"""Where SillyTavern keeps presets of each kind that has a use here."""
_KINDS = {folder: kind for kind, folder in FOLDERS.items()}


class PreparedPreset(Value, frozen=True, kw_only=True):
    """A preset's file, and what of it makes no sense."""

    kind: str
    document: dict[str, Json]
    notes: tuple[str, ...]


class PresetHandler:
    """Imports presets and templates."""

    def prepare(self, job: ImportJob, item: Item, data: bytes) -> PreparedPreset | None:
        kind = _KINDS.get(item.path.partition("/")[0])
        if kind is None:
            return None
        if len(data) > MAX_FILE_BYTES:
            size, limit = len(data), MAX_FILE_BYTES
            sentence = _("The file is too large: {size} bytes. The limit is {limit} bytes.", size=size, limit=limit)
            raise Refused("too_long", sentence)
        document = parse_json(data, what="The preset")
        if not isinstance(document, dict):
            raise ParseError(_("The file is not a preset of SillyTavern."))
        notes = tuple(notes_of(decode_preset(kind, document)[1]))
        return PreparedPreset(kind=kind, document=document, notes=notes)

    async def store(
        self, session: AsyncSession, job: ImportJob, item: Item, prepared: PreparedPreset | None
    ) -> ItemOutcome:
        if prepared is None:
            return ItemOutcome(verdict="kept", notes=(_("Presets of this kind have no use here."),))
        name, told = titled(stem_of(item.path), NAMELESS), []
        match step_for(item):
            case "keep":
                return kept_here(item)
            case "replace" if item.target_id is not None:
                row = await preset_for(session, job.viewer, item.target_id, lock=True)
                replace_preset(job.runtime, row, prepared.document)
            case _:
                row = await store_preset(
                    job.runtime, session, job.viewer.user_id, prepared.kind, name, prepared.document
                )
                if row.name != name:
                    told.append(_("Another preset has this name, so it is called “{name}” here.", name=row.name))
        return imported(item, "preset", row.id, converted=prepared.notes, notes=told)


HANDLERS: Mapping[FileKind, ItemHandler] = {"preset": PresetHandler()}


async def preset_of(session: AsyncSession, job: ImportJob, kind: str, name: str) -> Preset | None:
    """The preset that a file of this source became, by its kind and the name of the file."""
    for ending in ("json", "settings"):
        found = await job.target_of(session, f"{FOLDERS[kind]}/{name}.{ending}")
        row = None if found is None else await session.get(Preset, found)
        if row is not None and row.kind == kind and row.trashed_at is None:
            return row
    return None


async def preset_bytes(runtime: Runtime, session: AsyncSession, preset_id: UUID) -> bytes:
    """A preset as SillyTavern's file."""
    row = await session.get_one(Preset, preset_id)
    return to_json(row.data, indent=4).encode("utf-8", "replace")
