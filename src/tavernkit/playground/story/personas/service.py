"""What a person does with personas."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from anyio import to_thread
from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.blobs.store import remove_unused, store
from tavernkit.playground.base.database.base import advance
from tavernkit.playground.base.database.models import Blob, LorebookLink, Persona, User
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable, titled
from tavernkit.playground.story.characters.pictures import PictureError, read_picture
from tavernkit.playground.story.lorebooks.named_links import PERSONA, book_name
from tavernkit.playground.story.lorebooks.queries import newest_lorebooks
from tavernkit.playground.story.personas.backup import BackedUp, read_backup, write_backup
from tavernkit.playground.story.personas.documents import NewPersona, PatchPersona, PersonaOut
from tavernkit.playground.story.personas.queries import all_personas, lorebook_names, persona_for
from tavernkit.reading import ImportReport, Note
from tavernkit.values import Json

MAX_PICTURE_BYTES = 16 * 1024 * 1024


async def set_picture(
    runtime: Runtime, viewer: Viewer, persona_id: UUID, data: bytes | None, *, settings_version: int
) -> Persona:
    """Give a persona a picture, which is kept small, or take it away."""
    try:
        picture = None if data is None else (await to_thread.run_sync(read_picture, data)).thumbnail
    except PictureError as error:
        raise Refused(code="invalid", sentence=str(error)) from None
    async with runtime.database.write() as session:
        row = await persona_for(session, viewer, persona_id, lock=True)
        current = PersonaOut.of_row(row).model_dump(mode="json")
        advance(row, settings_version, what="persona", current=current)
        before = row.avatar_sha256
        if picture is not None:
            await store(session, [picture], runtime.clock())
        row.avatar_sha256 = None if picture is None else picture.sha256
        row.updated_at = runtime.clock()
        await remove_unused(session, [before])
        return row


MAX_BACKUP_BYTES = 16 * 1024 * 1024
NAMELESS = "Persona"


async def create_persona(runtime: Runtime, viewer: Viewer, new: NewPersona) -> Persona:
    """A new persona."""
    async with runtime.database.write() as session:
        await _check_picture(session, new.avatar_sha256)
        if new.is_default:
            await _no_default(session, viewer)
        row = _row(
            runtime,
            viewer,
            BackedUp(
                name=titled(new.name, NAMELESS),
                description=storable(new.description),
                position=new.position,
                depth=new.depth,
                role=new.role,
                is_default=new.is_default,
            ),
        )
        row.avatar_sha256 = new.avatar_sha256
        session.add(row)
        return row


async def update_persona(runtime: Runtime, viewer: Viewer, persona_id: UUID, patch: PatchPersona) -> Persona:
    """Change a persona; making it the default takes that from the one before."""
    async with runtime.database.write() as session:
        row = await persona_for(session, viewer, persona_id, lock=True)
        await _check_picture(session, patch.avatar_sha256)
        current = PersonaOut.of_row(row).model_dump(mode="json")
        advance(row, patch.settings_version, what="persona", current=current)
        if patch.is_default:
            await _no_default(session, viewer, besides=row.id)
        if patch.name is not None:
            row.name = titled(patch.name, NAMELESS)
        if patch.description is not None:
            row.description = storable(patch.description)
        row.position = patch.position or row.position
        row.role = patch.role or row.role
        row.depth = row.depth if patch.depth is None else patch.depth
        row.is_default = row.is_default if patch.is_default is None else patch.is_default
        if "avatar_sha256" in patch.model_fields_set:
            row.avatar_sha256 = patch.avatar_sha256
        row.updated_at = runtime.clock()
        return row


async def duplicate_persona(runtime: Runtime, viewer: Viewer, persona_id: UUID) -> Persona:
    """A copy, with the same picture and the same books."""
    async with runtime.database.write() as session:
        row = await persona_for(session, viewer, persona_id)
        copy = _row(
            runtime,
            viewer,
            BackedUp(
                name=f"{row.name[:190]} (copy)",
                description=row.description,
                position=row.position,
                depth=row.depth,
                role=row.role,
            ),
        )
        copy.avatar_sha256 = row.avatar_sha256
        session.add(copy)
        await session.flush()
        for link in await session.scalars(select(LorebookLink).where(LorebookLink.persona_id == row.id)):
            session.add(_link(runtime, link.lorebook_id, copy, enabled=link.enabled, position=link.position))
        return copy


async def delete_persona(runtime: Runtime, viewer: Viewer, persona_id: UUID) -> None:
    """Delete a persona; who took part with it keeps their name in what was said."""
    async with runtime.database.write() as session:
        row = await persona_for(session, viewer, persona_id, lock=True)
        await session.execute(delete(Persona).where(Persona.id == row.id))


async def import_personas(runtime: Runtime, viewer: Viewer, file: bytes) -> tuple[list[Persona], int, ImportReport]:
    """The personas of SillyTavern's backup; those that are there already are passed over, and counted.

    A book is attached where the person has one of its name. The default of the backup becomes the default only where
    there was none; the report says so where there was one.
    """
    try:
        backed_up, report = await to_thread.run_sync(read_backup, file)
    except TavernKitError as error:
        raise Refused(code="invalid", sentence=str(error)) from None
    if not backed_up:
        raise Refused(code="invalid", sentence="There are no personas in this file: it has nothing under 'personas'.")
    async with runtime.database.write() as session:
        await _lock_owner(session, viewer)
        before = await all_personas(session, viewer.user_id)
        known = _Known(before)
        default = next((row for row in before if row.is_default), None)
        books = await newest_lorebooks(session, viewer.user_id, {one.lorebook for one in backed_up if one.lorebook})
        rows: list[Persona] = []
        for one in backed_up:
            row = known.find(one)
            if row is None:
                row = _row(runtime, viewer, one.with_(is_default=False))
                rows.append(row)
                session.add(row)
                await session.flush()
                if one.lorebook in books:
                    session.add(_link(runtime, books[one.lorebook], row))
            row.file = row.file or _file(one)
            if one.is_default and default is None:
                row.is_default = True
            elif one.is_default and default is not row and default is not None:
                sentence = f"{row.name!r} is not made the default persona, because {default.name!r} is it"
                report = report.with_(
                    notes=(*report.notes, Note(path="default_persona", outcome="ignored", message=sentence))
                )
        return rows, len(backed_up) - len(rows), report


class _Known:
    """The personas that are here: those of an earlier backup by their file names, the others by what they say."""

    def __init__(self, rows: Sequence[Persona]) -> None:
        self._by_avatar = {row.file["avatar"]: row for row in rows if row.file}
        self._others = {(row.name, row.description): row for row in rows if not row.file}

    def find(self, one: BackedUp) -> Persona | None:
        row = self._by_avatar.get(one.avatar)
        if row is not None and (row.name == one.name or row.description == one.description):
            return row
        return self._others.pop((one.name, one.description), None)


async def export_personas(runtime: Runtime, viewer: Viewer) -> dict[str, Json]:
    """All personas as SillyTavern's backup."""
    async with runtime.database.read() as session:
        rows = await all_personas(session, viewer.user_id)
        books = await lorebook_names(session, viewer.user_id)
        named = {row.id: book_name(row.file, *PERSONA) for row in rows}
        here = await newest_lorebooks(session, viewer.user_id, {name for name in named.values() if name})
    return write_backup(
        [
            BackedUp(
                name=row.name,
                description=row.description,
                position=row.position,
                depth=row.depth,
                role=row.role,
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
        raise Refused(code="invalid", sentence="There is no such picture here. Store it first, then name it.")


async def _lock_owner(session: AsyncSession, viewer: Viewer) -> None:
    """Two that change which persona is the default, or which there are, wait for each other."""
    await session.execute(select(User.id).where(User.id == viewer.user_id).with_for_update())


async def _no_default(session: AsyncSession, viewer: Viewer, *, besides: UUID | None = None) -> None:
    await _lock_owner(session, viewer)
    await session.execute(
        update(Persona)
        .where(Persona.owner_id == viewer.user_id, Persona.is_default, Persona.id.is_distinct_from(besides))
        .values(is_default=False, settings_version=Persona.settings_version + 1)
        .execution_options(synchronize_session=False)
    )


def _row(runtime: Runtime, viewer: Viewer, persona: BackedUp) -> Persona:
    now = runtime.clock()
    return Persona(
        id=runtime.ids(),
        owner_id=viewer.user_id,
        name=persona.name,
        description=persona.description,
        position=persona.position,
        depth=persona.depth,
        role=persona.role,
        is_default=persona.is_default,
        file=_file(persona),
        settings_version=0,
        created_at=now,
        updated_at=now,
    )


def _file(persona: BackedUp) -> dict[str, Json]:
    return {"avatar": persona.avatar, "entry": dict(persona.entry)} if persona.avatar else {}


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
