"""Changing characters: editing, going back, copying, deleting, and another picture.

The form of a card knows what its boxes hold, what somebody has changed in them, and whose words stay when two did.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from pydantic import ValidationError
from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.datastructures import FormData

from tavernkit import characters
from tavernkit.characters import CharacterCard
from tavernkit.characters.ingest.charx import embedded_path, main_icon
from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.viewer import Viewer
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
from tavernkit.playground.base.languages import listed, sentence_of
from tavernkit.playground.base.refused import Refused, existing, stale
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable
from tavernkit.playground.story.access.access import append_space_event
from tavernkit.playground.story.characters.cards import LABELS, fill, revise, stored_card
from tavernkit.playground.story.characters.documents import CardEdit, CharacterOut
from tavernkit.playground.story.characters.files import PictureError, read_picture, reason_of
from tavernkit.playground.story.characters.queries import assets_of, find_character, find_version, has_spoken
from tavernkit.playground.story.messages.service import select_swipe
from tavernkit.playground.story.runs.round_control import members_changed
from tavernkit.playground.story.spaces.service import start_story
from tavernkit.values import Value


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


async def edit_character(
    runtime: Runtime, viewer: Viewer, character_id: UUID, *, version: int, fields: dict[str, Any]
) -> Character:
    """Change fields of the card, named as the card's specification names them. Without a difference nothing is made."""
    if "name" in fields and not storable(fields["name"]).strip():
        raise Refused("blank", _("A character needs a name."))
    async with runtime.database.write() as session:
        row = await _to_change(session, viewer, character_id, version)
        card = stored_card(row)
        try:
            edited = card.with_(character=card.character.with_(**_read_fields(fields)))
            unchanged = characters.write_card(edited) == row.data
        except TavernKitError as error:
            raise Refused("invalid", _("The card cannot be saved: {reason}", reason=reason_of(error))) from None
        if not unchanged:
            await revise(session, runtime, row, edited, "edited", runtime.clock())
        return row


async def restore_version(
    runtime: Runtime, viewer: Viewer, character_id: UUID, *, version: int, number: int
) -> Character:
    """Make an earlier card the newest one; the one in between is kept. Pictures and files stay as they are."""
    async with runtime.database.write() as session:
        row = await _to_change(session, viewer, character_id, version)
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
        row = await _to_change(session, viewer, character_id, version)
        unused = [row.avatar_sha256, row.thumbnail_sha256]
        await store(session, (read.png, read.thumbnail), now)
        row.avatar_sha256, row.thumbnail_sha256 = read.png.sha256, read.thumbnail.sha256
        unused += await _drop_icon(session, runtime, row)
        row.updated_at = now
        await remove_unused(session, unused)
        return row


async def delete_character(runtime: Runtime, viewer: Viewer, character_id: UUID) -> Character:
    """Delete a character, and take it out of every space.

    One that has spoken stays as a row with its name and its small picture, so that what it said can still be told; its
    card, versions and files are gone. One that never spoke is gone altogether.
    """
    now = runtime.clock()
    async with runtime.database.write() as session:
        row = await find_character(session, character_id, viewer, to_change=True)
        spoken = await has_spoken(session, row.id)
        unused = [row.avatar_sha256, None if spoken else row.thumbnail_sha256]
        unused += [asset.sha256 for asset in await assets_of(session, row.id)]
        await _leave_spaces(session, runtime, viewer, row, now)
        if spoken:
            await _empty(session, row)
            row.status, row.deleted_at, row.updated_at = "deleted", now, now
        else:
            await session.execute(
                update(SpaceMembership).where(SpaceMembership.character_id == row.id).values(character_id=None)
            )
            await session.delete(row)
        await remove_unused(session, unused)
        return row


async def _leave_spaces(session: AsyncSession, runtime: Runtime, viewer: Viewer, row: Character, now: datetime) -> None:
    where = select(SpaceMembership.space_id).where(
        SpaceMembership.character_id == row.id, SpaceMembership.status == "active"
    )
    await session.execute(
        select(Space.id).where(Space.id.in_(where)).order_by(Space.id).with_for_update(key_share=True)
    )
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


async def _to_change(session: AsyncSession, viewer: Viewer, character_id: UUID, version: int | None) -> Character:
    """The locked row, if it is still what the person has seen."""
    row = await find_character(session, character_id, viewer, to_change=True)
    if version is not None and row.version != version:
        current = CharacterOut.with_card(row, await assets_of(session, row.id))
        raise stale(_("character"), current)
    return row


def _read_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields as the library reads them from a card, so that they have the right types."""
    read = characters.read_card(
        {"spec": "chara_card_v3", "spec_version": "3.0", "data": {"name": "Somebody", **fields}}
    )[0].character
    known = msgspec.structs.asdict(read)
    return {field: known[field] for field in fields}


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
    fill(row, CharacterCard(character=characters.Character(name=name, nickname=nickname)))
    row.avatar_sha256 = row.file_sha256 = None
    for table in (CharacterAsset, CharacterVersion, LorebookLink):
        await session.execute(delete(table).where(table.character_id == row.id))


TEXTS = (
    "name", "nickname", "description", "personality", "scenario", "first_mes", "mes_example", "creator_notes",
    "system_prompt", "post_history_instructions", "creator", "character_version",
)  # fmt: skip
GREETINGS = ("alternate_greetings", "group_only_greetings")
BETWEEN_GREETINGS = "\n\n⁂\n\n"


class CardForm(Value, frozen=True, kw_only=True):
    """What the boxes hold: texts by the name of their field, and greetings, none of them blank."""

    texts: dict[str, str]
    greetings: dict[str, tuple[str, ...]]

    def shown(self) -> dict[str, str]:
        """One text for each field."""
        return {**self.texts, **{field: BETWEEN_GREETINGS.join(texts) for field, texts in self.greetings.items()}}


class MergedForm(Value, frozen=True, kw_only=True):
    """What somebody typed, with everybody else's changes where they typed nothing.

    `now` is what the card says where both changed the same field.
    """

    form: CardForm
    now: dict[str, str]


def form_of(card: Mapping[str, Any]) -> CardForm:
    """The boxes for a stored card, with texts as a browser would send them back."""
    character = characters.read_card(card)[0].character
    texts = {field: _as_typed(getattr(character, field) or "") for field in TEXTS}
    texts["tags"] = ", ".join(tag for tag in (" ".join(_as_typed(tag).split()) for tag in character.tags) if tag)
    return CardForm(texts=texts, greetings={field: _not_blank(getattr(character, field)) for field in GREETINGS})


def typed_form(sent: FormData, shown: CardForm) -> CardForm:
    """What was sent; boxes that were not sent are as they were."""

    def texts_of(field: str) -> list[str]:
        return [value for value in sent.getlist(field) if isinstance(value, str)]

    return CardForm(
        texts={field: _as_typed((texts_of(field) or [text])[0]) for field, text in shown.texts.items()},
        greetings={field: _not_blank(texts_of(field) or texts) for field, texts in shown.greetings.items()},
    )


async def save_form(runtime: Runtime, viewer: Viewer, row: Character, typed: CardForm, *, version: int) -> Character:
    """Change what differs from the boxes' contents. What nobody touched stays as the file wrote it, to the byte."""
    shown = form_of(row.data)
    changed: dict[str, Any] = {field: text for field, text in typed.texts.items() if text != shown.texts[field]}
    if "tags" in changed:
        changed["tags"] = [tag for tag in (tag.strip() for tag in changed["tags"].split(",")) if tag]
    if changed.get("nickname") == "":
        changed["nickname"] = None
    changed |= {field: list(texts) for field, texts in typed.greetings.items() if texts != shown.greetings[field]}
    try:
        edit = CardEdit(version=version, **changed)
    except ValidationError as error:
        fields = listed([LABELS[field] for field in sorted({str(problem["loc"][0]) for problem in error.errors()})])
        raise Refused("too_long", _("These fields are too long: {fields}. Shorten them.", fields=fields)) from None
    return await edit_character(runtime, viewer, row.id, version=version, fields=edit.fields())


async def merged_with_now(
    runtime: Runtime, viewer: Viewer, character_id: UUID, typed: CardForm, *, version: int
) -> tuple[Character, MergedForm]:
    """The character as it is now, and the form in which nobody's words are lost; `version` is what was typed on."""
    async with runtime.database.read() as session:
        row = await find_character(session, character_id, viewer)
        earlier = await find_version(session, row.id, version)
    now = form_of(row.data)
    before = None if earlier is None else form_of(earlier.data)
    form = typed if before is None else _merged(before, typed, now)
    kept, current, base = form.shown(), now.shown(), {} if before is None else before.shown()
    both = {field: text for field, text in current.items() if text not in (kept[field], base.get(field))}
    return row, MergedForm(form=form, now=both)


def _merged(before: CardForm, typed: CardForm, now: CardForm) -> CardForm:
    """What was typed, and what the card says now where nothing was."""
    return CardForm(
        texts={field: now.texts[field] if text == before.texts[field] else text for field, text in typed.texts.items()},
        greetings={
            field: now.greetings[field] if texts == before.greetings[field] else texts
            for field, texts in typed.greetings.items()
        },
    )


def _as_typed(text: str) -> str:
    return storable(text).replace("\r\n", "\n").replace("\r", "\n")


def _not_blank(texts: Any) -> tuple[str, ...]:
    return tuple(text for text in map(_as_typed, texts) if text.strip())
