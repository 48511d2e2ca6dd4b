"""What the header of a chat names: its lorebook, its persona, and effects of lorebook entries that last.

All are looked for among what the same folder has become. What is missing stays named in what is kept of the file, and
is linked when it is imported.
"""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.lore.book import Book
from tavernkit.playground.base.database.models import Conversation, ImportedFile, Lorebook, Persona
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.story.access.personas import is_own_persona, lock_to, persona_with_avatar
from tavernkit.playground.story.chatfiles.messages import TIMERS, timed_effects
from tavernkit.playground.story.lorebooks.links import link_book, link_named_book
from tavernkit.playground.story.lorebooks.queries import BookCache, decoded_book
from tavernkit.playground.story.migration.items import ImportJob
from tavernkit.playground.story.paths.state import State
from tavernkit.playground.story.prompting.building import timer
from tavernkit.sillytavern.world_info import TimedEffect
from tavernkit.sillytavern.world_info.fields import decode_entry, reference
from tavernkit.sillytavern.world_info.timed import fingerprint
from tavernkit.values import Json, JsonObject

_BOOKS = "books of chats"


async def link_chat(
    session: AsyncSession, job: ImportJob, conversation: Conversation, metadata: JsonObject
) -> list[str]:
    """Use the lorebook that a chat names, and lock it to the persona that it names; sentences about what is missing."""
    notes: list[str] = []
    world, avatar = metadata.get("world_info"), metadata.get("persona")
    if isinstance(world, str) and world:
        book = await _lorebook(session, job, world)
        place: dict[str, UUID | None] = {"conversation_id": conversation.id}
        if book is not None:
            await link_book(job.runtime, session, book.id, book.name, [place])
        elif not await link_named_book(job.runtime, session, job.viewer.user_id, world, **place):
            notes.append(
                _("The chat uses the lorebook {lorebook}, which is missing. Import it to link it.", lorebook=world)
            )
    if isinstance(avatar, str) and avatar:
        persona = await _persona(session, job, avatar)
        if persona is not None:
            await lock_to(job.runtime, session, conversation.id, persona)
        else:
            notes.append(_("The chat is locked to the persona {persona}, which is missing.", persona=avatar))
    return notes


async def _lorebook(session: AsyncSession, job: ImportJob, world: str) -> Lorebook | None:
    """The book that the folder knows by this name."""
    return await session.scalar(
        select(Lorebook)
        .join(ImportedFile, ImportedFile.target_id == Lorebook.id)
        .where(
            ImportedFile.source_id == job.source_id,
            ImportedFile.path == f"worlds/{world}.json",
            Lorebook.status == "ready",
        )
    )


async def _persona(session: AsyncSession, job: ImportJob, avatar: str) -> Persona | None:
    """The persona whose picture has this name in the folder."""
    query = select(Persona).join(ImportedFile, ImportedFile.target_id == Persona.id)
    here = (ImportedFile.source_id == job.source_id, ImportedFile.path == f"User Avatars/{avatar}")
    found: Persona | None = await session.scalar(query.where(*here, *is_own_persona(job.viewer.user_id)))
    return found or await persona_with_avatar(session, job.viewer.user_id, avatar)


async def timers_of_chat(session: AsyncSession, job: ImportJob, metadata: JsonObject) -> tuple[State, dict[str, Json]]:
    """The effects that a chat names, as part of its state, and what the conversation keeps about them.

    SillyTavern knows an entry by a hash of all that is in its file, and we by a fingerprint of what counts. So an
    effect is that of the entry as it was imported.
    """
    state: State = {}
    places: dict[str, Json] = {}
    for kind, name, effect in timed_effects(metadata):
        world, _dot, uid = name.rpartition(".")
        book = await _book(session, job, world)
        entry = None if book is None else next((one for one in book.entries if one.id == uid), None)
        if book is None or entry is None:
            continue
        decoded = decode_entry(entry, book.name or "")
        timed = TimedEffect(
            start=effect.integer("start"),
            end=effect.integer("end"),
            fingerprint=fingerprint(decoded),
            protected=effect.flag("protected"),
        )
        key, value = timer(kind, reference(decoded.world, uid), timed)
        state[key] = value
        places[key] = [kind, name]
    return state, {TIMERS: places} if places else {}


async def _book(session: AsyncSession, job: ImportJob, world: str) -> Book | None:
    """The entries of a book; the last one is remembered."""
    last: tuple[str, Book | None] | None = job.cache.get(_BOOKS)
    if last is None or last[0] != world:
        row = await _lorebook(session, job, world)
        # Not the cache of prompts: the book may have been imported in this transaction.
        last = job.cache[_BOOKS] = (world, None if row is None else await decoded_book(session, row, BookCache()))
    return last[1]
