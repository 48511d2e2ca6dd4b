"""The spaces that chats of RisuAI go into, with what counts in all chats there: modules, the preset, the persona."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from uuid import UUID, uuid5

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.characters import read_card
from tavernkit.lore import Book
from tavernkit.migration.risuai.parts import ROOT
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    ImportedFile,
    Lorebook,
    Space,
    User,
)
from tavernkit.playground.base.storable import storable, titled
from tavernkit.playground.story.lorebooks.links import link_book
from tavernkit.playground.story.lorebooks.service import replace_book, store_book
from tavernkit.playground.story.migration.items import ImportJob, Item
from tavernkit.playground.story.migration.risuai_source import loose, part_at, selected_target, targets_with_ids
from tavernkit.playground.story.settings_schema.models import MAX_MODULES
from tavernkit.playground.story.settings_schema.resolving import apply_changes, read_patch
from tavernkit.playground.story.spaces.service import space_for_chats
from tavernkit.risuai.cards import export_card
from tavernkit.risuai.character import RisuCharacter
from tavernkit.risuai.lore_entry import read_lore
from tavernkit.values import Json, JsonObject

_HOMES = "spaces of RisuAI"


async def space_of_character(session: AsyncSession, job: ImportJob, stem: str) -> Space | None:
    """The space for chats of a character, which is made for the first of them; that of a group is there already. None
    where the character is not here."""
    homes: dict[str, UUID] = job.cache.setdefault(_HOMES, {})
    known = homes.get(stem)
    space = None if known is None else await session.get(Space, known)
    if space is None:
        space = await _find_space(session, job, stem) or await _make_space(session, job, stem)
    if space is not None:
        homes[stem] = space.id
    return space


async def _find_space(session: AsyncSession, job: ImportJob, stem: str) -> Space | None:
    of_source = ImportedFile.source_id == job.source_id
    group: Space | None = await session.scalar(
        select(Space)
        .join(ImportedFile, ImportedFile.target_id == Space.id)
        .where(of_source, ImportedFile.path == f"characters/{stem}.json", Space.status == "active")
    )
    if group is not None:
        return group
    found: Space | None = await session.scalar(
        select(Space)
        .join(Conversation, Conversation.space_id == Space.id)
        .join(ImportedFile, ImportedFile.target_id == Conversation.id)
        .where(
            of_source,
            ImportedFile.path.startswith(f"chats/{stem}/", autoescape=True),
            Space.status == "active",
            Conversation.status != "deleting",
        )
        .order_by(ImportedFile.path)
        .limit(1)
    )
    return found


async def _make_space(session: AsyncSession, job: ImportJob, stem: str) -> Space | None:
    path = f"characters/{stem}.json"
    id = await job.target_of(session, path)
    character = None if id is None else await session.get(Character, id)
    if character is None or character.status != "ready":
        return None
    owner = await session.get_one(User, job.viewer.user_id)
    return await new_space(session, job, owner, [character], part_at(job, path))


async def new_space(
    session: AsyncSession,
    job: ImportJob,
    owner: User,
    characters: Sequence[Character],
    fields: JsonObject,
    *,
    name: str = "",
) -> Space:
    """A space on RisuAI's rules; `fields` are what RisuAI says of the character or the group. Regex scripts are
    switched off in it, unless somebody has chosen otherwise."""
    root = part_at(job, ROOT)
    space, _human, _members = await space_for_chats(
        session,
        job.runtime,
        owner,
        *characters,
        name=name,
        persona_id=await selected_target(session, job, root, "personas", "selectedPersona"),
        user_name=storable(loose(root).text("username")),
    )
    preset_id = await selected_target(session, job, root, "botPresets", "botPresetsId")
    modules = await modules_of(session, job, root, "enabledModules") + await modules_of(session, job, fields, "modules")
    prompt: dict[str, Json] = {
        "platform": "risuai",
        "modules": [str(id) for id in dict.fromkeys(modules)][:MAX_MODULES],
        "regex_scripts": job.choices.enable_scripts,
    }
    model: dict[str, Json] = {} if preset_id is None else {"preset_id": str(preset_id)}
    apply_changes(space, read_patch({"prompt": prompt, "model": model}, "space"))
    await session.flush()
    return space


async def modules_of(session: AsyncSession, job: ImportJob, fields: JsonObject, key: str) -> list[UUID]:
    """The modules that a list of ids names, as far as they are here."""
    return await targets_with_ids(session, job, "modules", loose(fields).texts(key))


def lore_book(entries: Sequence[Json]) -> Book:
    """Lore of RisuAI as the book that RisuAI would put into a card."""
    lore = read_lore(loose({"lore": list(entries)}).objects("lore"))
    exported = export_card(RisuCharacter(name="Lore", lore=lore), modified=0, has_picture=False)
    return read_card(exported)[0].character.character_book or Book()


def lore_id(place_id: UUID) -> UUID:
    """The id of the lorebook that was made of the lore of a conversation or a group."""
    return uuid5(place_id, "risuai/lore")


async def set_lore(
    session: AsyncSession, job: ImportJob, item: Item, entries: Sequence[Json], *, name: str, **place: UUID
) -> None:
    """Let the lore of a chat or a group be a lorebook that is used there; one that was made before is replaced, unless
    what it belongs to was changed here."""
    id = lore_id(next(iter(place.values())))
    row = await session.get(Lorebook, id)
    if row is not None and row.trashed_at is not None:
        row.status, row.trashed_at = "ready", None
    sha256 = hashlib.sha256(json.dumps(list(entries), sort_keys=True).encode()).hexdigest()
    if row is None and entries:
        called = titled(name, "RisuAI")
        row = await store_book(
            job.runtime, session, job.viewer.user_id, lore_book(entries), name=called, file_sha256=sha256, id=id
        )
        await link_book(job.runtime, session, row.id, row.name, [dict(place)])
    elif row is not None and row.file_sha256 != sha256 and (not item.is_changed_here or item.conflict == "replace"):
        await replace_book(job.runtime, session, row, lore_book(entries), file_sha256=sha256)
