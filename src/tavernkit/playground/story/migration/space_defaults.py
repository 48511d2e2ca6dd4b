"""What new spaces of an import begin with: the settings of a folder count in all of its chats, and here each space has
its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID, uuid5

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import Character, Preset, Space
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.access.personas import connected_persona
from tavernkit.playground.story.migration.items import ImportJob
from tavernkit.playground.story.migration.known_settings import (
    TEXT_APIS,
    FolderSettings,
    known_settings,
    valid,
)
from tavernkit.playground.story.migration.personas import persona_of
from tavernkit.playground.story.migration.pictures import background_blob
from tavernkit.playground.story.migration.presets import preset_of
from tavernkit.playground.story.presets.queries import KINDS, original_of
from tavernkit.playground.story.presets.service import replace_preset, store_preset
from tavernkit.playground.story.settings_schema.resolving import apply_changes, read_patch
from tavernkit.reading import ReportBuilder
from tavernkit.sillytavern import AuthorsNote
from tavernkit.sillytavern.presets.fields import decode
from tavernkit.values import Json, JsonObject, Value

_SETTINGS: Mapping[str, tuple[str, str]] = {
    "chat": ("preset_id", "openai"),
    "text": ("preset_id", "textgenerationwebui"),
    "instruct": ("instruct_id", "instruct"),
    "context": ("context_id", "context"),
    "system_prompt": ("system_prompt_id", "sysprompt"),
    "reasoning": ("reasoning_id", "reasoning"),
}
"""Which setting of a space names a preset of each kind, and what SillyTavern calls the kind."""
CALLED: Mapping[str, str] = {kind: called for kind, (_setting, called) in _SETTINGS.items()}
OF_THE_COPY = frozenset({"name", "preset", "enabled", "bind_to_context"})
"""What only the copy of a template in the settings says."""


class SpaceDefaults(Value, frozen=True, kw_only=True):
    """What a new space begins with: a patch of its settings, its background, and who its owner is in it. Where there is
    no persona, `user_name` is what the owner is called."""

    patch: Mapping[str, Mapping[str, Json]] = {}
    background_sha256: str | None = None
    persona_id: UUID | None = None
    user_name: str = ""

    def apply(self, space: Space) -> None:
        """Give a new space its settings and its background."""
        apply_changes(space, read_patch(self.patch, "space"))
        space.background_sha256 = self.background_sha256


async def space_defaults(session: AsyncSession, job: ImportJob, character_path: str = "") -> SpaceDefaults:
    """What a space for chats of this source begins with; with one character, also what is the character's own.

    The background is stored in this transaction, which must refer to it.
    """
    settings = await known_settings(session, job)
    if settings is None:
        return SpaceDefaults()
    note = settings.file.note or AuthorsNote()
    named = await presets_in_use(session, job, settings)
    patch = {
        **settings.patch,
        "model": {_SETTINGS[kind][0]: str(id) for kind, id in named.items()},
        "authors_note": valid("authors_note", {name: getattr(note, name) for name in note.__struct_fields__})
        | _note_of(settings, character_path),
    }
    connected = await _connected(session, job, character_path)
    in_use = None if connected else await persona_of(session, job, settings.file.user_avatar)
    return SpaceDefaults(
        patch={group: fields for group, fields in patch.items() if fields},
        background_sha256=await background_blob(session, job, settings.file.background),
        persona_id=connected if in_use is None else in_use.id,
        user_name=titled(settings.file.user_name, ""),
    )


async def member_defaults(session: AsyncSession, job: ImportJob, character_path: str) -> JsonObject:
    """What a character of a group begins with: a patch of the settings of its membership."""
    settings = await known_settings(session, job)
    note = {} if settings is None else _note_of(settings, character_path)
    return {"authors_note": note} if note else {}


def live_preset_ids(source_id: UUID) -> dict[str, UUID]:
    """By kind, the ids of presets that are made of a copy in the settings which differs from the preset's file."""
    return {kind: uuid5(source_id, f"settings.json/{kind}") for kind in _SETTINGS}


async def store_presets_in_use(session: AsyncSession, job: ImportJob, settings: FolderSettings) -> dict[str, Preset]:
    """Make presets of the copies in the settings that differ from their files; all presets in use, by their kinds."""
    found: dict[str, Preset] = {}
    for kind in _kinds_in_use(settings):
        name, document = _selected(settings, kind)
        named = await preset_of(session, job, kind, name)
        if named is not None and not await _differs(session, kind, named, document):
            found[kind] = named
        elif document:
            found[kind] = await _store_live(session, job, kind, name, document)
    job.cache["presets in use"] = {kind: row.id for kind, row in found.items()}
    return found


async def presets_in_use(session: AsyncSession, job: ImportJob, settings: FolderSettings) -> Mapping[str, UUID]:
    """The ids of the presets in use, by their kinds."""
    if "presets in use" not in job.cache:
        ids: dict[str, UUID] = {}
        for kind in _kinds_in_use(settings):
            name, document = _selected(settings, kind)
            live = await session.get(Preset, live_preset_ids(job.source_id)[kind])
            named = await preset_of(session, job, kind, name)
            if named is not None and await _differs(session, kind, named, document):
                named = live or named
            if (row := named or live) is not None:
                ids[kind] = row.id
        job.cache["presets in use"] = ids
    found: Mapping[str, UUID] = job.cache["presets in use"]
    return found


def _kinds_in_use(settings: FolderSettings) -> list[str]:
    """Chat completion has a preset; text completion has one and templates. A template may be switched off."""
    api = settings.file.main_api
    kinds = ["reasoning", "context", "instruct", "system_prompt"] if api in TEXT_APIS else ["reasoning", "chat"]
    if api == "textgenerationwebui":
        kinds.append("text")
    copies = {kind: settings.live.get(_SETTINGS[kind][1], {}) for kind in kinds}
    return [kind for kind, copy in copies.items() if copy and copy.get("enabled") is not False]


def _selected(settings: FolderSettings, kind: str) -> tuple[str, dict[str, Json]]:
    """The name of the preset in use, and its copy in the settings as a file: with the fields that such files have."""
    called = _SETTINGS[kind][1]
    read = decode(KINDS[kind], settings.live[called], ReportBuilder())
    document = {key: value for key, value in (read.spelling or {}).items() if key not in OF_THE_COPY}
    return settings.file.presets.get(called, ""), document


async def _differs(session: AsyncSession, kind: str, row: Preset, live: JsonObject) -> bool:
    """Whether the settings say something else than the file of the preset, in fields that both have."""
    model = KINDS[kind]
    original = await original_of(session, row) or row.data
    in_file, in_settings = (decode(model, source, ReportBuilder()) for source in (original, live))
    both = model.modernised(original).keys() & model.modernised(live).keys() & {*model.__struct_fields__}
    return any(getattr(in_file, name) != getattr(in_settings, name) for name in both - OF_THE_COPY)


async def _store_live(session: AsyncSession, job: ImportJob, kind: str, name: str, document: dict[str, Json]) -> Preset:
    id = live_preset_ids(job.source_id)[kind]
    row = await session.get(Preset, id)
    if row is None:
        called = f"{name[:180]} (settings.json)" if name else "settings.json"
        return await store_preset(job.runtime, session, job.viewer.user_id, kind, called, document, id=id)
    original = await original_of(session, row)
    if row.data == original and document != original:
        replace_preset(job.runtime, row, document)
    return row


def _note_of(settings: FolderSettings, character_path: str) -> dict[str, Json]:
    note = settings.file.character_notes.get(PurePosixPath(character_path).stem) if character_path else None
    if note is None or not note.text:
        return {}
    fields: dict[str, Any] = {"character_text": note.text, "character_placement": note.placement.name.lower()}
    return valid("authors_note", fields)


async def _connected(session: AsyncSession, job: ImportJob, character_path: str) -> UUID | None:
    """The persona that a character selects."""
    id = await job.target_of(session, character_path) if character_path else None
    row = None if id is None else await session.get(Character, id)
    return None if row is None else await connected_persona(session, job.viewer.user_id, [row])
