"""What a person does with quick replies: sets of buttons, and where each set is used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from anyio import to_thread
from sqlalchemy import delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.base import advance
from tavernkit.playground.base.database.models import QuickReplyLink, QuickReplySet, User
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import sentence_of
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.access.access import Access, space_for
from tavernkit.playground.story.access.sharing import usable_characters
from tavernkit.playground.story.quick_replies.documents import (
    MAX_BUTTONS,
    ButtonFields,
    ButtonOrder,
    NewPlace,
    NewQuickReplySet,
    PatchButton,
    PatchQuickReplySet,
    QuickReplyPlace,
    QuickReplySetOut,
    SetFields,
    button_of,
    set_fields,
)
from tavernkit.playground.story.quick_replies.files import new_set, next_id, read_set, written
from tavernkit.playground.story.quick_replies.queries import free_name, is_own_set, set_for
from tavernkit.playground.story.retention import time_in_trash
from tavernkit.reading import ImportReport

MAX_SETS = 500
NAMELESS = "Quick replies"


async def create_set(runtime: Runtime, viewer: Viewer, new: NewQuickReplySet) -> QuickReplySet:
    """A new set, which is used in all stories of the person."""
    async with runtime.database.write() as session:
        await _require_room(session, viewer)
        data = new_set(SetFields(**new.model_dump(exclude={"buttons"})))
        for button in new.buttons:
            data = _with_button(data, button)
        row = await _add(runtime, session, viewer, data)
        await use_at(runtime, session, row, {"user_id": viewer.user_id})
        return row


async def update_set(runtime: Runtime, viewer: Viewer, set_id: UUID, patch: PatchQuickReplySet) -> QuickReplySet:
    """Rename a set, or change what it says about its buttons."""
    async with runtime.database.write() as session:
        row = await set_for(session, viewer, set_id, lock=True)
        name = row.name if patch.name is None else titled(patch.name, NAMELESS)
        if name != row.name and await free_name(session, viewer.user_id, name) != name:
            raise Refused(
                "taken", _("A set of quick replies named “{name}” already exists. Choose another name.", name=name)
            )
        given = patch.model_dump(exclude_none=True, exclude={"settings_version"})
        fields = SetFields(**{**set_fields(row.data), **given, "name": name})
        changed = _changed(fields, set_fields(row.data) | {"name": row.name})
        return _saved(runtime, row, patch.settings_version, {**row.data, **changed})


async def duplicate_set(runtime: Runtime, viewer: Viewer, set_id: UUID) -> QuickReplySet:
    """A copy under a name of its own, which is used nowhere yet."""
    async with runtime.database.write() as session:
        await _require_room(session, viewer)
        row = await set_for(session, viewer, set_id)
        return await _add(runtime, session, viewer, row.data)


async def delete_set(runtime: Runtime, viewer: Viewer, set_id: UUID) -> None:
    """Move a set to the trash; what was said with it stays."""
    async with runtime.database.write() as session:
        row = await set_for(session, viewer, set_id, lock=True)
        row.trashed_at = await time_in_trash(session, runtime, viewer)


async def return_set(session: AsyncSession, runtime: Runtime, row: QuickReplySet) -> None:
    """Bring a set back to where it was used, under its name or a free one like it."""
    name = await free_name(session, row.owner_id, row.name)
    if name != row.name:
        _stored(runtime, row, {**row.data, "name": name})
    row.trashed_at, row.updated_at = None, runtime.clock()
    row.settings_version += 1


async def import_set(runtime: Runtime, viewer: Viewer, file: bytes, *, name: str) -> tuple[QuickReplySet, ImportReport]:
    """A set of SillyTavern, which is used in all stories of the person; one of the same name stays beside it."""
    try:
        read = await to_thread.run_sync(lambda: read_set(file, name=name))
    except TavernKitError as error:
        raise Refused("invalid", _("The file cannot be read: {reason}", reason=sentence_of(error))) from None
    if read is None:
        raise Refused("invalid", _("The file has no quick replies. Choose a quick reply set of SillyTavern."))
    data, original, report = read
    async with runtime.database.write() as session:
        row = await store_set(runtime, session, viewer, data, file=original)
        await use_at(runtime, session, row, {"user_id": viewer.user_id})
        return row, report


async def store_set(
    runtime: Runtime, session: AsyncSession, viewer: Viewer, data: dict[str, Any], *, file: dict[str, Any]
) -> QuickReplySet:
    """Write a set that was read from a file into this transaction, under its name or a free one like it."""
    await _require_room(session, viewer)
    return await _add(runtime, session, viewer, data, file=file)


def replace_set(runtime: Runtime, row: QuickReplySet, data: dict[str, Any], *, file: dict[str, Any]) -> None:
    """Let a set, which must be locked, say what another file says; it keeps its name and is used where it was."""
    row.data, row.file = {**data, "name": row.data["name"]}, file
    row.settings_version += 1
    row.updated_at = runtime.clock()


def exported_set(row: QuickReplySet) -> dict[str, Any]:
    """The set as SillyTavern reads it: the file that it came from, if nothing has changed since."""
    return row.file or row.data


async def add_button(runtime: Runtime, viewer: Viewer, set_id: UUID, new: ButtonFields) -> tuple[QuickReplySet, int]:
    """A button behind the others, and its number."""
    async with runtime.database.write() as session:
        row = await set_for(session, viewer, set_id, lock=True)
        number = next_id(row.data)
        return _saved(runtime, row, None, _with_button(row.data, new)), number


async def update_button(
    runtime: Runtime, viewer: Viewer, set_id: UUID, number: int, patch: PatchButton
) -> QuickReplySet:
    """Change a button."""

    def change(buttons: list[dict[str, Any]], place: int) -> list[dict[str, Any]]:
        before = ButtonFields(**button_of(buttons[place]).model_dump(exclude={"id", "is_script"}))
        given = patch.model_dump(exclude_none=True, exclude={"settings_version"})
        after = ButtonFields(**{**before.model_dump(), **given})
        buttons[place] = {**buttons[place], **_changed(after, before.model_dump())}
        return buttons

    return await _with_buttons(runtime, viewer, set_id, number, patch.settings_version, change)


async def remove_button(
    runtime: Runtime, viewer: Viewer, set_id: UUID, number: int, *, settings_version: int | None
) -> QuickReplySet:
    """Take a button away."""

    def change(buttons: list[dict[str, Any]], place: int) -> list[dict[str, Any]]:
        return [*buttons[:place], *buttons[place + 1 :]]

    return await _with_buttons(runtime, viewer, set_id, number, settings_version, change)


async def duplicate_button(runtime: Runtime, viewer: Viewer, set_id: UUID, number: int) -> tuple[QuickReplySet, int]:
    """A copy of a button right behind it, and its number."""
    async with runtime.database.write() as session:
        row = await set_for(session, viewer, set_id, lock=True)
        buttons, copied = list(row.data["qrList"]), next_id(row.data)
        place = _place(buttons, number)
        _require_place_for_button(row.data)
        buttons.insert(place + 1, {**buttons[place], "id": copied})
        return _saved(runtime, row, None, {**row.data, "qrList": buttons, "idIndex": copied + 1}), copied


async def order_buttons(runtime: Runtime, viewer: Viewer, set_id: UUID, order: ButtonOrder) -> QuickReplySet:
    """Put the buttons into this order, which must name every one exactly once."""
    async with runtime.database.write() as session:
        row = await set_for(session, viewer, set_id, lock=True)
        buttons = {button["id"]: button for button in row.data["qrList"]}
        is_whole = len(order.ids) == len(buttons) and set(order.ids) == set(buttons)
        if not is_whole and row.settings_version == order.settings_version:
            raise Refused("conflict", _("The order must contain every button exactly once."))
        advance(row, order.settings_version, what=_("set of quick replies"), current=_current(row))
        return _stored(runtime, row, {**row.data, "qrList": [buttons[number] for number in order.ids]})


async def move_button(
    runtime: Runtime, viewer: Viewer, set_id: UUID, number: int, *, before: int | None
) -> QuickReplySet:
    """Put a button before another one, or behind all."""
    async with runtime.database.write() as session:
        row = await set_for(session, viewer, set_id, lock=True)
        buttons = list(row.data["qrList"])
        moved = buttons.pop(_place(buttons, number))
        buttons.insert(len(buttons) if before is None else _place(buttons, before), moved)
        return _saved(runtime, row, None, {**row.data, "qrList": buttons})


async def use_set(runtime: Runtime, viewer: Viewer, set_id: UUID, place: NewPlace) -> QuickReplyLink:
    """Show a set in all stories of its owner, in a space, or with a character; or use it there without its buttons."""
    async with runtime.database.write() as session:
        row = await set_for(session, viewer, set_id, lock=True)
        columns = await _columns(session, viewer, place)
        return await use_at(runtime, session, row, columns, visible=place.visible)


async def disuse_set(runtime: Runtime, viewer: Viewer, set_id: UUID, place: QuickReplyPlace) -> None:
    """Use a set no more at a place."""
    async with runtime.database.write() as session:
        row = await set_for(session, viewer, set_id, lock=True)
        columns = {"user_id": viewer.user_id} if _is_everywhere(place) else place.model_dump(include={*_PLACES})
        await session.execute(delete(QuickReplyLink).where(QuickReplyLink.set_id == row.id, *_at(columns)))


_PLACES = ("space_id", "character_id")


async def _columns(session: AsyncSession, viewer: Viewer, place: QuickReplyPlace) -> dict[str, UUID]:
    if place.space_id is not None:
        await space_for(session, place.space_id, viewer, Access.ADMINISTER)
        return {"space_id": place.space_id}
    if place.character_id is not None:
        await usable_characters(session, viewer, [place.character_id])
        return {"character_id": place.character_id}
    return {"user_id": viewer.user_id}


def _is_everywhere(place: QuickReplyPlace) -> bool:
    return place.space_id is None and place.character_id is None


def _at(columns: dict[str, Any]) -> list[Any]:
    return [getattr(QuickReplyLink, column) == value for column, value in columns.items() if value is not None]


async def use_at(
    runtime: Runtime, session: AsyncSession, row: QuickReplySet, columns: dict[str, UUID], *, visible: bool = True
) -> QuickReplyLink:
    """Use a set at a place, behind those that are there."""
    there = list(await session.scalars(select(QuickReplyLink).where(*_at(columns))))
    link = next((link for link in there if link.set_id == row.id), None)
    if link is None:
        position = max((link.position for link in there), default=-1) + 1
        link = QuickReplyLink(id=runtime.ids(), set_id=row.id, position=position, created_at=runtime.clock(), **columns)
        session.add(link)
    link.visible = visible
    await session.flush()
    return link


async def _require_room(session: AsyncSession, viewer: Viewer) -> None:
    # Two that add a set wait for each other.
    await session.execute(select(User.id).where(User.id == viewer.user_id).with_for_update())
    count = await session.scalar(select(func.count()).where(*is_own_set(viewer.user_id)))
    if (count or 0) >= MAX_SETS:
        raise Refused(
            "conflict", _("You can have at most {most} sets of quick replies. Delete one first.", most=MAX_SETS)
        )


async def _add(
    runtime: Runtime, session: AsyncSession, viewer: Viewer, data: dict[str, Any], *, file: dict[str, Any] | None = None
) -> QuickReplySet:
    """A set under its name, or under a free one like it."""
    name = titled(data["name"], NAMELESS)
    free, now = await free_name(session, viewer.user_id, name), runtime.clock()
    if free != name:
        data = {**data, "name": free}
        file = {**file, "name": free} if file else None
    row = QuickReplySet(
        id=runtime.ids(),
        owner_id=viewer.user_id,
        name=free,
        data=data,
        file=file or {},
        created_at=now,
        updated_at=now,
    )
    session.add(row)
    await session.flush()
    return row


def _with_button(data: dict[str, Any], fields: ButtonFields) -> dict[str, Any]:
    _require_place_for_button(data)
    number = next_id(data)
    return {**data, "qrList": [*data["qrList"], {"id": number, **written(fields)}], "idIndex": number + 1}


def _require_place_for_button(data: dict[str, Any]) -> None:
    if len(data["qrList"]) >= MAX_BUTTONS:
        raise Refused("conflict", _("A set can have at most {most} buttons. Create another set.", most=MAX_BUTTONS))


async def _with_buttons(
    runtime: Runtime,
    viewer: Viewer,
    set_id: UUID,
    number: int,
    settings_version: int | None,
    change: Callable[[list[dict[str, Any]], int], list[dict[str, Any]]],
) -> QuickReplySet:
    async with runtime.database.write() as session:
        row = await set_for(session, viewer, set_id, lock=True)
        buttons = list(row.data["qrList"])
        changed = change(buttons, _place(buttons, number))
        return _saved(runtime, row, settings_version, {**row.data, "qrList": changed})


def _place(buttons: Sequence[dict[str, Any]], number: int) -> int:
    for place, button in enumerate(buttons):
        if button["id"] == number:
            return place
    raise not_found(_("button"))


def _changed(fields: SetFields | ButtonFields, before: dict[str, Any]) -> dict[str, Any]:
    """Those fields that are other than before, as files have them: what is left out of a file stays out."""
    now = fields.model_dump()
    return written(fields, only=frozenset(name for name, value in now.items() if value != before.get(name)))


def _saved(runtime: Runtime, row: QuickReplySet, settings_version: int | None, data: dict[str, Any]) -> QuickReplySet:
    advance(row, settings_version, what=_("set of quick replies"), current=_current(row))
    return _stored(runtime, row, data)


def _stored(runtime: Runtime, row: QuickReplySet, data: dict[str, Any]) -> QuickReplySet:
    if data != row.data:
        row.file = {}
    row.data, row.name, row.updated_at = data, titled(data["name"], NAMELESS), runtime.clock()
    return row


def _current(row: QuickReplySet) -> Any:
    return QuickReplySetOut.of(row).model_dump(mode="json")
