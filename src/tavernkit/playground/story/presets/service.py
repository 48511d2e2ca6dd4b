"""What a person does with presets, and with the prompts of a chat preset.

One that is everybody's is changed by administrators alone; others who change it get a copy of their own, changed. As in
SillyTavern, the order of prompts that counts is the one for all characters, and without one the default order. A prompt
that is not in it is kept, but not sent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from uuid import UUID

import msgspec
from anyio import to_thread
from sqlalchemy import delete
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Preset, SiteSetting
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import listed, ngettext, sentence_of
from tavernkit.playground.base.refused import Refused, existing, not_found, stale
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import presentable, storable, titled
from tavernkit.playground.story.presets.documents import (
    NewPreset,
    NewPrompt,
    OrderPrompts,
    PatchPreset,
    PatchPrompt,
    PresetOut,
)
from tavernkit.playground.story.presets.queries import (
    blank_preset,
    decode_preset,
    default_key,
    default_preset_id,
    free_name,
    is_name_taken,
    kind_of,
    places_of,
    preset_for,
    read_file,
)
from tavernkit.reading import ImportReport
from tavernkit.sillytavern.chat_completion.entries import prompt_order
from tavernkit.sillytavern.presets import ChatPreset, PresetPrompt, PromptOrder, PromptToggle, write_preset
from tavernkit.values import Json, JsonObject

EVERY_CHARACTER = 100001
MAX_PROMPTS = 1000


def listed_prompts(preset: ChatPreset) -> list[tuple[PresetPrompt, bool | None]]:
    """The prompts that are in the order, in it, each with whether it is sent; then the others, with None."""
    prompts = {prompt.identifier: prompt for prompt in preset.prompts}
    ordered = [
        (prompts[toggle.identifier], toggle.enabled) for toggle in prompt_order(preset) if toggle.identifier in prompts
    ]
    placed = {prompt.identifier for prompt, _ in ordered}
    return [*ordered, *((prompt, None) for prompt in preset.prompts if prompt.identifier not in placed)]


def with_prompt(preset: ChatPreset, prompt: PresetPrompt, *, position: int | None, enabled: bool) -> ChatPreset:
    """Put a new prompt into the order, at the end unless a place is named."""
    if _find(preset, prompt.identifier) is not None:
        raise Refused(
            "taken",
            _(
                "A prompt with the identifier “{identifier}” already exists. Choose another one.",
                identifier=prompt.identifier,
            ),
        )
    if len(preset.prompts) >= MAX_PROMPTS:
        raise Refused("conflict", _("The preset is full. The limit is {limit} prompts.", limit=MAX_PROMPTS))
    order = list(prompt_order(preset))
    order.insert(
        len(order) if position is None else position, PromptToggle(identifier=prompt.identifier, enabled=enabled)
    )
    return _with_order(preset.with_(prompts=(*preset.prompts, prompt)), order)


def with_changed_prompt(
    preset: ChatPreset, identifier: str, fields: dict[str, Json], *, enabled: bool | None
) -> ChatPreset:
    """Change fields of a prompt, and whether it is sent; one that is not in the order joins it at the end."""
    found = existing(_find(preset, identifier), _("prompt"))
    if found.marker and "content" in fields:
        raise Refused(
            "invalid", _("This prompt is a marker. Its text is filled in automatically and cannot be edited.")
        )
    if fields:
        changed = msgspec.structs.replace(found, **fields)
        preset = preset.with_(prompts=tuple(changed if prompt is found else prompt for prompt in preset.prompts))
    if enabled is None:
        return preset
    order = list(prompt_order(preset))
    if all(toggle.identifier != identifier for toggle in order):
        order.append(PromptToggle(identifier=identifier))
    toggled = [toggle.with_(enabled=enabled) if toggle.identifier == identifier else toggle for toggle in order]
    return _with_order(preset, toggled)


def without_prompt(preset: ChatPreset, identifier: str) -> ChatPreset:
    """Take a prompt out of the order, and out of the preset if it is not one of SillyTavern's own."""
    found = existing(_find(preset, identifier), _("prompt"))
    order = [toggle for toggle in prompt_order(preset) if toggle.identifier != identifier]
    if not (found.system_prompt or found.marker):
        preset = preset.with_(prompts=tuple(prompt for prompt in preset.prompts if prompt is not found))
    return _with_order(preset, order)


def with_ordered_prompts(preset: ChatPreset, order: Sequence[tuple[str, bool]]) -> ChatPreset:
    """The new order, with who is sent; prompts that are not named leave it."""
    named = [identifier for identifier, _ in order]
    known = {prompt.identifier for prompt in preset.prompts}
    if len(set(named)) != len(named) or not known.issuperset(named):
        raise Refused("invalid", _("The order names a prompt twice, or one that is not in the preset."))
    before = {toggle.identifier: toggle for toggle in prompt_order(preset)}
    return _with_order(
        preset,
        [
            before.get(identifier, PromptToggle(identifier=identifier)).with_(enabled=enabled)
            for identifier, enabled in order
        ],
    )


def _find(preset: ChatPreset, identifier: str) -> PresetPrompt | None:
    return next((prompt for prompt in preset.prompts if prompt.identifier == identifier), None)


def _with_order(preset: ChatPreset, toggles: Sequence[PromptToggle]) -> ChatPreset:
    order = tuple(toggles)
    if not any(map(_is_for_all, preset.prompt_order)):
        new = PromptOrder(character_id=EVERY_CHARACTER, order=order)
        return preset.with_(prompt_order=(*preset.prompt_order, new))
    return preset.with_(
        prompt_order=tuple(known.with_(order=order) if _is_for_all(known) else known for known in preset.prompt_order)
    )


def _is_for_all(order: PromptOrder) -> bool:
    return str(order.character_id) == str(EVERY_CHARACTER)


MAX_FILE_BYTES = 8 * 1024 * 1024
NAMELESS = "Preset"


async def import_preset(
    runtime: Runtime, viewer: Viewer, file: bytes, *, name: str = ""
) -> tuple[Preset, ImportReport]:
    """A preset or a module from a file of any kind that SillyTavern or RisuAI writes; `name` is for one whose file
    gives none."""
    try:
        preset, report, document = await to_thread.run_sync(read_file, file)
    except TavernKitError as error:
        raise Refused("invalid", _("The file cannot be read: {reason}", reason=sentence_of(error))) from None
    own = document.get("name")
    wanted = titled(own if isinstance(own, str) and own else name, NAMELESS)
    async with runtime.database.write() as session:
        kind = kind_of(preset)
        free = await free_name(session, viewer.user_id, kind, wanted)
        row = _row(runtime, viewer.user_id, kind, free, document)
        session.add(row)
        return row, report


async def create_preset(runtime: Runtime, viewer: Viewer, new: NewPreset) -> Preset:
    """A preset with SillyTavern's defaults, besides what is given."""
    name = titled(new.name, NAMELESS)
    document = {**blank_preset(new.kind), **presentable(new.data)}
    if "name" in document:
        document["name"] = name
    _check_document(new.kind, document, changed=new.data)
    async with runtime.database.write() as session:
        if await is_name_taken(session, viewer.user_id, new.kind, name):
            raise _taken(name)
        row = _row(runtime, viewer.user_id, new.kind, name, document)
        row.description = storable(new.description)
        session.add(row)
        return row


async def duplicate_preset(runtime: Runtime, viewer: Viewer, preset_id: UUID) -> Preset:
    """A copy of one's own."""
    async with runtime.database.write() as session:
        row = await preset_for(session, viewer, preset_id)
        return await _copy(runtime, session, viewer, row, f"{row.name[:190]} (copy)", row.data)


async def update_preset(runtime: Runtime, viewer: Viewer, preset_id: UUID, patch: PatchPreset) -> Preset:
    """Rename a preset, describe it, change fields of its file."""
    async with runtime.database.write() as session:
        row = await _as_read(session, viewer, preset_id, patch.settings_version)
        name = row.name if patch.name is None else titled(patch.name, NAMELESS)
        owner_id = viewer.user_id if _is_copied(row, viewer) else row.owner_id
        if name != row.name and await is_name_taken(session, owner_id, row.kind, name):
            raise _taken(name)
        document = {**row.data, **presentable(patch.data)}
        _check_document(row.kind, document, changed=patch.data)
        target = await _change(runtime, session, viewer, row, document, name=name)
        if patch.description is not None:
            target.description = storable(patch.description)
        return target


async def delete_preset(runtime: Runtime, viewer: Viewer, preset_id: UUID) -> None:
    """Delete a preset that is used nowhere."""
    async with runtime.database.write() as session:
        row = await preset_for(session, viewer, preset_id, lock=True)
        if row.owner_id is None and not viewer.is_administrator:
            raise Refused("forbidden", _("This preset is shared. Only administrators can delete it."))
        spaces = await places_of(session, row.id)
        if spaces:
            own = [f"“{space.name}”" for space in spaces if space.owner_id == viewer.user_id][:3]
            more = len(spaces) - len(own)
            others = ngettext("{count} other space", "{count} other spaces", more)
            where = listed([*own, others] if more else own)
            raise Refused("conflict", _("The preset is used in {spaces}. Choose another preset there.", spaces=where))
        if await default_preset_id(session, viewer.user_id) == row.id:
            raise Refused("conflict", _("The preset is your default. Choose another default first."))
        await session.execute(delete(Preset).where(Preset.id == row.id))


async def set_default_preset(runtime: Runtime, viewer: Viewer, preset_id: UUID | None) -> UUID | None:
    """Which preset the person's new spaces use."""
    async with runtime.database.write() as session:
        if preset_id is not None:
            await preset_for(session, viewer, preset_id)
        value: dict[str, Json] = {"value": None if preset_id is None else str(preset_id)}
        await session.merge(SiteSetting(key=default_key(viewer.user_id), value=value, updated_at=runtime.clock()))
        return preset_id


async def add_prompt(runtime: Runtime, viewer: Viewer, preset_id: UUID, new: NewPrompt) -> tuple[Preset, ChatPreset]:
    """Put a new prompt into a chat preset."""
    identifier = storable(new.identifier or "") or str(runtime.ids())
    prompt = PresetPrompt(identifier=identifier, **{"name": "", "role": "system", **new.given()})
    change = partial(with_prompt, prompt=prompt, position=new.position, enabled=new.enabled)
    return await _edit(runtime, viewer, preset_id, new.settings_version, change)


async def change_prompt(
    runtime: Runtime, viewer: Viewer, preset_id: UUID, identifier: str, patch: PatchPrompt
) -> tuple[Preset, ChatPreset]:
    """Change a prompt of a chat preset, or switch it on or off."""
    fields, enabled = patch.given(), patch.enabled
    change = partial(with_changed_prompt, identifier=identifier, fields=fields, enabled=enabled)
    return await _edit(runtime, viewer, preset_id, patch.settings_version, change)


async def remove_prompt(
    runtime: Runtime, viewer: Viewer, preset_id: UUID, identifier: str, settings_version: int
) -> tuple[Preset, ChatPreset]:
    """Take a prompt out of a chat preset."""
    change = partial(without_prompt, identifier=identifier)
    return await _edit(runtime, viewer, preset_id, settings_version, change)


async def order_prompts(
    runtime: Runtime, viewer: Viewer, preset_id: UUID, new: OrderPrompts
) -> tuple[Preset, ChatPreset]:
    """Put the prompts of a chat preset into an order, each switched on or off."""
    order = [(place.identifier, place.enabled) for place in new.order]
    change = partial(with_ordered_prompts, order=order)
    return await _edit(runtime, viewer, preset_id, new.settings_version, change)


async def _edit(
    runtime: Runtime,
    viewer: Viewer,
    preset_id: UUID,
    settings_version: int,
    change: Callable[[ChatPreset], ChatPreset],
) -> tuple[Preset, ChatPreset]:
    async with runtime.database.write() as session:
        row = await _as_read(session, viewer, preset_id, settings_version)
        preset = decode_preset(row.kind, row.data)[0]
        if not isinstance(preset, ChatPreset):
            raise not_found(_("prompt"))
        changed = change(preset)
        written = write_preset(changed)
        # Fields keep their places in the file.
        document = {key: written[key] for key in row.data if key in written} | written
        _check_size(document)
        return await _change(runtime, session, viewer, row, document, name=row.name), changed


async def _as_read(session: AsyncSession, viewer: Viewer, preset_id: UUID, settings_version: int) -> Preset:
    """The preset, locked, if nobody has changed it since."""
    row = await preset_for(session, viewer, preset_id, lock=True)
    if row.settings_version != settings_version:
        raise stale(_("preset"), PresetOut.of(row))
    return row


async def _change(
    runtime: Runtime, session: AsyncSession, viewer: Viewer, row: Preset, document: dict[str, Json], *, name: str
) -> Preset:
    """Write what was changed: into the preset, or into the copy that a person gets of one that is everybody's."""
    if _is_copied(row, viewer):
        return await _copy(runtime, session, viewer, row, name, document)
    row.data = {**document, "name": name} if name != row.name and "name" in document else document
    row.name, row.updated_at = name, runtime.clock()
    row.settings_version += 1
    return row


def _is_copied(row: Preset, viewer: Viewer) -> bool:
    return row.owner_id is None and not viewer.is_administrator


async def _copy(
    runtime: Runtime, session: AsyncSession, viewer: Viewer, row: Preset, name: str, document: dict[str, Json]
) -> Preset:
    free = await free_name(session, viewer.user_id, row.kind, name)
    data = {**document, "name": free} if "name" in document else document
    copy = _row(runtime, viewer.user_id, row.kind, free, data)
    copy.description = row.description
    session.add(copy)
    return copy


def _check_document(kind: str, document: JsonObject, *, changed: JsonObject) -> None:
    """Refuse what makes no sense in fields that somebody has just written."""
    _check_size(document)
    for note in decode_preset(kind, document)[1].ignored:
        if note.path.split(".")[0].split("[")[0] in changed:
            raise Refused(
                "invalid", _("The field {field} is not valid: {reason}.", field=note.path, reason=note.message)
            )


def _check_size(document: JsonObject) -> None:
    size = len(json.dumps(document))
    if size > MAX_FILE_BYTES:
        raise Refused(
            "too_long", _("The preset has {size} characters. The limit is {limit}.", size=size, limit=MAX_FILE_BYTES)
        )


def _taken(name: str) -> Refused:
    return Refused("taken", _("A preset of this kind named “{name}” already exists. Choose another name.", name=name))


def _row(runtime: Runtime, owner_id: UUID | None, kind: str, name: str, data: dict[str, Any]) -> Preset:
    now = runtime.clock()
    return Preset(
        id=runtime.ids(),
        owner_id=owner_id,
        kind=kind,
        name=name,
        data=data,
        created_at=now,
        updated_at=now,
    )
