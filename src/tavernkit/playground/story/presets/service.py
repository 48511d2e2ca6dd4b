"""What a person does with presets, with the prompts of a chat preset and with the cards of RisuAI's.

One that is shared is changed by its owner alone, one that is everybody's by administrators; others who change it get a
copy of their own, changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from anyio import to_thread
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Preset, SiteSetting
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import listed, ngettext, sentence_of
from tavernkit.playground.base.refused import Refused, existing, not_found, stale
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import presentable, storable, titled
from tavernkit.playground.story.access.access import may_edit
from tavernkit.playground.story.access.sharing import is_allowed_in
from tavernkit.playground.story.presets.blank import blank_preset, plain_preset
from tavernkit.playground.story.presets.cards import with_card, with_changed_card, with_moved_card, without_card
from tavernkit.playground.story.presets.documents import (
    DifferenceOut,
    NewPreset,
    NewPrompt,
    OrderPrompts,
    OriginalOut,
    PatchPreset,
    PatchPrompt,
    PresetOut,
    RestoreField,
)
from tavernkit.playground.story.presets.originals import differences, restored
from tavernkit.playground.story.presets.prompts import (
    EVERY_CHARACTER,
    with_built_in_text,
    with_changed_prompt,
    with_ordered_prompts,
    with_prompt,
    with_written_prompt,
    without_order,
    without_prompt,
)
from tavernkit.playground.story.presets.queries import (
    KINDS,
    decode_preset,
    default_key,
    default_preset_id,
    free_name,
    is_name_taken,
    kind_of,
    original_of,
    places_of,
    preset_for,
    read_file,
)
from tavernkit.playground.story.retention import time_in_trash
from tavernkit.reading import ImportReport, ReportBuilder
from tavernkit.risuai.settings import PromptCard, RisuSettings, write_settings
from tavernkit.sillytavern.presets import ChatPreset, PresetPrompt, write_preset
from tavernkit.sillytavern.presets.fields import decode
from tavernkit.values import Json, JsonObject

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
        return await store_preset(runtime, session, viewer.user_id, kind_of(preset), wanted, document), report


async def store_preset(
    runtime: Runtime,
    session: AsyncSession,
    owner_id: UUID,
    kind: str,
    name: str,
    document: dict[str, Json],
    *,
    id: UUID | None = None,
) -> Preset:
    """Write an imported preset into this transaction, under its name or a free one like it."""
    row = _row(runtime, owner_id, kind, await free_name(session, owner_id, kind, titled(name, NAMELESS)), document)
    row.id, row.original = id or row.id, document
    session.add(row)
    await session.flush()
    return row


def replace_preset(runtime: Runtime, row: Preset, document: dict[str, Json]) -> None:
    """Let a preset, which must be locked, say what another file says; it keeps its name."""
    row.data = row.original = document
    row.settings_version += 1
    row.updated_at = runtime.clock()


async def create_preset(runtime: Runtime, viewer: Viewer, new: NewPreset) -> Preset:
    """A preset with the defaults of its platform, besides what is given; where nothing is, with prompts that work."""
    name = titled(new.name, NAMELESS)
    document = {**plain_preset(new.kind), **presentable(new.data)} if new.data else blank_preset(new.kind)
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
        document = _patched(row.kind, row.data, patch)
        target = await _change(runtime, session, viewer, row, document, name=name)
        if patch.description is not None:
            target.description = storable(patch.description)
        return target


async def delete_preset(runtime: Runtime, viewer: Viewer, preset_id: UUID) -> None:
    """Put a preset that is used nowhere into the trash."""
    async with runtime.database.write() as session:
        row = await preset_for(session, viewer, preset_id, lock=True)
        if not may_edit(row, viewer):
            raise Refused("forbidden", _("This preset is shared. Only its owner can delete it."))
        spaces = [
            space
            for space in await places_of(session, row.id)
            if row.owner_id is None or await is_allowed_in(session, row, space)
        ]
        if spaces:
            own = [f"“{space.name}”" for space in spaces if space.owner_id == viewer.user_id][:3]
            more = len(spaces) - len(own)
            others = ngettext("{count} other space", "{count} other spaces", more)
            where = listed([*own, others] if more else own)
            raise Refused("conflict", _("The preset is used in {spaces}. Choose another preset there.", spaces=where))
        if await default_preset_id(session, viewer.user_id) == row.id:
            raise Refused("conflict", _("The preset is your default. Choose another default first."))
        row.trashed_at = await time_in_trash(session, runtime, viewer)


async def set_default_preset(runtime: Runtime, viewer: Viewer, preset_id: UUID | None) -> UUID | None:
    """Which preset the person's new spaces use."""
    async with runtime.database.write() as session:
        if preset_id is not None:
            await preset_for(session, viewer, preset_id)
        await store_default(runtime, session, viewer.user_id, preset_id)
        return preset_id


async def store_default(runtime: Runtime, session: AsyncSession, user_id: UUID, preset_id: UUID | None) -> None:
    """Write which preset a person's new spaces use into this transaction."""
    value: dict[str, Json] = {"value": None if preset_id is None else str(preset_id)}
    await session.merge(SiteSetting(key=default_key(user_id), value=value, updated_at=runtime.clock()))


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
    change = partial(
        with_changed_prompt,
        identifier=identifier,
        fields=patch.given(),
        enabled=patch.enabled,
        character_id=patch.character_id,
    )
    return await _edit(runtime, viewer, preset_id, patch.settings_version, change)


async def write_prompt(
    runtime: Runtime,
    viewer: Viewer,
    preset_id: UUID,
    identifier: str,
    settings_version: int,
    *,
    changed: JsonObject,
    removed: Sequence[str],
    is_sent: bool | None,
    character_id: str = EVERY_CHARACTER,
) -> tuple[Preset, ChatPreset]:
    """Change a prompt as its file has it; `is_sent` is None for one that is to be in no place of the order."""
    change = partial(
        with_written_prompt,
        identifier=identifier,
        changed=presentable(changed),
        removed=removed,
        is_sent=is_sent,
        character_id=character_id,
    )
    return await _edit(runtime, viewer, preset_id, settings_version, change)


async def reset_prompt(
    runtime: Runtime, viewer: Viewer, preset_id: UUID, identifier: str, settings_version: int
) -> tuple[Preset, ChatPreset]:
    """Give one of SillyTavern's own prompts its built-in text again."""
    change = partial(with_built_in_text, identifier=identifier)
    return await _edit(runtime, viewer, preset_id, settings_version, change)


async def remove_prompt(
    runtime: Runtime,
    viewer: Viewer,
    preset_id: UUID,
    identifier: str,
    settings_version: int,
    *,
    character_id: str = EVERY_CHARACTER,
) -> tuple[Preset, ChatPreset]:
    """Take a prompt out of a chat preset, or out of one character's order."""
    change = partial(without_prompt, identifier=identifier, character_id=character_id)
    return await _edit(runtime, viewer, preset_id, settings_version, change)


async def order_prompts(
    runtime: Runtime, viewer: Viewer, preset_id: UUID, new: OrderPrompts
) -> tuple[Preset, ChatPreset]:
    """Put the prompts of a chat preset into an order, each switched on or off."""
    order = [(place.identifier, place.enabled) for place in new.order]
    change = partial(with_ordered_prompts, order=order, character_id=new.character_id)
    return await _edit(runtime, viewer, preset_id, new.settings_version, change)


async def remove_order(
    runtime: Runtime, viewer: Viewer, preset_id: UUID, character_id: str, settings_version: int
) -> tuple[Preset, ChatPreset]:
    """Delete the order of prompts of one character."""
    change = partial(without_order, character_id=character_id)
    return await _edit(runtime, viewer, preset_id, settings_version, change)


async def add_card(runtime: Runtime, viewer: Viewer, preset_id: UUID, settings_version: int, type: str) -> Preset:
    """Put a new card behind the others of RisuAI's template."""
    return await _edit_cards(
        runtime, viewer, preset_id, settings_version, lambda settings: with_card(settings, PromptCard(type=type))
    )


async def change_card(
    runtime: Runtime,
    viewer: Viewer,
    preset_id: UUID,
    settings_version: int,
    place: int,
    *,
    changed: JsonObject,
    removed: Sequence[str] = (),
) -> Preset:
    """Change a card of RisuAI's template, as its file has it."""
    change = partial(with_changed_card, place=place, changed=presentable(changed), removed=removed)
    return await _edit_cards(runtime, viewer, preset_id, settings_version, change)


async def remove_card(runtime: Runtime, viewer: Viewer, preset_id: UUID, settings_version: int, place: int) -> Preset:
    """Take a card out of RisuAI's template."""
    return await _edit_cards(runtime, viewer, preset_id, settings_version, partial(without_card, place=place))


async def move_card(
    runtime: Runtime, viewer: Viewer, preset_id: UUID, settings_version: int, place: int, to: int
) -> Preset:
    """Take a card of RisuAI's template to another place."""
    change = partial(with_moved_card, place=place, to=to)
    return await _edit_cards(runtime, viewer, preset_id, settings_version, change)


async def compare_preset(runtime: Runtime, viewer: Viewer, preset_id: UUID) -> tuple[Preset, OriginalOut]:
    """A preset, and what of it is not as it was imported."""
    async with runtime.database.read() as session:
        row = await preset_for(session, viewer, preset_id)
        original = await original_of(session, row)
    found = [] if original is None else differences(row.data, original)
    return row, OriginalOut(original=original, differences=[DifferenceOut.of_row(difference) for difference in found])


async def restore_field(runtime: Runtime, viewer: Viewer, preset_id: UUID, restore: RestoreField) -> Preset:
    """Have a field again as it was imported."""
    async with runtime.database.write() as session:
        row = await _as_read(session, viewer, preset_id, restore.settings_version)
        original = existing(await original_of(session, row), _("imported file"))
        document = restored(row.data, original, restore.path)
        return await _change(runtime, session, viewer, row, document, name=row.name)


async def share_preset(runtime: Runtime, viewer: Viewer, preset_id: UUID) -> Preset:
    """Make a preset everybody's; administrators alone can."""
    async with runtime.database.write() as session:
        row = await preset_for(session, viewer, preset_id, lock=True)
        if not viewer.is_administrator or not may_edit(row, viewer):
            raise Refused("forbidden", _("Only administrators can give presets to everybody."))
        if row.owner_id is not None:
            row.name = await free_name(session, None, row.kind, row.name)
            row.owner_id, row.updated_at = None, runtime.clock()
            row.settings_version += 1
        return row


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
        document = _in_old_order(row.data, write_preset(changed))
        _check_size(document)
        return await _change(runtime, session, viewer, row, document, name=row.name), changed


async def _edit_cards(
    runtime: Runtime,
    viewer: Viewer,
    preset_id: UUID,
    settings_version: int,
    change: Callable[[RisuSettings], RisuSettings],
) -> Preset:
    async with runtime.database.write() as session:
        row = await _as_read(session, viewer, preset_id, settings_version)
        settings = decode_preset(row.kind, row.data)[0]
        if not isinstance(settings, RisuSettings):
            raise not_found(_("card"))
        document = presentable(write_settings(change(settings)))
        _check_size(document)
        return await _change(runtime, session, viewer, row, document, name=row.name)


def _in_old_order(before: JsonObject, written: dict[str, Json]) -> dict[str, Json]:
    """Fields keep their places in the file."""
    return {key: written[key] for key in before if key in written} | written


def _patched(kind: str, data: JsonObject, patch: PatchPreset) -> dict[str, Json]:
    """The file with other fields; where a field of another age would say something else, it is written anew."""
    given = presentable(patch.data)
    document = {key: value for key, value in {**data, **given}.items() if key not in patch.remove}
    _check_document(kind, document, changed=given)
    model = KINDS.get(kind)
    if model is None:
        return document
    names = [name for name in given if name in model.__struct_fields__ and name not in ("unknown", "spelling")]
    before, typed, after = (decode(model, source, ReportBuilder()) for source in (data, given, document))
    if all(getattr(after, name) == getattr(typed, name) for name in names):
        return document
    return _in_old_order(document, write_preset(before.with_(**{name: getattr(typed, name) for name in names})))


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
    return not may_edit(row, viewer)


async def _copy(
    runtime: Runtime, session: AsyncSession, viewer: Viewer, row: Preset, name: str, document: dict[str, Json]
) -> Preset:
    free = await free_name(session, viewer.user_id, row.kind, name)
    data = {**document, "name": free} if "name" in document else document
    copy = _row(runtime, viewer.user_id, row.kind, free, data)
    copy.description, copy.original = row.description, await original_of(session, row)
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
