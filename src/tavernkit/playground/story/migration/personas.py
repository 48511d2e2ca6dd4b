"""Personas of a folder: each is known by the file of its picture; what else there is to know is in the settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from uuid import UUID

from anyio import to_thread
from sqlalchemy import ColumnElement, Text, delete, select, type_coerce, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.migration.files import FileKind
from tavernkit.playground.base.blobs.pictures import bare_copy, opened, saved
from tavernkit.playground.base.blobs.store import NewBlob
from tavernkit.playground.base.database.models import (
    Blob,
    Character,
    ImportedFile,
    Persona,
    PersonaConnection,
    SpaceMembership,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.access.personas import is_own_persona, persona_with_avatar
from tavernkit.playground.story.migration.items import ImportJob, Item, ItemHandler, ItemOutcome
from tavernkit.playground.story.migration.lorebooks import link_world
from tavernkit.playground.story.migration.markers import is_as_imported, marker_of, touching
from tavernkit.playground.story.migration.outcomes import imported, kept_here, some
from tavernkit.playground.story.personas.connections import add_connections, lock_chats
from tavernkit.playground.story.personas.files import BackedUp, Connection, read_entry
from tavernkit.playground.story.personas.queries import all_personas, persona_for
from tavernkit.playground.story.personas.service import (
    SAID,
    add_persona,
    lock_owner,
    picture_alone,
    read_thumbnail,
    replace_picture,
)
from tavernkit.reading import LooseObject, ReportBuilder

FOLDER = "User Avatars"
LARGEST = (2048, 3072)


class PersonaPictureHandler:
    """Imports pictures of personas. A picture without anything else is a persona that is called as its file is."""

    def prepare(self, job: ImportJob, item: Item, data: bytes) -> NewBlob:
        return read_thumbnail(data)

    async def store(self, session: AsyncSession, job: ImportJob, item: Item, prepared: NewBlob) -> ItemOutcome:
        avatar = PurePosixPath(item.path)
        row = await persona_of(session, job, avatar.name)
        if item.target_id is not None:
            row = await persona_for(session, job.viewer, item.target_id, lock=True)
            if item.conflict != "replace" and not await _has_picture_of_file(session, job, item):
                return kept_here(item)
        if row is None:
            await lock_owner(session, job.viewer)
            fields = picture_alone(avatar.stem, avatar.suffix)
            fields["file"] |= {"source": str(job.source_id)}
            row = await add_persona(job.runtime, session, job.viewer, **fields)
        else:
            row.settings_version += 1
        await replace_picture(job.runtime, session, row, prepared)
        return imported(item.with_(is_changed_here=False), "persona", row.id)


HANDLERS: Mapping[FileKind, ItemHandler] = {"persona_picture": PersonaPictureHandler()}


async def persona_of(session: AsyncSession, job: ImportJob, avatar: str) -> Persona | None:
    """The persona of this source whose picture has this file name."""
    return await persona_with_avatar(session, job.viewer.user_id, avatar, source_id=job.source_id)


async def _personas(session: AsyncSession, job: ImportJob) -> dict[str, Persona]:
    """The personas of this source, by the names of the files of their pictures."""
    rows = await session.scalars(select(Persona).where(*_of_source(job)))
    return {str(row.file.get("avatar")): row for row in rows}


def _of_source(job: ImportJob) -> list[ColumnElement[bool]]:
    holds = type_coerce(Persona.file, Text).contains(f'"source": "{job.source_id}"', autoescape=True)
    return [*is_own_persona(job.viewer.user_id), holds]


async def persona_bytes(runtime: Runtime, session: AsyncSession, persona_id: UUID) -> bytes | None:
    """The picture of a persona as the PNG that SillyTavern has; None where there is none."""
    row = await session.get_one(Persona, persona_id)
    picture = select(Blob.data).where(Blob.sha256 == row.avatar_sha256)
    data = await session.scalar(picture)
    return None if data is None else await to_thread.run_sync(_as_png, data)


async def connect_character(session: AsyncSession, job: ImportJob, row: Character, avatar: str) -> None:
    """Let a character that has come later select the personas of this source that its file is connected to."""
    await session.execute(
        update(PersonaConnection)
        .where(
            PersonaConnection.persona_id.in_(select(Persona.id).where(*_of_source(job))),
            PersonaConnection.kind == "character",
            PersonaConnection.key == avatar,
            PersonaConnection.character_id.is_(None),
        )
        .values(character_id=row.id),
        execution_options={"synchronize_session": False},
    )


async def connect_groups(session: AsyncSession, job: ImportJob, groups: Mapping[str, UUID]) -> int:
    """Let the owner be the persona that is connected to a group in the space that the group became; for how many.

    `groups` are spaces by the ids that their groups have in SillyTavern.
    """
    rows = await session.execute(
        select(PersonaConnection.key, Persona.id, Persona.name)
        .join(Persona, Persona.id == PersonaConnection.persona_id)
        .where(
            *_of_source(job),
            PersonaConnection.kind == "other",
            PersonaConnection.key.in_(list(groups)),
        )
        .order_by(PersonaConnection.created_at, PersonaConnection.id)
    )
    # Of several personas of a group, the one that was connected last.
    chosen = {key: (persona_id, name) for key, persona_id, name in rows}
    for key, (persona_id, name) in chosen.items():
        await session.execute(
            update(SpaceMembership)
            .where(SpaceMembership.space_id == groups[key], SpaceMembership.user_id == job.viewer.user_id)
            .values(persona_id=persona_id, cached_display_name=name)
        )
    return len(chosen)


async def store_personas(
    session: AsyncSession, job: ImportJob, item: Item, backed_up: Sequence[BackedUp], user: tuple[str, str]
) -> list[str]:
    """Complete the personas of this source by what its settings say, and add those without a picture; what there is to
    say about that. `user` is the file of the persona in use, and what people without a persona's name are called."""
    await lock_owner(session, job.viewer)
    rows, notes, new = await _personas(session, job), list[str](), list[Persona]()
    characters = await _characters(session, job, backed_up)
    has_default = any(row.is_default for row in await all_personas(session, job.viewer.user_id))
    conflicts: list[str] = []
    for one in backed_up:
        row = rows.get(one.avatar)
        before = None if row is None or "entry" not in row.file else _before(row)
        if row is None:
            try:
                row = await add_persona(job.runtime, session, job.viewer, name=one.name, file={"avatar": one.avatar})
            except Refused as refused:
                notes.append(refused.sentence)
                break
        else:
            await touching(session, job, "persona", row.id)
        conflicts += _merge(job, item, row, before, one)
        row.file = {
            "avatar": one.avatar,
            "source": str(job.source_id),
            "name": one.name,
            "entry": dict(one.entry),
        }
        if before is None:
            new.append(row)
        book = LooseObject(one.entry, ReportBuilder()).text("lorebook")
        if before is None or before.lorebook != one.lorebook:
            await link_world(session, job, book, persona_id=row.id)
        await _connect(session, job, row, before, one, characters)
        if one.is_default and not has_default:
            row.is_default = has_default = True
    _name_unnamed(rows, backed_up, user)
    await session.flush()
    await lock_chats(job.runtime, session, new)
    if backed_up:
        notes.insert(0, _("Personas: {names}.", names=some([one.name for one in backed_up])))
    if conflicts:
        names = some(conflicts)
        notes.append(
            _("Personas that were changed here and in the folder, and stay as they are: {names}.", names=names)
        )
    return notes


def _merge(job: ImportJob, item: Item, row: Persona, before: BackedUp | None, one: BackedUp) -> list[str]:
    """Take over what has changed in the settings; what was changed here as well is a conflict, whose name is given."""
    conflicts: list[str] = []
    changed = False
    for field in SAID:
        here, new = getattr(row, field), getattr(one, field)
        old = here if before is None else getattr(before, field)
        if new == here or (before is not None and new == old):
            continue
        if here != old and item.conflict != "replace":
            conflicts = [row.name]
            continue
        setattr(row, field, new)
        changed = True
    if changed:
        row.settings_version += 1
        row.updated_at = job.runtime.clock()
    return conflicts


async def _connect(
    session: AsyncSession,
    job: ImportJob,
    row: Persona,
    before: BackedUp | None,
    one: BackedUp,
    characters: Mapping[str, UUID],
) -> None:
    """Connect a persona with what the settings connect it with now, and no more with what they did before."""
    earlier = () if before is None else before.connections
    gone = [connection.key for connection in earlier if connection not in one.connections]
    if gone:
        await session.execute(
            delete(PersonaConnection).where(PersonaConnection.persona_id == row.id, PersonaConnection.key.in_(gone))
        )
    there = set(
        await session.scalars(select(PersonaConnection.character_id).where(PersonaConnection.persona_id == row.id))
    )
    new = [
        connection
        for connection in one.connections
        if connection not in earlier and characters.get(connection.key) not in there - {None}
    ]
    await add_connections(job.runtime, session, [(row, new)], characters)


async def _characters(session: AsyncSession, job: ImportJob, backed_up: Sequence[BackedUp]) -> dict[str, UUID]:
    """The characters of this source that personas are connected to, by the names of their files."""
    keys = {one.key for persona in backed_up for one in persona.connections if _is_character(one)}
    found: dict[str, UUID] = {}
    for key in sorted(keys):
        id = await job.target_of(session, f"characters/{key}")
        if id is not None:
            found[key] = id
    return found


def _is_character(connection: Connection) -> bool:
    return connection.kind == "character"


def _before(row: Persona) -> BackedUp:
    """What the settings said about a persona when they were imported last."""
    return read_entry(row.file.get("name", row.name), LooseObject(row.file["entry"], ReportBuilder()))


def _name_unnamed(rows: Mapping[str, Persona], backed_up: Sequence[BackedUp], user: tuple[str, str]) -> None:
    """SillyTavern has one name for everybody whose persona has none."""
    avatar, name = user
    row = rows.get(avatar)
    has_name = any(one.avatar == avatar for one in backed_up)
    if row is not None and name and not has_name and row.name == PurePosixPath(avatar).stem:
        row.name = titled(name, row.name)


async def _has_picture_of_file(session: AsyncSession, job: ImportJob, item: Item) -> bool:
    """Whether a persona still has the picture that an earlier import gave it."""
    file = await session.get(ImportedFile, (job.source_id, item.path))
    if file is None or item.target_id is None:
        return True
    return is_as_imported(file, await marker_of(session, "persona", item.target_id))


def _as_png(data: bytes) -> bytes:
    with opened(data) as image:
        return saved(bare_copy(image, LARGEST), "PNG")
