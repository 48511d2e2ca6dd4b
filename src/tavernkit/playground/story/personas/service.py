"""What a person does with personas.

SillyTavern's backup of them has names and descriptions under the file names of their pictures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from anyio import to_thread
from sqlalchemy import delete, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.blobs.store import remove_unused, store
from tavernkit.playground.base.database.base import advance
from tavernkit.playground.base.database.models import Blob, Lorebook, LorebookLink, Persona, User
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import sentence_of
from tavernkit.playground.base.refused import Refused, existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable, titled
from tavernkit.playground.story.characters.files import PictureError, read_picture
from tavernkit.playground.story.lorebooks.links import PERSONA, book_name
from tavernkit.playground.story.lorebooks.queries import newest_lorebooks
from tavernkit.playground.story.personas.documents import NewPersona, PatchPersona, PersonaFields, PersonaOut
from tavernkit.reading import ImportReport, LooseObject, Note, ReportBuilder, parse_json
from tavernkit.sillytavern.story import PersonaPosition
from tavernkit.values import Json, JsonObject, Value

_POSITIONS: Mapping[int, str] = {place: place.name.lower() for place in PersonaPosition}
# Once a place of its own behind the character; SillyTavern itself now takes it for the one in the prompt.
_AFTER_CHARACTER = 1
_ROLES = ("system", "user", "assistant")
_UNSAFE = re.compile(r"[^\w-]+")
_MAX_PERSONAS = 5_000
_MAX_DEPTH = 10_000


class BackedUp(Value, frozen=True, kw_only=True):
    """A persona in a backup; `lorebook` is the name of its book.

    `avatar` is the file name of its picture, and `entry` everything that the backup has under it, also what has no
    place here, such as the title and the connections.
    """

    name: str
    description: str = ""
    position: str = "in_prompt"
    depth: int = 2
    role: str = "system"
    lorebook: str = ""
    is_default: bool = False
    avatar: str = ""
    entry: JsonObject = {}


def read_backup(data: bytes) -> tuple[list[BackedUp], ImportReport]:
    """Read a backup, or a whole `settings.json`. Raises ParseError when it is neither."""
    report = ReportBuilder()
    document = parse_json(data, what="The backup of personas")
    if isinstance(document, dict) and isinstance(document.get("power_user"), dict):
        document = document["power_user"]
    source = LooseObject(document if isinstance(document, dict) else {}, report)
    names, described = source.object("personas"), source.nested("persona_descriptions")
    default = source.optional_text("default_persona")
    if len(names) > _MAX_PERSONAS:
        report.ignored(
            "personas", _("{count} personas; only the first {limit} were read", count=len(names), limit=_MAX_PERSONAS)
        )
    if default is not None and default not in names:
        report.ignored("default_persona", _("the file has no persona “{name}”", name=storable(default[:100])))
    personas = [
        _read(name, described.nested(avatar)).with_(is_default=avatar == default, avatar=avatar)
        for avatar, name in list(names.items())[:_MAX_PERSONAS]
    ]
    return personas, report.build("personas")


def write_backup(personas: list[BackedUp]) -> dict[str, Json]:
    """The backup that SillyTavern restores.

    A persona that came from a backup keeps its file name there; another one gets one made of its place and name.
    """
    names: dict[str, Json] = {}
    descriptions: dict[str, Json] = {}
    default: str | None = None
    kept = {persona.avatar for persona in personas}
    for number, persona in enumerate(personas, start=1):
        avatar = persona.avatar
        if not avatar or avatar in names:
            made = f"{number}-{_UNSAFE.sub('', persona.name)[:50]}.png"
            avatar = f"_{made}" if made in kept else made
        names[avatar] = persona.name
        descriptions[avatar] = _entry(persona)
        default = avatar if persona.is_default else default
    return {"personas": names, "persona_descriptions": descriptions, "default_persona": default}


def _entry(persona: BackedUp) -> dict[str, Json]:
    """What a backup says about a persona: as it was read, with what has changed since."""
    now: dict[str, Json] = {
        "description": persona.description,
        "position": int(PersonaPosition[persona.position.upper()]),
        "depth": persona.depth,
        "role": _ROLES.index(persona.role),
        "lorebook": persona.lorebook,
    }
    if not persona.entry:
        return now
    before = _read(persona.name, LooseObject(persona.entry, ReportBuilder()))
    changed = {key: value for key, value in now.items() if getattr(persona, key) != getattr(before, key)}
    return {**persona.entry, **changed}


def _read(name: Json, source: LooseObject) -> BackedUp:
    position = source.integer("position")
    if position not in _POSITIONS and position != _AFTER_CHARACTER:
        source.report.ignored(
            source.at("position"), _("unknown position {position}; the prompt is used", position=str(position))
        )
    role = source.integer("role")
    persona = BackedUp(
        name=titled(name if isinstance(name, str) else "", "Persona"),
        description=storable(source.text("description")),
        position=_POSITIONS.get(position, "in_prompt"),
        depth=min(max(source.integer("depth", default=2), 0), _MAX_DEPTH),
        role=_ROLES[role] if 0 <= role < len(_ROLES) else "system",
        lorebook=titled(source.text("lorebook"), ""),
        entry=source.source,
    )
    for key in source.rest():
        source.report.add(source.at(key), "exact", "kept for the export; not used here")
    return persona


async def persona_for(session: AsyncSession, viewer: Viewer, persona_id: UUID, *, lock: bool = False) -> Persona:
    """One of the person's own personas."""
    query = select(Persona).where(Persona.id == persona_id, Persona.owner_id == viewer.user_id)
    return existing(await session.scalar(query.with_for_update() if lock else query), _("persona"))


async def personas_page(
    session: AsyncSession, viewer: Viewer, *, behind: tuple[str, UUID] | None, limit: int
) -> list[Persona]:
    """The person's personas by name."""
    query = select(Persona).where(Persona.owner_id == viewer.user_id)
    if behind is not None:
        query = query.where(tuple_(Persona.name, Persona.id) > behind)
    return list(await session.scalars(query.order_by(Persona.name, Persona.id).limit(limit)))


async def all_personas(session: AsyncSession, user_id: UUID) -> list[Persona]:
    """All personas of a person, oldest first."""
    found = await session.scalars(
        select(Persona).where(Persona.owner_id == user_id).order_by(Persona.created_at, Persona.name, Persona.id)
    )
    return list(found)


async def lorebook_names(session: AsyncSession, user_id: UUID) -> dict[UUID, str]:
    """The name of the first book of each of a person's personas."""
    rows = await session.execute(
        select(LorebookLink.persona_id, Lorebook.name)
        .join(Lorebook, Lorebook.id == LorebookLink.lorebook_id)
        .join(Persona, Persona.id == LorebookLink.persona_id)
        .where(Persona.owner_id == user_id)
        .order_by(LorebookLink.position.desc(), LorebookLink.created_at.desc())
    )
    return {persona_id: name for persona_id, name in rows if persona_id is not None}


MAX_PICTURE_BYTES = 16 * 1024 * 1024


async def set_picture(
    runtime: Runtime, viewer: Viewer, persona_id: UUID, data: bytes | None, *, settings_version: int
) -> Persona:
    """Give a persona a picture, which is kept small, or take it away."""
    try:
        picture = None if data is None else (await to_thread.run_sync(read_picture, data)).thumbnail
    except PictureError as error:
        raise Refused("invalid", sentence_of(error)) from None
    async with runtime.database.write() as session:
        row = await persona_for(session, viewer, persona_id, lock=True)
        advance(row, settings_version, what=_("persona"), current=PersonaOut.of_row(row))
        before = row.avatar_sha256
        if picture is not None:
            await store(session, [picture], runtime.clock())
        row.avatar_sha256 = None if picture is None else picture.sha256
        row.updated_at = runtime.clock()
        await remove_unused(session, [before])
        return row


MAX_BACKUP_BYTES = 16 * 1024 * 1024
NAMELESS = "Persona"
_PLACE = ("position", "depth", "role")
"""Where the description stands in the prompt."""


async def create_persona(runtime: Runtime, viewer: Viewer, new: NewPersona) -> Persona:
    """A new persona."""
    async with runtime.database.write() as session:
        await _check_picture(session, new.avatar_sha256)
        if new.is_default:
            await _no_default(session, viewer)
        row = _row(runtime, viewer, **new.model_dump(exclude={"name", "description"}))
        row.name, row.description = titled(new.name, NAMELESS), storable(new.description)
        session.add(row)
        return row


async def update_persona(runtime: Runtime, viewer: Viewer, persona_id: UUID, patch: PatchPersona) -> Persona:
    """Change a persona; making it the default takes that from the one before."""
    async with runtime.database.write() as session:
        row = await persona_for(session, viewer, persona_id, lock=True)
        await _check_picture(session, patch.avatar_sha256)
        advance(row, patch.settings_version, what=_("persona"), current=PersonaOut.of_row(row))
        if patch.is_default:
            await _no_default(session, viewer, besides=row.id)
        for field, value in patch.model_dump(exclude_none=True, include=set(PersonaFields.model_fields)).items():
            setattr(row, field, storable(value) if isinstance(value, str) else value)
        row.name = titled(row.name, NAMELESS)
        if "avatar_sha256" in patch.model_fields_set:
            row.avatar_sha256 = patch.avatar_sha256
        row.updated_at = runtime.clock()
        return row


async def duplicate_persona(runtime: Runtime, viewer: Viewer, persona_id: UUID) -> Persona:
    """A copy, with the same picture and the same books."""
    async with runtime.database.write() as session:
        row = await persona_for(session, viewer, persona_id)
        copied = {name: getattr(row, name) for name in ("description", "avatar_sha256", *_PLACE)}
        copy = _row(runtime, viewer, name=f"{row.name[:190]} (copy)", **copied)
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
        raise Refused("invalid", _("The file cannot be read: {reason}", reason=sentence_of(error))) from None
    if not backed_up:
        raise Refused(
            "invalid", _("The file has no personas. Choose a persona backup or settings.json of SillyTavern.")
        )
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
                placed = {name: getattr(one, name) for name in _PLACE}
                row = _row(runtime, viewer, name=one.name, description=one.description, **placed)
                rows.append(row)
                session.add(row)
                await session.flush()
                if one.lorebook in books:
                    session.add(_link(runtime, books[one.lorebook], row))
            if one.avatar and not row.file:
                row.file = {"avatar": one.avatar, "entry": dict(one.entry)}
            if one.is_default and default is None:
                row.is_default = True
            elif one.is_default and default is not row and default is not None:
                sentence = _(
                    "“{name}” does not become the default, because “{default}” is", name=row.name, default=default.name
                )
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
                **{name: getattr(row, name) for name in _PLACE},
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
