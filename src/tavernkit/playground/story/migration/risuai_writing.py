"""What was imported from RisuAI, or was made here, as parts of its database. What nobody has changed is as it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from urllib.parse import unquote
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.chats import ChatFile, read_chat
from tavernkit.lore import Book
from tavernkit.migration.files import FileKind
from tavernkit.migration.risuai import encode_part, file_to_chat
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    ImportedFile,
    Lorebook,
    Persona,
    Preset,
    Space,
    SpaceMembership,
)
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.access.personas import locked_persona
from tavernkit.playground.story.characters.cards import stored_card
from tavernkit.playground.story.chatfiles.exporting import export_chat, written_chat
from tavernkit.playground.story.lorebooks.entry_fields import book_form, decode_book, entry_forms
from tavernkit.playground.story.lorebooks.queries import all_entries
from tavernkit.playground.story.migration.outcomes import stem_of
from tavernkit.playground.story.migration.risuai_characters import EMBEDDED, GROUP, card_of, members_of_group
from tavernkit.playground.story.migration.risuai_chats import TITLE
from tavernkit.playground.story.migration.risuai_source import loose, read_part
from tavernkit.playground.story.migration.risuai_spaces import lore_book, lore_id
from tavernkit.playground.story.paths.variables import read_globals
from tavernkit.risuai.book_import import entries_from_book
from tavernkit.risuai.cards import from_card
from tavernkit.risuai.character import read_character
from tavernkit.risuai.lore_entry import LoreEntry, write_lore_entry
from tavernkit.values import Json, JsonObject

BOUND = "bindedPersona"
"""Where a chat says which persona it is bound to; the misspelling is RisuAI's."""
_FILES = ("emotionImages", "additionalAssets", "ccAssets")


async def risuai_bytes(
    runtime: Runtime,
    viewer: Viewer,
    kind: FileKind,
    target_id: UUID,
    original: bytes | None = None,
    *,
    source_id: UUID | None = None,
) -> bytes | None:
    """A part of RisuAI's database as its target is now; None where that is gone.

    `original` is the part that it was imported from, and `source_id` the source; without them, it was made here. The
    target of a chat is a conversation, of a group a space, of a module a preset, of the database itself the person.
    """
    part = None if original is None else read_part(original, kind)
    async with runtime.database.read() as session:
        match kind:
            case "risuai_character" if part is not None and part.get("type") == GROUP:
                written = await _group(session, target_id, part, source_id)
            case "risuai_character":
                written = await _character(session, target_id, part)
            case "risuai_persona":
                written = await _persona(session, target_id, part)
            case "risuai_module" | "risuai_preset":
                written = await _preset(session, target_id)
            case "risuai_root":
                written = await _root(session, target_id, part or {})
            case _:
                written = await _chat(runtime, viewer, session, target_id, part, source_id)
    return None if written is None else encode_part(written)


async def _character(session: AsyncSession, id: UUID, original: JsonObject | None) -> dict[str, Json] | None:
    """A character as RisuAI would import the card; of one that was imported, what has changed since."""
    row = await session.get(Character, id)
    if row is None or row.status != "ready":
        return None
    now = _as_stored(from_card(stored_card(row).character, id=str(row.id)).written)
    if original is None:
        return {"type": "character", **now, "image": "", "chats": [], "chatFolders": [], "chatPage": 0}
    card = card_of(read_character(loose(original)))
    before = _as_stored(from_card(card.character, id=str(row.id)).written)
    return {**original, **{key: value for key, value in now.items() if before.get(key) != value}}


def _as_stored(fields: JsonObject) -> dict[str, Json]:
    """The fields of a character with RisuAI's own paths of its files."""
    return {key: _with_paths(value) if key in _FILES else value for key, value in fields.items()}


def _with_paths(value: Json) -> Json:
    match value:
        case str():
            return value.removeprefix(EMBEDDED)
        case list():
            return [_with_paths(item) for item in value]
        case dict():
            return {key: _with_paths(item) for key, item in value.items()}
        case _:
            return value


async def _group(
    session: AsyncSession, id: UUID, original: dict[str, Json], source_id: UUID | None
) -> dict[str, Json] | None:
    """A group with the members that its space has now."""
    space = await session.get(Space, id)
    if space is None or space.status == "deleting":
        return None
    ids = await _ids(session, source_id, "character")
    rows = await session.scalars(
        select(SpaceMembership)
        .where(
            SpaceMembership.space_id == id,
            SpaceMembership.kind == "character",
            SpaceMembership.status == "active",
        )
        .order_by(SpaceMembership.position)
    )
    now = [
        (ids.get(row.character_id, str(row.character_id)), row.talkativeness, row.participation != "active")
        for row in rows
    ]
    known = set(ids.values())
    before = [
        (member.id, member.talkativeness, member.is_muted)
        for member in members_of_group(original)
        if member.id in known
    ]
    written = dict(original)
    if now != before:
        written |= {
            "characters": [id for id, _talk, _muted in now],
            "characterTalks": [1 if talk is None else talk for _id, talk, _muted in now],
            "characterActive": [not is_muted for _id, _talk, is_muted in now],
        }
    lore = await _lore(session, id, loose(original).items("globalLore"))
    if lore is not None:
        written["globalLore"] = lore
    return written | _renamed(original, space.name, "name")


async def _ids(
    session: AsyncSession, source_id: UUID | None, kind: Literal["character", "persona"]
) -> dict[UUID | None, str]:
    """The ids that characters or personas have in RisuAI, by their ids here."""
    rows = await session.execute(
        select(ImportedFile.target_id, ImportedFile.path).where(
            ImportedFile.source_id == source_id,
            ImportedFile.kind == f"risuai_{kind}",
            ImportedFile.target_kind == kind,
        )
    )
    return {id: unquote(stem_of(path)) for id, path in rows}


async def _persona(session: AsyncSession, id: UUID, original: JsonObject | None) -> dict[str, Json] | None:
    row = await session.get(Persona, id)
    if row is None or row.trashed_at is not None:
        return None
    if original is None:
        return {"name": row.name, "personaPrompt": row.description, "icon": "", "id": str(row.id), "note": ""}
    changed = {} if original.get("personaPrompt") == row.description else {"personaPrompt": row.description}
    return {**original, **changed, **_renamed(original, row.name, "name")}


async def _preset(session: AsyncSession, id: UUID) -> dict[str, Json] | None:
    """A preset or a module: what is stored is the file."""
    row = await session.get(Preset, id)
    if row is None or row.trashed_at is not None:
        return None
    fields = dict(row.data)
    if row.kind == "module" and not fields.get("id"):
        fields["id"] = str(row.id)
    return fields if titled(str(fields.get("name", "")), "") else {**fields, "name": row.name}


async def _root(session: AsyncSession, user_id: UUID, original: JsonObject) -> dict[str, Json]:
    """The database with its variables as they are now; others of the person are not RisuAI's."""
    before, now = loose(original).object("globalChatVariables"), await read_globals(session, user_id)
    variables = {name: now[name] for name in before if name in now}
    return {**original, "globalChatVariables": variables} if variables != before else dict(original)


async def _chat(
    runtime: Runtime,
    viewer: Viewer,
    session: AsyncSession,
    id: UUID,
    original: JsonObject | None,
    source_id: UUID | None,
) -> dict[str, Json] | None:
    conversation = await session.get(Conversation, id)
    if conversation is None or conversation.status == "deleting":
        return None
    export = await export_chat(runtime, viewer, id)
    text = "".join([piece async for piece in written_chat(runtime, export, "jsonl")])
    (file,), _report = read_chat(text) if text else ((ChatFile(),), None)
    begun: dict[str, Json] = {"message": [], "note": "", "name": TITLE, "localLore": [], "id": str(id)}
    cards = await _cards(session, conversation.space_id)
    ids = await _ids(session, source_id, "character")
    names = {card.nickname or card.name: ids.get(card.id, str(card.id)) for card in cards}
    written = file_to_chat(
        file,
        begun if original is None else original,
        greetings=stored_card(cards[0]).character.greetings if len(cards) == 1 else (),
        members=names if len(cards) > 1 else {},
        lore=await _lore(session, id, loose(original or {}).items("localLore")),
    )
    written |= await _bound_persona(session, viewer, id, original or begun, source_id)
    return written | _renamed(original or begun, conversation.title, "name", otherwise=TITLE)


async def _bound_persona(
    session: AsyncSession, viewer: Viewer, conversation_id: UUID, original: JsonObject, source_id: UUID | None
) -> dict[str, Json]:
    """The persona that a chat is bound to, where it is not the one that was imported. One that RisuAI names and that is
    not here stays."""
    ids = await _ids(session, source_id, "persona")
    persona = await locked_persona(session, conversation_id, viewer.user_id)
    before, now = original.get(BOUND) or "", "" if persona is None else ids.get(persona.id, str(persona.id))
    return {} if now == before or (persona is None and before not in ids.values()) else {BOUND: now}


async def _cards(session: AsyncSession, space_id: UUID) -> Sequence[Character]:
    found = await session.scalars(
        select(Character)
        .join(SpaceMembership, SpaceMembership.character_id == Character.id)
        .where(SpaceMembership.space_id == space_id, SpaceMembership.status == "active", Character.status == "ready")
        .order_by(SpaceMembership.position)
    )
    return found.all()


async def _lore(session: AsyncSession, place_id: UUID, original: Sequence[Json]) -> list[Json] | None:
    """The lore of a chat or a group as its lorebook is now; None where it has not changed."""
    row = await session.get(Lorebook, lore_id(place_id))
    if row is None or row.status != "ready":
        return [] if original else None
    before = _entries(lore_book(original))
    forms = [entry.data for entry in await all_entries(session, row.id)]
    now = entries_from_book(decode_book(row.data, forms, name=row.name))
    if now == before:
        return None
    # RisuAI's own objects say more than an entry does.
    known = dict(zip(map(_mark, before), original, strict=False))
    return [known.get(_mark(entry), write_lore_entry(entry)) for entry in now]


def _entries(book: Book) -> tuple[LoreEntry, ...]:
    """The entries of a book once it has been stored."""
    forms = [form for _uid, form, _entry in entry_forms(book)]
    return entries_from_book(decode_book(book_form(book), forms, name=""))


def _mark(entry: LoreEntry) -> str:
    return repr(write_lore_entry(entry))


def _renamed(original: JsonObject, name: str, key: str, *, otherwise: str = "") -> dict[str, Json]:
    """The name, where it is not the one that was imported."""
    before = original.get(key)
    return {} if isinstance(before, str) and titled(before, otherwise or name) == name else {key: name}
