"""Changing characters: making one, editing, going back, copying, deleting, and another picture."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import Select, delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import characters
from tavernkit.characters import CharacterCard
from tavernkit.characters.ingest.charx import embedded_path, main_icon
from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.blobs.pictures import PictureError
from tavernkit.playground.base.blobs.store import remove_unused, store
from tavernkit.playground.base.database.models import (
    Character,
    CharacterAsset,
    CharacterVersion,
    Conversation,
    LorebookLink,
    Message,
    Space,
    SpaceMembership,
    User,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import sentence_of
from tavernkit.playground.base.refused import Refused, existing, stale
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable
from tavernkit.playground.story.access.access import append_space_event
from tavernkit.playground.story.characters.cards import fill, revise, set_own_tags, stored_card
from tavernkit.playground.story.characters.documents import CharacterOut
from tavernkit.playground.story.characters.files import read_picture, reason_of
from tavernkit.playground.story.characters.queries import assets_of, find_character, find_version, has_spoken
from tavernkit.playground.story.lorebooks.links import CARD, book_name, link_named_book
from tavernkit.playground.story.messages.service import select_swipe
from tavernkit.playground.story.retention import EXPIRED, time_in_trash
from tavernkit.playground.story.runs.round_control import members_changed
from tavernkit.playground.story.spaces.service import start_story


async def begin_story(runtime: Runtime, viewer: Viewer, character_id: UUID, *, greeting: int) -> Conversation:
    """Make a space with the character; `greeting` counts its greetings that are not blank, from 0.

    All of them are versions of the first message. If there is none of this number, the first one is told.
    """
    async with runtime.database.read() as session:
        person = await session.get_one(User, viewer.user_id)
    started = await start_story(runtime, person, character_id)
    if greeting == 0:
        return started
    async with runtime.database.read() as session:
        first = await session.scalar(
            select(Message.id).where(Message.conversation_id == started.id).order_by(Message.seq).limit(1)
        )
    if first is not None:
        with suppress(Refused):
            await select_swipe(runtime, viewer, first, greeting)
    return started


async def create_character(runtime: Runtime, viewer: Viewer, fields: dict[str, Any]) -> Character:
    """Make a character from fields of a card, named as the card's specification names them."""
    now = runtime.clock()
    made = int(now.timestamp())
    begun = characters.Character(name="", creation_date=made, modification_date=made)
    row = Character(id=runtime.ids(), owner_id=viewer.user_id, spec_version=3, created_at=now, updated_at=now)
    fill(row, edited_card(CharacterCard(character=begun), {"name": "", **fields}))
    async with runtime.database.write() as session:
        session.add(row)
        await session.flush()
        await _link_named_book(session, runtime, row, before="")
        return row


async def edit_character(
    runtime: Runtime, viewer: Viewer, character_id: UUID, *, version: int, fields: dict[str, Any]
) -> Character:
    """Change fields of the card, named as the card's specification names them. Without a difference nothing is made."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        row = await character_to_change(session, viewer, character_id, version)
        edited = edited_card(stored_card(row), fields)
        if characters.write_card(edited) == row.data:
            return row
        before = book_name(row.data, *CARD)
        if edited.character.modification_date is not None:
            dated = edited.character.with_(modification_date=int(now.timestamp()))
            edited = edited.with_(character=dated)
        await revise(session, runtime, row, edited, "edited", now)
        await _link_named_book(session, runtime, row, before=before)
        return row


def edited_card(card: CharacterCard, fields: dict[str, Any]) -> CharacterCard:
    """The card with these fields, or a refusal that says what cannot stand there."""
    if "name" in fields and not storable(fields["name"]).strip():
        raise Refused("blank", _("A character needs a name."))
    try:
        edited = card.with_(character=card.character.with_(**_read_fields(fields)))
        characters.write_card(edited)
    except TavernKitError as error:
        raise Refused("invalid", _("The card cannot be saved: {reason}", reason=reason_of(error))) from None
    return edited


async def restore_version(
    runtime: Runtime, viewer: Viewer, character_id: UUID, *, version: int, number: int
) -> Character:
    """Make an earlier card the newest one; the one in between is kept. Pictures and files stay as they are."""
    async with runtime.database.write() as session:
        row = await character_to_change(session, viewer, character_id, version)
        earlier = existing(await find_version(session, row.id, number), _("version"))
        card = characters.read_card(earlier.data)[0]
        await revise(session, runtime, row, card, "restored", runtime.clock())
        row.file_sha256 = earlier.file_sha256
        return row


async def duplicate_character(runtime: Runtime, viewer: Viewer, character_id: UUID) -> Character:
    """A copy of one's own, with its pictures and files and without its past; also of what is everybody's."""
    now = runtime.clock()
    async with runtime.database.write() as session:
        row = await find_character(session, character_id, viewer)
        copy = Character(
            id=runtime.ids(),
            owner_id=viewer.user_id,
            spec_version=row.spec_version,
            own_tags=row.own_tags,
            avatar_sha256=row.avatar_sha256,
            thumbnail_sha256=row.thumbnail_sha256,
            created_at=now,
            updated_at=now,
        )
        fill(copy, stored_card(row))
        session.add(copy)
        await session.flush()
        session.add_all(
            CharacterAsset(
                id=runtime.ids(),
                character_id=copy.id,
                kind=asset.kind,
                name=asset.name,
                ext=asset.ext,
                uri=asset.uri,
                sha256=asset.sha256,
            )
            for asset in await assets_of(session, row.id)
        )
        return copy


async def set_avatar(
    runtime: Runtime, viewer: Viewer, character_id: UUID, picture: bytes, *, version: int | None = None
) -> Character:
    """Give a character another picture. An icon that the card brought along makes room for it."""
    try:
        read = await asyncio.to_thread(read_picture, picture)
    except PictureError as error:
        raise Refused("invalid", sentence_of(error)) from None
    now = runtime.clock()
    async with runtime.database.write() as session:
        row = await character_to_change(session, viewer, character_id, version)
        unused = [row.avatar_sha256, row.thumbnail_sha256]
        await store(session, (read.png, read.thumbnail), now)
        row.avatar_sha256, row.thumbnail_sha256 = read.png.sha256, read.thumbnail.sha256
        unused += await _drop_icon(session, runtime, row)
        row.updated_at = now
        await remove_unused(session, unused)
        return row


async def change_own_tags(runtime: Runtime, viewer: Viewer, character_id: UUID, tags: Sequence[str]) -> Character:
    """Give a character tags of one's own; the card and its versions stay as they are."""
    async with runtime.database.write() as session:
        row = await character_to_change(session, viewer, character_id, None)
        set_own_tags(row, tags)
        return row


async def delete_character(runtime: Runtime, viewer: Viewer, character_id: UUID) -> Character:
    """Put a character into the trash, and take it out of every space."""
    async with runtime.database.write() as session:
        row = await find_character(session, character_id, viewer, to_change=True)
        row.status, row.trashed_at = "deleting", await time_in_trash(session, runtime, viewer)
        # Who restores it finds by this time which spaces it is to come back to.
        now = runtime.clock() if row.trashed_at == EXPIRED else row.trashed_at
        await _leave_spaces(session, runtime, viewer, row, now)
        return row


async def return_character(session: AsyncSession, runtime: Runtime, row: Character) -> None:
    """Take a character, which is locked, out of the trash, into the spaces that it was taken out of when it was put
    there."""
    left_with_it = (SpaceMembership.character_id == row.id, SpaceMembership.removed_at == row.trashed_at)
    where = select(SpaceMembership.space_id).where(*left_with_it)
    await _lock_spaces(session, where)
    back = await session.scalars(
        update(SpaceMembership)
        .where(*left_with_it, SpaceMembership.status == "removed")
        .values(status="active", removed_at=None, removed_by_id=None, removed_reason=None)
        .returning(SpaceMembership.space_id)
    )
    row.status, row.trashed_at = "ready", None
    for space_id in sorted(back):
        await append_space_event(session, space_id, "members", runtime.clock())


async def remove_character(session: AsyncSession, row: Character, now: datetime) -> None:
    """Delete a character, which is locked, for good.

    One that has spoken stays as a row with its name and its small picture, so that what it said can still be told; its
    card, versions and files are gone. One that never spoke is gone altogether.
    """
    spoken = await has_spoken(session, row.id)
    unused = [row.avatar_sha256, None if spoken else row.thumbnail_sha256]
    unused += [asset.sha256 for asset in await assets_of(session, row.id)]
    if spoken:
        await _empty(session, row)
        row.status, row.deleted_at, row.updated_at, row.trashed_at = "deleted", now, now, None
    else:
        await session.execute(
            update(SpaceMembership).where(SpaceMembership.character_id == row.id).values(character_id=None)
        )
        await session.delete(row)
    await remove_unused(session, unused)


async def _leave_spaces(session: AsyncSession, runtime: Runtime, viewer: Viewer, row: Character, now: datetime) -> None:
    where = select(SpaceMembership.space_id).where(
        SpaceMembership.character_id == row.id, SpaceMembership.status == "active"
    )
    await _lock_spaces(session, where)
    left = await session.scalars(
        update(SpaceMembership)
        .where(SpaceMembership.character_id == row.id, SpaceMembership.status == "active")
        .values(
            status="removed",
            removed_at=now,
            removed_by_id=viewer.user_id,
            removed_reason=str(_("The character was deleted.")),
        )
        .returning(SpaceMembership.space_id)
    )
    for space_id in sorted(left):
        await append_space_event(session, space_id, "members", now)
        await members_changed(session, runtime, space_id)


async def _lock_spaces(session: AsyncSession, ids: Select[UUID]) -> None:
    await session.execute(select(Space.id).where(Space.id.in_(ids)).order_by(Space.id).with_for_update(key_share=True))


async def character_to_change(
    session: AsyncSession, viewer: Viewer, character_id: UUID, version: int | None
) -> Character:
    """The locked row, if it is still what the person has seen."""
    row = await find_character(session, character_id, viewer, to_change=True)
    if version is not None and row.version != version:
        current = CharacterOut.with_card(row, await assets_of(session, row.id))
        raise stale(_("character"), current)
    return row


def _read_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields as the library reads them from a card, so that they have the right types."""
    data = {"name": "Somebody", **fields, **fields.get("unknown", {})}
    data.pop("unknown", None)
    read = characters.read_card({"spec": "chara_card_v3", "spec_version": "3.0", "data": data})[0].character
    known = msgspec.structs.asdict(read)
    return {field: known[field] for field in fields}


async def _link_named_book(session: AsyncSession, runtime: Runtime, row: Character, *, before: str) -> None:
    """Link the lorebook that the card names, where it named another one before and there is such a book."""
    name = book_name(row.data, *CARD)
    if row.owner_id is not None and name not in ("", before):
        await link_named_book(runtime, session, row.owner_id, name, character_id=row.id)


async def _drop_icon(session: AsyncSession, runtime: Runtime, row: Character) -> list[str]:
    """Take away the main icon among the character's files; the card then refers to the picture beside it."""
    card = stored_card(row)
    references = card.character.assets or ()
    icon = main_icon(references)
    if icon is None:
        return []
    path = embedded_path(icon.uri)
    unused = [
        (asset.id, asset.sha256) for asset in await assets_of(session, row.id) if embedded_path(asset.uri) == path
    ]
    if not unused:
        return []
    await session.execute(delete(CharacterAsset).where(CharacterAsset.id.in_([id for id, sha256 in unused])))
    default = icon.with_(uri="ccdefault:")
    kept = tuple(default if reference is icon else reference for reference in references)
    edited = card.with_(character=card.character.with_(assets=kept))
    await revise(session, runtime, row, edited, "picture", runtime.clock())
    return [sha256 for id, sha256 in unused]


async def _empty(session: AsyncSession, row: Character) -> None:
    """Leave nothing of a character but its name and its small picture."""
    name, nickname = row.name, row.nickname
    row.own_tags, row.file = [], {}
    fill(row, CharacterCard(character=characters.Character(name=name, nickname=nickname)))
    row.avatar_sha256 = row.file_sha256 = None
    for table in (CharacterAsset, CharacterVersion, LorebookLink):
        await session.execute(delete(table).where(table.character_id == row.id))
