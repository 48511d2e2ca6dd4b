"""What a person does with personas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from anyio import to_thread
from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.blobs.pictures import PictureError
from tavernkit.playground.base.blobs.store import NewBlob, remove_unused, store
from tavernkit.playground.base.database.base import advance
from tavernkit.playground.base.database.models import Blob, LorebookLink, Persona, User
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import sentence_of
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable, titled
from tavernkit.playground.story.characters.files import read_picture
from tavernkit.playground.story.lorebooks.links import PERSONA, book_name
from tavernkit.playground.story.lorebooks.queries import newest_lorebooks
from tavernkit.playground.story.personas.connections import (
    add_connections,
    characters_called,
    copy_connections,
    lock_chats,
    written_connections,
)
from tavernkit.playground.story.personas.documents import NewPersona, PatchPersona, PersonaFields, PersonaOut
from tavernkit.playground.story.personas.files import (
    MAX_PERSONAS,
    BackedUp,
    Connection,
    read_backup,
    write_backup,
)
from tavernkit.playground.story.personas.queries import (
    all_personas,
    lorebook_names,
    persona_for,
    personas_for_picture,
)
from tavernkit.playground.story.retention import time_in_trash
from tavernkit.reading import ImportReport, Note
from tavernkit.values import Json

MAX_PICTURE_BYTES = 16 * 1024 * 1024


async def import_picture(runtime: Runtime, viewer: Viewer, data: bytes, *, name: str) -> tuple[Persona, bool]:
    """A picture for the persona of its file name, or a new persona of that name; and whether it is new."""
    picture = await to_thread.run_sync(read_thumbnail, data)
    name = storable(name).strip()[:200]
    async with runtime.database.write() as session:
        await lock_owner(session, viewer)
        found = await personas_for_picture(session, viewer, name)
        if found:
            found[0].settings_version += 1
        row = found[0] if found else await add_persona(runtime, session, viewer, **picture_alone(name))
        await replace_picture(runtime, session, row, picture)
        return row, not found


def picture_alone(name: str, ending: str = ".png") -> dict[str, Any]:
    """What is known about a persona of which there is nothing but a picture."""
    return {"name": titled(name, NAMELESS), "file": {"avatar": f"{name}{ending}"}}


async def add_persona(runtime: Runtime, session: AsyncSession, viewer: Viewer, **fields: Any) -> Persona:
    """Write a new persona into this transaction."""
    await _require_room(session, viewer)
    row = _row(runtime, viewer, **fields)
    session.add(row)
    await session.flush()
    return row


async def replace_picture(runtime: Runtime, session: AsyncSession, row: Persona, picture: NewBlob | None) -> None:
    """Give a persona another picture, or none."""
    if picture is not None:
        await store(session, [picture], runtime.clock())
    before, row.avatar_sha256 = row.avatar_sha256, None if picture is None else picture.sha256
    row.updated_at = runtime.clock()
    await remove_unused(session, [before])


def read_thumbnail(data: bytes) -> NewBlob:
    """A picture as personas have it, which is small; one that cannot be read is refused."""
    try:
        return read_picture(data).thumbnail
    except PictureError as error:
        raise Refused("invalid", sentence_of(error)) from None


async def set_picture(
    runtime: Runtime, viewer: Viewer, persona_id: UUID, data: bytes | None, *, settings_version: int
) -> Persona:
    """Give a persona a picture, which is kept small, or take it away."""
    picture = None if data is None else await to_thread.run_sync(read_thumbnail, data)
    async with runtime.database.write() as session:
        row = await persona_for(session, viewer, persona_id, lock=True)
        advance(row, settings_version, what=_("persona"), current=PersonaOut.of_row(row))
        await replace_picture(runtime, session, row, picture)
        return row


MAX_IMPORT_BYTES = 64 * 1024 * 1024
"""For all files that are imported at once."""
NAMELESS = "Persona"
PLACE = ("position", "depth", "role")
"""Where the description stands in the prompt."""
SAID = ("name", "title", "description", *PLACE)
"""Everything that a persona says."""


async def create_persona(runtime: Runtime, viewer: Viewer, new: NewPersona) -> Persona:
    """A new persona."""
    async with runtime.database.write() as session:
        await _check_picture(session, new.avatar_sha256)
        await _require_room(session, viewer)
        if new.is_default:
            await no_default(session, viewer)
        row = _row(runtime, viewer, **new.model_dump(exclude={"name", "title", "description"}))
        row.name, row.title = titled(new.name, NAMELESS), titled(new.title, "")
        row.description = storable(new.description)
        session.add(row)
        return row


async def update_persona(runtime: Runtime, viewer: Viewer, persona_id: UUID, patch: PatchPersona) -> Persona:
    """Change a persona; making it the default takes that from the one before."""
    async with runtime.database.write() as session:
        row = await persona_for(session, viewer, persona_id, lock=True)
        await _check_picture(session, patch.avatar_sha256)
        advance(row, patch.settings_version, what=_("persona"), current=PersonaOut.of_row(row))
        if patch.is_default:
            await no_default(session, viewer, besides=row.id)
        for field, value in patch.model_dump(exclude_none=True, include=set(PersonaFields.model_fields)).items():
            setattr(row, field, storable(value) if isinstance(value, str) else value)
        row.name, row.title = titled(row.name, NAMELESS), titled(row.title, "")
        if "avatar_sha256" in patch.model_fields_set:
            row.avatar_sha256 = patch.avatar_sha256
        row.updated_at = runtime.clock()
        return row


async def duplicate_persona(runtime: Runtime, viewer: Viewer, persona_id: UUID) -> Persona:
    """A copy, with the same picture, books and connections to characters."""
    async with runtime.database.write() as session:
        row = await persona_for(session, viewer, persona_id)
        await _require_room(session, viewer)
        copied = {name: getattr(row, name) for name in ("title", "description", "avatar_sha256", *PLACE)}
        copy = _row(runtime, viewer, name=f"{row.name[:190]} (copy)", **copied)
        session.add(copy)
        await session.flush()
        for link in await session.scalars(select(LorebookLink).where(LorebookLink.persona_id == row.id)):
            session.add(_link(runtime, link.lorebook_id, copy, enabled=link.enabled, position=link.position))
        await copy_connections(runtime, session, row, copy)
        return copy


async def delete_persona(runtime: Runtime, viewer: Viewer, persona_id: UUID) -> None:
    """Move a persona to the trash; who took part with it keeps their name in what was said."""
    async with runtime.database.write() as session:
        row = await persona_for(session, viewer, persona_id, lock=True)
        row.trashed_at = await time_in_trash(session, runtime, viewer)


async def return_persona(session: AsyncSession, runtime: Runtime, row: Persona) -> None:
    """Bring a persona back to where it was used; it is the default again unless another one is by now."""
    if row.is_default:
        default = select(Persona.id).where(
            Persona.owner_id == row.owner_id, Persona.is_default, Persona.trashed_at.is_(None)
        )
        row.is_default = await session.scalar(default.limit(1)) is None
    row.trashed_at, row.updated_at = None, runtime.clock()
    row.settings_version += 1


async def import_personas(runtime: Runtime, viewer: Viewer, file: bytes) -> tuple[list[Persona], int, ImportReport]:
    """The personas of SillyTavern's backup; those that are there already are passed over, and counted.

    A book is attached where the person has one of its name; characters and chats that select a persona are connected to
    it. The default of the backup becomes the default only where there was none; the report says so where there was one.
    """
    try:
        backed_up, report = await to_thread.run_sync(read_backup, file)
    except TavernKitError as error:
        raise Refused("invalid", _("The file cannot be read: {reason}", reason=sentence_of(error))) from None
    if not backed_up:
        raise Refused(
            "invalid", _("The file has no personas. Choose a persona backup or settings.json of SillyTavern.")
        )
    async with runtime.database.write() as session:
        await lock_owner(session, viewer)
        before = await all_personas(session, viewer.user_id)
        known = _Known(before)
        default = next((row for row in before if row.is_default), None)
        books = await newest_lorebooks(session, viewer.user_id, {one.lorebook for one in backed_up if one.lorebook})
        if len(before) + len(backed_up) > MAX_PERSONAS:
            await _require_room(session, viewer, more=sum(known.find(one) is None for one in backed_up))
            known = _Known(before)
        rows: list[Persona] = []
        met: list[tuple[Persona, Sequence[Connection]]] = []
        for one in backed_up:
            row = known.find(one)
            said = {name: getattr(one, name) for name in SAID}
            if row is None:
                row = _row(runtime, viewer, **said)
                rows.append(row)
                session.add(row)
                await session.flush()
                if one.lorebook in books:
                    session.add(_link(runtime, books[one.lorebook], row))
            elif is_picture_alone(row):
                for name, value in said.items():
                    setattr(row, name, value)
                row.settings_version += 1
                rows.append(row)
            if one.avatar and "entry" not in row.file:
                row.file = {"avatar": one.avatar, "entry": dict(one.entry)}
                met.append((row, one.connections))
            if one.is_default and default is None:
                row.is_default = True
            elif one.is_default and default is not row and default is not None:
                sentence = _(
                    "“{name}” does not become the default, because “{default}” is", name=row.name, default=default.name
                )
                report = report.with_(
                    notes=(*report.notes, Note(path="default_persona", outcome="ignored", message=sentence))
                )
        await add_connections(runtime, session, met, await characters_called(session, viewer, met))
        await lock_chats(runtime, session, [row for row, _connections in met])
        return rows, len(backed_up) - len(rows), report


def is_picture_alone(row: Persona) -> bool:
    """Whether a persona was made of a picture, and nothing else is known about it yet."""
    return bool(row.file.get("avatar")) and "entry" not in row.file and not row.description and not row.title


class _Known:
    """The personas that are here: those of an earlier backup by their file names, the others by what they say."""

    def __init__(self, rows: Sequence[Persona]) -> None:
        self._by_avatar = {row.file["avatar"]: row for row in rows if row.file.get("avatar")}
        self._others = {(row.name, row.description): row for row in rows if "entry" not in row.file}

    def find(self, one: BackedUp) -> Persona | None:
        row = self._by_avatar.get(one.avatar)
        if row is not None and (row.name == one.name or row.description == one.description or is_picture_alone(row)):
            return row
        return self._others.pop((one.name, one.description), None)


async def export_personas(runtime: Runtime, viewer: Viewer) -> dict[str, Json]:
    """All personas as SillyTavern's backup."""
    async with runtime.database.read() as session:
        rows = await all_personas(session, viewer.user_id)
        books = await lorebook_names(session, viewer.user_id)
        connections = await written_connections(session, viewer.user_id)
        named = {row.id: book_name(row.file, *PERSONA) for row in rows}
        here = await newest_lorebooks(session, viewer.user_id, {name for name in named.values() if name})
    return write_backup(
        [
            BackedUp(
                name=row.name,
                title=row.title,
                description=row.description,
                connections=connections.get(row.id, ()),
                **{name: getattr(row, name) for name in PLACE},
                # A book that is not here could not be linked, so the name in the backup still stands.
                lorebook=books.get(row.id, "" if named[row.id] in here else named[row.id]),
                is_default=row.is_default,
                avatar=row.file.get("avatar", ""),
                entry=row.file.get("entry", {}),
            )
            for row in rows
        ]
    )


async def _check_picture(session: AsyncSession, sha256: str | None) -> None:
    if sha256 is None:
        return
    media_type: str | None = await session.scalar(select(Blob.media_type).where(Blob.sha256 == sha256))
    if media_type is None or not media_type.startswith("image/"):
        raise Refused("invalid", _("This picture does not exist. Upload it first."))


async def _require_room(session: AsyncSession, viewer: Viewer, *, more: int = 1) -> None:
    count = await session.scalar(
        select(func.count()).where(Persona.owner_id == viewer.user_id, Persona.trashed_at.is_(None))
    )
    if (count or 0) + more > MAX_PERSONAS:
        raise Refused("conflict", _("You can have at most {most} personas. Delete some first.", most=MAX_PERSONAS))


async def lock_owner(session: AsyncSession, viewer: Viewer) -> None:
    """Two that change which persona is the default, or which there are, wait for each other."""
    await session.execute(select(User.id).where(User.id == viewer.user_id).with_for_update())


async def no_default(session: AsyncSession, viewer: Viewer, *, besides: UUID | None = None) -> None:
    """Take the default from the persona that has it."""
    await lock_owner(session, viewer)
    await session.execute(
        update(Persona)
        .where(
            Persona.owner_id == viewer.user_id,
            Persona.is_default,
            Persona.trashed_at.is_(None),
            Persona.id.is_distinct_from(besides),
        )
        .values(is_default=False, settings_version=Persona.settings_version + 1)
        .execution_options(synchronize_session=False)
    )


def _row(runtime: Runtime, viewer: Viewer, **fields: Any) -> Persona:
    now = runtime.clock()
    return Persona(id=runtime.ids(), owner_id=viewer.user_id, created_at=now, updated_at=now, **fields)


def _link(
    runtime: Runtime, lorebook_id: UUID, persona: Persona, *, enabled: bool = True, position: int = 0
) -> LorebookLink:
    return LorebookLink(
        id=runtime.ids(),
        lorebook_id=lorebook_id,
        persona_id=persona.id,
        enabled=enabled,
        position=position,
        created_at=runtime.clock(),
    )
