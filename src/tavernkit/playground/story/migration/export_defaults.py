"""What the settings of an export say about new chats: the preset that is selected, and the notes of characters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.migration.json_edit import JsonPath
from tavernkit.playground.base.database.models import Preset, Space, SpaceMembership
from tavernkit.playground.story.migration.export_paths import stem_of
from tavernkit.playground.story.migration.export_plan import ExportPlan, PlannedSpace
from tavernkit.playground.story.migration.known_settings import LIVE, FolderSettings
from tavernkit.playground.story.migration.space_defaults import CALLED, OF_THE_COPY
from tavernkit.playground.story.presets.queries import KINDS, default_preset_id
from tavernkit.playground.story.settings_schema.resolving import Layered, document_of
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.sillytavern import CharacterNote, NotePlacement
from tavernkit.values import Json

NOTES: JsonPath = ("extension_settings", "note", "chara")
_NAMES: Mapping[str, str] = {
    "openai": "preset_settings_openai",
    "sysprompt": "name",
    "reasoning": "name",
    **dict.fromkeys(("textgenerationwebui", "instruct", "context"), "preset"),
}
"""Under which key the copy of a preset in the settings has its name, by what SillyTavern calls the kind."""


async def preset_changes(
    session: AsyncSession, plan: ExportPlan, owner_id: UUID, before: FolderSettings, *, keeps_all: bool
) -> dict[JsonPath, Json]:
    """Select the person's default preset, where the settings select another one of its kind: its name, and what it says
    of what the settings have a copy of. With `keeps_all`, a preset that they select stays so."""
    id = await default_preset_id(session, owner_id)
    path = None if id is None else plan.paths.get(("preset", id))
    if id is None or path is None or plan.preset_kinds[id] not in CALLED:
        return {}
    row = await session.get_one(Preset, id)
    called, model = CALLED[row.kind], KINDS[row.kind]
    selected = before.file.presets.get(called, "")
    if stem_of(path) == selected or (selected and keeps_all):
        return {}
    data = model.modernised(row.data)
    changes: dict[JsonPath, Json] = {(*LIVE[called], _NAMES[called]): stem_of(path)}
    for key, value in before.live.get(called, {}).items():
        name = model.OLD_NAMES.get(key, key)
        if name in model.__struct_fields__ and name not in OF_THE_COPY and _is_alike(value, data.get(name)):
            changes[*LIVE[called], key] = data[name]
    return changes


def _is_alike(before: Json, now: Json) -> bool:
    """Whether a value can stand in the place of another one: an old field may have been of another type."""
    is_number = [isinstance(value, int | float) and not isinstance(value, bool) for value in (before, now)]
    return now is not None and (all(is_number) or type(before) is type(now))


async def note_changes(
    session: AsyncSession, plan: ExportPlan, owner_id: UUID, before: FolderSettings, document: LooseObject
) -> dict[JsonPath, Json]:
    """The notes of characters that were written, changed or removed here; of several, that of the newest space."""
    listed = document.nested("extension_settings").nested("note")
    places = {one.text("name"): place for place, one in enumerate(listed.objects("chara"))}
    changes: dict[JsonPath, Json] = {}
    new: list[Json] = []
    for id, note in (await _notes_here(session, plan, owner_id)).items():
        name = stem_of(plan.avatar(id) or "")
        known = before.file.character_notes.get(name)
        if note == known or not name:
            continue
        fields: dict[str, Json] = {"useChara": note is not None}
        if note is not None:
            fields |= {"prompt": note.text, "position": int(note.placement)}
        if name in places:
            changes |= {(*NOTES, places[name], key): value for key, value in fields.items()}
        else:
            new.append({"name": name, **fields})
    if "chara" in listed.source:
        return changes | {(*NOTES, place): one for place, one in enumerate(new, start=len(listed.items("chara")))}
    return {NOTES: new} if new else {}


async def _notes_here(session: AsyncSession, plan: ExportPlan, owner_id: UUID) -> dict[UUID, CharacterNote | None]:
    """The notes that characters have in spaces that were made or changed here. None is a note that was removed: a space
    of the source has none any more, and neither has any other."""
    spaces = {space.id: space for space in plan.spaces}
    members = await session.stream(
        select(Space, SpaceMembership)
        .join(SpaceMembership, SpaceMembership.space_id == Space.id)
        .where(Space.owner_id == owner_id, SpaceMembership.kind == "character", SpaceMembership.status == "active")
        .order_by(Space.updated_at, Space.id)
    )
    notes: dict[UUID, CharacterNote | None] = {}
    noted, bare = set[UUID](), set[UUID]()
    async for space, member in members:
        planned = spaces.get(space.id)
        if planned is None or member.character_id is None:
            continue
        # In a group, each has a note of its own.
        rows: list[Layered] = [member] if planned.is_group else [member, space]
        is_of_source = _is_of_source(plan, planned)
        is_changed = not is_of_source or any(row.settings_version for row in rows)
        note = next(_notes_of(rows), None)
        if note is not None:
            noted.add(member.character_id)
        if is_changed and note is not None:
            notes[member.character_id] = note
        elif is_changed and is_of_source:
            bare.add(member.character_id)
    return notes | dict.fromkeys(bare - noted)


def _is_of_source(plan: ExportPlan, space: PlannedSpace) -> bool:
    chats = any(("conversation", chat.id) in plan.imported for chat in space.conversations)
    return chats or ("space", space.id) in plan.imported


def _notes_of(rows: list[Layered]) -> Iterator[CharacterNote]:
    for row in rows:
        note = LooseObject(document_of(row), ReportBuilder()).nested("authors_note")
        if text := note.text("character_text"):
            place = note.text("character_placement", default="replace").upper()
            yield CharacterNote(text=text, placement=NotePlacement[place])
