"""Where the lore entries are that a prompt's reasons name: those that are not in the prompt are no sources of it."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy import ColumnElement, or_, select

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    Lorebook,
    LorebookEntry,
    LorebookLink,
    Space,
    SpaceMembership,
)
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import may_edit
from tavernkit.prompt.sources import Explanation
from tavernkit.values import Value


class EntryPlaces(Value, frozen=True, kw_only=True):
    """Lorebooks with their entries, by the names of both; and the characters whose cards have a book of a name."""

    entries: Mapping[tuple[str, str], tuple[UUID, UUID]] = {}
    card_books: Mapping[str, UUID] = {}


async def find_entries(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, explanation: Explanation
) -> EntryPlaces:
    """The entries that an explanation of a prompt of this conversation names, of those that the viewer may change."""
    wanted = {(one.book, one.entry) for one in explanation.lore}
    async with runtime.database.read() as session:
        conversation = await session.get_one(Conversation, conversation_id)
        space = await session.get_one(Space, conversation.space_id)
        cast = select(SpaceMembership.character_id).where(SpaceMembership.space_id == space.id)
        places: list[ColumnElement[bool]] = [
            LorebookLink.user_id == space.owner_id,
            LorebookLink.space_id == space.id,
            LorebookLink.conversation_id == conversation.id,
            LorebookLink.character_id.in_(cast),
            LorebookLink.persona_id.is_not(None),
        ]
        rows = await session.execute(
            select(Lorebook.name, LorebookEntry.uid, Lorebook.id, LorebookEntry.id)
            .join(LorebookEntry, LorebookEntry.lorebook_id == Lorebook.id)
            .where(
                Lorebook.id.in_(select(LorebookLink.lorebook_id).where(or_(*places))),
                Lorebook.owner_id == viewer.user_id,
                Lorebook.status == "ready",
                Lorebook.name.in_({book for book, _entry in wanted}),
                LorebookEntry.uid.in_({int(uid) for _book, uid in wanted if uid.isascii() and uid.isdigit()}),
            )
        )
        characters = await session.scalars(select(Character).where(Character.id.in_(cast), Character.status == "ready"))
        return EntryPlaces(
            entries={(name, str(uid)): (lorebook_id, id) for name, uid, lorebook_id, id in rows},
            card_books={
                str(book.get("name") or ""): row.id
                for row in characters
                if may_edit(row, viewer) and isinstance(book := row.data.get("data", {}).get("character_book"), dict)
            },
        )
