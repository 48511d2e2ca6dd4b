"""Books that a card, a chat or a persona names: linked at the import, whichever of the two comes first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, Text, select, type_coerce
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from tavernkit.playground.base.database.models import Character, Conversation, LorebookLink, Persona, Space
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.lorebooks.events import append_link_events
from tavernkit.playground.story.lorebooks.queries import links_of, newest_lorebooks
from tavernkit.values import Json

CARD = ("data", "extensions", "world")
CHAT = ("chat_file", "header", "chat_metadata", "world_info")
PERSONA = ("entry", "lorebook")
"""Where the data of a character, the settings of a conversation and the file of a persona name a book."""


def book_name(document: Json, *path: str) -> str:
    """The name of a book that a document gives at this path, as books are called here; empty where it gives none."""
    for step in path:
        document = document.get(step) if isinstance(document, dict) else None
    return titled(document, "") if isinstance(document, str) else ""


async def link_named_book(
    runtime: Runtime, session: AsyncSession, owner_id: UUID, name: str, **place: UUID | None
) -> bool:
    """Use the person's newest book of this name at a place; false where there is none."""
    books = await newest_lorebooks(session, owner_id, {name} if name else set())
    if name not in books:
        return False
    await link_book(runtime, session, books[name], name, [place])
    return True


async def link_book_of_chat(
    runtime: Runtime, session: AsyncSession, owner_id: UUID, conversation: Conversation
) -> None:
    """Use the book that an imported chat names in its conversation."""
    world = book_name(conversation.settings, *CHAT)
    await link_named_book(runtime, session, owner_id, world, conversation_id=conversation.id)


async def link_book(
    runtime: Runtime, session: AsyncSession, lorebook_id: UUID, name: str, places: Sequence[dict[str, UUID | None]]
) -> int:
    """Use a book at these places, behind the books that are there; one where a book of this name is used is left."""
    now = runtime.clock()
    links: list[LorebookLink] = []
    for place in places:
        there = await links_of(session, **place)
        if all(used != name for _, used in there):
            position = max((link.position for link, _ in there), default=-1) + 1
            links.append(
                LorebookLink(
                    id=runtime.ids(),
                    lorebook_id=lorebook_id,
                    enabled=True,
                    position=position,
                    created_at=now,
                    **place,
                )
            )
    session.add_all(links)
    await session.flush()
    await append_link_events(session, links, now)
    return len(links)


async def places_that_name(session: AsyncSession, owner_id: UUID, name: str) -> list[dict[str, UUID | None]]:
    """The person's characters, conversations and personas whose files name a book of this name."""
    cards = await session.execute(
        select(Character.id, Character.data).where(
            Character.owner_id == owner_id, Character.status == "ready", _holds(Character.data, "world", name)
        )
    )
    chats = await session.execute(
        select(Conversation.id, Conversation.settings)
        .join(Space, Space.id == Conversation.space_id)
        .where(Space.owner_id == owner_id, _holds(Conversation.settings, "world_info", name))
    )
    personas = await session.execute(
        select(Persona.id, Persona.file).where(Persona.owner_id == owner_id, _holds(Persona.file, "lorebook", name))
    )
    return [
        *({"character_id": id} for id, data in cards if book_name(data, *CARD) == name),
        *({"conversation_id": id} for id, data in chats if book_name(data, *CHAT) == name),
        *({"persona_id": id} for id, data in personas if book_name(data, *PERSONA) == name),
    ]


def _holds(column: InstrumentedAttribute[dict[str, Json]], key: str, value: str) -> ColumnElement[bool]:
    """Whether the text that a document is stored as has this field somewhere."""
    return type_coerce(column, Text).contains(f"{json.dumps(key)}: {json.dumps(value)}", autoescape=True)
