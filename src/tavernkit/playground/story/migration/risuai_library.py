"""Modules, presets, personas and settings of RisuAI."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.blobs.store import NewBlob
from tavernkit.playground.base.database.models import Persona
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.storable import presentable, storable, titled
from tavernkit.playground.story.migration.items import ImportJob, Item, ItemOutcome
from tavernkit.playground.story.migration.outcomes import imported, kept_here, notes_of, some, step_for
from tavernkit.playground.story.migration.risuai_source import (
    asset_bytes,
    loose,
    read_part,
    selected_target,
)
from tavernkit.playground.story.paths.variables import (
    GlobalChanges,
    change_globals,
    check_variable,
    lock_globals,
    read_globals,
)
from tavernkit.playground.story.personas.queries import all_personas, persona_for
from tavernkit.playground.story.personas.service import (
    NAMELESS,
    add_persona,
    lock_owner,
    read_thumbnail,
    replace_picture,
)
from tavernkit.playground.story.presets.queries import (
    MODULE,
    RISUAI,
    decode_preset,
    default_preset_id,
    free_name,
    kind_of,
    preset_for,
    read_file,
)
from tavernkit.playground.story.presets.service import MAX_FILE_BYTES, replace_preset, store_default, store_preset
from tavernkit.playground.story.presets.service import NAMELESS as NAMELESS_PRESET
from tavernkit.playground.story.scripts.documents import DISABLED, MAX_SCRIPTS, Fields
from tavernkit.playground.story.scripts.service import change_list
from tavernkit.values import Json, JsonObject, Value

PROGRAMS: Mapping[str, str] = {
    "cjs": _("a script"),
    "mcp": _("the address of a tool server"),
    "backgroundEmbedding": _("HTML"),
}
"""Fields of modules that nothing here runs or fetches."""
UNUSED = (
    "plugins",
    "pluginV2",
    "pluginCustomStorage",
    "customCSS",
    "guiHTML",
    "customBackground",
    "hypaV3Presets",
    "loreBook",
    "characterOrder",
)
"""Fields of the database that are the person's own and have no use here."""


class AssetHandler:
    """Files that characters, personas and others refer to, who store them where they have a use for them."""

    def prepare(self, job: ImportJob, item: Item, data: bytes) -> None:
        """There is nothing to be read."""

    async def store(self, session: AsyncSession, job: ImportJob, item: Item, prepared: None) -> ItemOutcome:
        return ItemOutcome(verdict="exact")


class PreparedRisuPreset(Value, frozen=True, kw_only=True):
    """A preset or a module, what of it makes no sense, and what of it has no use here."""

    kind: str
    name: str
    document: dict[str, Json]
    converted: tuple[str, ...]
    notes: tuple[str, ...]


class RisuPresetHandler:
    """Presets and modules, of a database or in files of their own."""

    def prepare(self, job: ImportJob, item: Item, data: bytes) -> PreparedRisuPreset:
        if len(data) > MAX_FILE_BYTES and not item.detail:
            size, limit = len(data), MAX_FILE_BYTES
            sentence = _("The file is too large: {size} bytes. The limit is {limit} bytes.", size=size, limit=limit)
            raise Refused("too_long", sentence)
        if item.detail:  # a file by itself, in a format of its own
            preset, report, document = read_file(data)
            kind = kind_of(preset)
        else:
            kind = MODULE if item.kind == "risuai_module" else RISUAI
            document = presentable(read_part(data, item.path))
            report = decode_preset(kind, document)[1]
        name = document.get("name")
        return PreparedRisuPreset(
            kind=kind,
            name=name if isinstance(name, str) else "",
            document=document,
            converted=tuple(notes_of(report)),
            notes=_unused_in_module(document) if kind == MODULE else (),
        )

    async def store(
        self, session: AsyncSession, job: ImportJob, item: Item, prepared: PreparedRisuPreset
    ) -> ItemOutcome:
        match step_for(item):
            case "keep":
                return kept_here(item)
            case "replace" if item.target_id is not None:
                row = await preset_for(session, job.viewer, item.target_id, lock=True)
                replace_preset(job.runtime, row, prepared.document)
                # Presets of RisuAI have no ids, so that another one may have come into this place.
                if prepared.name and titled(prepared.name, NAMELESS_PRESET) != row.name:
                    row.name = await free_name(session, row.owner_id, row.kind, titled(prepared.name, NAMELESS_PRESET))
            case _:
                row = await store_preset(
                    job.runtime, session, job.viewer.user_id, prepared.kind, prepared.name, prepared.document
                )
        return imported(item, "preset", row.id, converted=prepared.converted, notes=prepared.notes)


def _unused_in_module(document: JsonObject) -> tuple[str, ...]:
    programs = [str(label) for key, label in PROGRAMS.items() if document.get(key)]
    notes = [_("Kept and never run: {names}.", names=some(programs))] if programs else []
    if document.get("assets"):
        notes.append(_("Its files are kept. Modules have no files here."))
    return tuple(notes)


class PreparedPersona(Value, frozen=True, kw_only=True):
    """A persona; `notes` say what of it could not be taken over."""

    name: str
    description: str
    picture: NewBlob | None
    notes: tuple[str, ...]


class PersonaHandler:
    """Personas, each with its picture."""

    def prepare(self, job: ImportJob, item: Item, data: bytes) -> PreparedPersona:
        source = loose(read_part(data, item.path))
        icon, notes, picture = source.text("icon"), [], None
        found = asset_bytes(job, icon) if icon else None
        if found is not None:
            try:
                picture = read_thumbnail(found)
            except Refused as refused:
                notes.append(_("Its picture was skipped. {reason}", reason=refused.sentence))
        elif icon:
            notes.append(_("Its picture is missing: {path}.", path=storable(icon)[:200]))
        return PreparedPersona(
            name=titled(source.text("name"), NAMELESS),
            description=storable(source.text("personaPrompt")),
            picture=picture,
            notes=tuple(notes),
        )

    async def store(self, session: AsyncSession, job: ImportJob, item: Item, prepared: PreparedPersona) -> ItemOutcome:
        await lock_owner(session, job.viewer)
        match step_for(item):
            case "keep":
                return kept_here(item)
            case "replace" if item.target_id is not None:
                row = await persona_for(session, job.viewer, item.target_id, lock=True)
                row.name, row.description = prepared.name, prepared.description
                row.settings_version += 1
            case _:
                fields: dict[str, Any] = {"name": prepared.name, "description": prepared.description}
                row = await add_persona(job.runtime, session, job.viewer, **fields)
        if prepared.picture is not None or row.avatar_sha256 is not None:
            await replace_picture(job.runtime, session, row, prepared.picture)
        return imported(item, "persona", row.id, converted=prepared.notes)


class RootHandler:
    """What the database says beside its parts: which preset and persona are selected, variables, scripts."""

    def prepare(self, job: ImportJob, item: Item, data: bytes) -> dict[str, Json]:
        return read_part(data, item.path)

    async def store(self, session: AsyncSession, job: ImportJob, item: Item, prepared: dict[str, Json]) -> ItemOutcome:
        await lock_owner(session, job.viewer)
        notes = [
            *await _select_persona(session, job, prepared),
            *await _select_preset(session, job, prepared),
            *await _set_variables(session, job, item, prepared),
            *await _add_scripts(session, job, prepared),
        ]
        unused = [name for name in UNUSED if prepared.get(name)]
        if unused:
            notes.append(_("Kept, with no use here: {names}.", names=some(unused, len(unused))))
        return ItemOutcome(
            verdict="converted", target_kind="settings", target_id=job.viewer.user_id, notes=tuple(map(str, notes))
        )


async def _select_persona(session: AsyncSession, job: ImportJob, root: JsonObject) -> list[str]:
    """Make the selected persona the default, where there is none."""
    id = await selected_target(session, job, root, "personas", "selectedPersona")
    row = None if id is None else await session.get(Persona, id)
    if row is None or row.is_default or row.trashed_at is not None:
        return []
    known = next((one for one in await all_personas(session, job.viewer.user_id) if one.is_default), None)
    if known is not None:
        return [_("“{name}” does not become the default, because “{default}” is.", name=row.name, default=known.name)]
    row.is_default = True
    return []


async def _select_preset(session: AsyncSession, job: ImportJob, root: JsonObject) -> list[str]:
    """Make the selected preset the default, where there is none."""
    id = await selected_target(session, job, root, "botPresets", "botPresetsId")
    if id is not None and await default_preset_id(session, job.viewer.user_id) is None:
        await store_default(job.runtime, session, job.viewer.user_id, id)
    return []


async def _set_variables(session: AsyncSession, job: ImportJob, item: Item, root: JsonObject) -> list[str]:
    """Set the variables that are not here yet, or all where those of the file are to count."""
    user_id = job.viewer.user_id
    await lock_globals(session, user_id)
    known = await read_globals(session, user_id)
    new: dict[str, Json] = {}
    for name, value in loose(root).object("globalChatVariables").items():
        with suppress(Refused):
            check_variable(name, value)
            if name not in known or (item.conflict == "replace" and known[name] != value):
                new[name] = presentable(value)
    await change_globals(session, user_id, GlobalChanges(set=new), job.now)
    return []


async def _add_scripts(session: AsyncSession, job: ImportJob, root: JsonObject) -> list[str]:
    """Add the scripts for all chats that are not there yet; switched off, unless somebody has chosen otherwise."""
    scripts = [presentable(dict(one.source)) for one in loose(root).objects("globalscript")]
    if not scripts:
        return []

    def change(listed: list[Fields]) -> list[Fields]:
        known = [_without_type(one) for one in listed]
        new = [one for one in scripts if _without_type(one) not in known]
        off = new if job.choices.enable_scripts else [{**one, "type": DISABLED} for one in new]
        return [*listed, *off][:MAX_SCRIPTS]

    await change_list(session, job.runtime, {"owner_id": job.viewer.user_id}, "risuai", change)
    if job.choices.enable_scripts:
        return []
    return [_("Regex scripts for all chats were added and are switched off.")]


def _without_type(script: Mapping[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in script.items() if key != "type"}
