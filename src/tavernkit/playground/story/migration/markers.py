"""Whether something is still what an import has made of a file: a marker that is another one after every change."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from uuid import UUID

from msgspec import convert
from sqlalchemy import ColumnElement, Select, and_, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    GlobalVariable,
    ImportedFile,
    Lorebook,
    LorebookLink,
    Persona,
    PersonaConnection,
    Preset,
    QuickReplyLink,
    QuickReplySet,
    ScriptList,
    SiteSetting,
    Space,
    SpaceMembership,
    User,
)
from tavernkit.playground.story.access.personas import is_own_persona
from tavernkit.playground.story.migration.items import ImportJob, TargetKind
from tavernkit.playground.story.migration.risuai_spaces import lore_id
from tavernkit.playground.story.presets.queries import default_key
from tavernkit.playground.story.quick_replies.queries import is_own_set

OUTDATED = ""
"""The marker of a file whose target says something else than the file: it is that of no target."""


async def marker_of(session: AsyncSession, target_kind: TargetKind, target_id: UUID) -> str | None:
    """What a target is at now; None where it is gone."""
    return await _MARKERS[target_kind](session, target_id)


async def marker_of_file(session: AsyncSession, file: ImportedFile) -> str | None:
    """What the target of a file is at now; None where it is gone, or there never was one."""
    target_kind = convert(file.target_kind, type=TargetKind | None)
    if target_kind is None or file.target_id is None:
        return None
    return await marker_of(session, target_kind, file.target_id)


def is_as_imported(file: ImportedFile, marker: str | None) -> bool:
    """Whether a file's target, of this marker, says what the file says. A picture only shows a persona, whatever else
    is known about it."""
    if marker is None:
        return False
    if file.kind == "persona_picture":
        return file.marker.rpartition(":")[2] == marker.rpartition(":")[2]
    return file.marker == marker


async def touching(session: AsyncSession, job: ImportJob, target_kind: TargetKind, target_id: UUID) -> None:
    """Called before an import changes what an earlier file became: as when a chat becomes a branch of another one.

    The earlier file has said so itself, so that its target counts as unchanged where it did before.
    """
    if (target_kind, target_id) not in job.touched:
        marker = await marker_of(session, target_kind, target_id)
        if marker is not None:
            job.touched[target_kind, target_id] = marker


async def refresh_markers(session: AsyncSession, job: ImportJob) -> None:
    """Write the new markers of everything that was touched."""
    for (target_kind, target_id), before in job.touched.items():
        marker = await marker_of(session, target_kind, target_id)
        if marker not in (None, before):
            of_target = (ImportedFile.target_kind == target_kind, ImportedFile.target_id == target_id)
            await session.execute(
                update(ImportedFile).where(*of_target, ImportedFile.marker == before).values(marker=marker),
                execution_options={"synchronize_session": False},
            )
    job.touched.clear()


async def _joined(session: AsyncSession, query: Select[*tuple[Any, ...]]) -> str | None:
    row = (await session.execute(query)).one_or_none()
    return None if row is None else ":".join("" if value is None else str(value) for value in row)


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


async def _rows(session: AsyncSession, query: Select[*tuple[Any, ...]]) -> list[str]:
    return sorted(repr(tuple(row)) for row in await session.execute(query))


async def _character(session: AsyncSession, id: UUID) -> str | None:
    columns = select(Character.version, Character.avatar_sha256)
    return await _joined(session, columns.where(Character.id == id, Character.status == "ready"))


async def _lorebook(session: AsyncSession, id: UUID) -> str | None:
    counted = select(Lorebook.settings_version).where(Lorebook.id == id, Lorebook.status == "ready")
    return await _joined(session, counted)


async def _preset(session: AsyncSession, id: UUID) -> str | None:
    return await _joined(session, select(Preset.settings_version).where(Preset.id == id, Preset.trashed_at.is_(None)))


async def _quick_replies(session: AsyncSession, id: UUID) -> str | None:
    return await _joined(
        session,
        select(QuickReplySet.settings_version).where(QuickReplySet.id == id, QuickReplySet.trashed_at.is_(None)),
    )


async def _persona(session: AsyncSession, id: UUID) -> str | None:
    return await _joined(
        session,
        select(Persona.settings_version, Persona.avatar_sha256).where(Persona.id == id, Persona.trashed_at.is_(None)),
    )


async def _space(session: AsyncSession, id: UUID) -> str | None:
    """A group's file names its members and its chats."""
    version = await session.scalar(select(Space.settings_version).where(Space.id == id, Space.status != "deleting"))
    if version is None:
        return None
    member = SpaceMembership
    members = select(member.id, member.status, member.settings_version, member.position).where(member.space_id == id)
    is_here = (Conversation.space_id == id, Conversation.status != "deleting")
    chats = select(func.count(), func.max(Conversation.created_at)).where(*is_here)
    lore = await session.scalar(select(Lorebook.settings_version).where(*_is_lore_of(id)))
    of_lore = "" if lore is None else f":{lore}"
    return f"{version}:{_digest(await _rows(session, members), await _rows(session, chats))}{of_lore}"


async def _conversation(session: AsyncSession, id: UUID) -> str | None:
    """Every change of its own moves its time; one of its space does not. A chat of RisuAI may have lore of its own."""
    row = Conversation
    columns = select(row.updated_at, row.last_seq, row.settings_version, Lorebook.settings_version)
    in_use = columns.join(Space, Space.id == row.space_id).where(Space.status != "deleting")
    with_lore = in_use.outerjoin(Lorebook, and_(*_is_lore_of(id)))
    marker = await _joined(session, with_lore.where(row.id == id, row.status != "deleting"))
    return None if marker is None else marker.removesuffix(":")


def _is_lore_of(id: UUID) -> tuple[ColumnElement[bool], ...]:
    """True of the lorebook that was made of the lore of a chat or a group, unless it is in the trash."""
    return Lorebook.id == lore_id(id), Lorebook.status == "ready"


async def _settings(session: AsyncSession, id: UUID) -> str | None:
    """Everything that a settings file has and no other file: personas, what they, characters and all stories are linked
    with, own tags, scripts, variables, which preset is the default."""
    if await session.scalar(select(User.id).where(User.id == id)) is None:
        return None
    own, link, connection, used = LorebookLink.lorebook_id, LorebookLink, PersonaConnection, QuickReplyLink
    parts = [
        select(Persona.id, Persona.settings_version, Persona.avatar_sha256).where(*is_own_persona(id)),
        select(connection.id, connection.position).where(
            connection.owner_id == id, connection.conversation_id.is_(None)
        ),
        select(link.id, link.position, link.enabled)
        .join(Lorebook, Lorebook.id == own)
        .where(
            Lorebook.owner_id == id,
            Lorebook.status == "ready",
            link.conversation_id.is_(None),
            link.space_id.is_(None),
        ),
        select(used.id, used.position, used.visible)
        .join(QuickReplySet, QuickReplySet.id == used.set_id)
        .where(*is_own_set(id), used.space_id.is_(None)),
        select(Character.id, Character.own_tags).where(
            Character.owner_id == id, Character.status == "ready", Character.own_tags != []
        ),
        select(ScriptList.settings_version).where(ScriptList.owner_id == id),
        select(GlobalVariable.name, GlobalVariable.updated_at).where(GlobalVariable.user_id == id),
        select(SiteSetting.updated_at).where(SiteSetting.key == default_key(id)),
    ]
    return _digest(*[await _rows(session, part) for part in parts])


_MARKERS: Mapping[TargetKind, Callable[[AsyncSession, UUID], Awaitable[str | None]]] = {
    "character": _character,
    "lorebook": _lorebook,
    "preset": _preset,
    "quick_replies": _quick_replies,
    "persona": _persona,
    "space": _space,
    "conversation": _conversation,
    "settings": _settings,
}
