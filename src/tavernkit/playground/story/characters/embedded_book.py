"""The lorebook inside a card, edited as any other: a copy among the person's lorebooks, which is written back into the
card as a new version, and is gone then."""

from __future__ import annotations

from uuid import UUID, uuid5

from sqlalchemy import delete
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.lore import Book
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character, Lorebook
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.characters.cards import embedded_book, revise, stored_card
from tavernkit.playground.story.characters.queries import find_character, find_version
from tavernkit.playground.story.characters.service import character_to_change, edited_card
from tavernkit.playground.story.lorebooks.entry_fields import as_character_book
from tavernkit.playground.story.lorebooks.queries import all_entries, lorebook_of
from tavernkit.playground.story.lorebooks.service import store_book
from tavernkit.values import Value

OF_CARD = "card"
"""Where the data of a copy says which character it is of, and which version of the card."""


class BookDraft(Value, frozen=True, kw_only=True):
    """The copy that is being edited. `is_behind`: the card's own book was changed after the copy was made."""

    character: Character
    book: Lorebook | None
    is_behind: bool


async def edit_embedded_book(runtime: Runtime, viewer: Viewer, character_id: UUID) -> Lorebook:
    """The copy that is there, or a new one of the card's lorebook, or an empty one for a card without."""
    async with runtime.database.write() as session:
        row = await character_to_change(session, viewer, character_id, None)
        draft = await _draft(session, viewer, row.id)
        if draft is None:
            # One that was put into the trash makes room: copies have one id.
            await session.execute(delete(Lorebook).where(Lorebook.id == _draft_id(viewer, row.id)))
            book = embedded_book(row) or Book(name=row.name)
            draft = await store_book(
                runtime, session, viewer.user_id, book, name=book.name or row.name, id=_draft_id(viewer, row.id)
            )
            draft.data = {**draft.data, OF_CARD: {"character_id": str(row.id), "version": row.version}}
        return draft


async def read_draft(runtime: Runtime, viewer: Viewer, character_id: UUID) -> BookDraft:
    """The character, and the copy of its lorebook if there is one."""
    async with runtime.database.read() as session:
        row = await find_character(session, character_id, viewer)
        draft = await _draft(session, viewer, row.id)
        made_of = row.version if draft is None else draft.data[OF_CARD]["version"]
        before = None if made_of == row.version else await find_version(session, row.id, made_of)
    changed = before is not None and before.data["data"].get("character_book") != row.data["data"].get("character_book")
    return BookDraft(character=row, book=draft, is_behind=changed)


async def save_embedded_book(runtime: Runtime, viewer: Viewer, character_id: UUID, *, version: int) -> Character:
    """Write the copy into the card, in place of its lorebook, and remove the copy."""
    async with runtime.database.write() as session:
        row = await character_to_change(session, viewer, character_id, version)
        draft = existing(await _draft(session, viewer, row.id), _("lorebook"))
        draft = await lorebook_of(session, viewer, draft.id, lock=True)
        forms = [entry.data for entry in await all_entries(session, draft.id)]
        book = as_character_book({key: value for key, value in draft.data.items() if key != OF_CARD}, forms)
        edited = edited_card(stored_card(row), {"character_book": book})
        await revise(session, runtime, row, edited, "edited", runtime.clock())
        await session.execute(delete(Lorebook).where(Lorebook.id == draft.id))
        return row


def _draft_id(viewer: Viewer, character_id: UUID) -> UUID:
    """One copy for each person and character."""
    return uuid5(character_id, str(viewer.user_id))


async def _draft(session: AsyncSession, viewer: Viewer, character_id: UUID) -> Lorebook | None:
    row = await session.get(Lorebook, _draft_id(viewer, character_id))
    return row if row is not None and row.status == "ready" else None
