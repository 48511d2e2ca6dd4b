"""What an empty installation begins with: an owner, models, and a small world that can be played at once."""

from __future__ import annotations

import asyncio
import getpass
import hashlib
from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import example
from tavernkit.lore import read_book
from tavernkit.playground.base.accounts.users import ensure_owner
from tavernkit.playground.base.database.models import (
    Character,
    Lorebook,
    LorebookLink,
    Persona,
    Preset,
    SiteSetting,
    SpaceMembership,
    User,
)
from tavernkit.playground.base.database.start_lock import start_lock
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.characters.files import prepare
from tavernkit.playground.story.characters.importing import store_file
from tavernkit.playground.story.lorebooks.service import store_book
from tavernkit.playground.story.presets.queries import kind_of, read_file
from tavernkit.playground.story.providers.service import ensure_providers
from tavernkit.playground.story.spaces.service import open_space

GROUP_NAME = "The end of line nine"
SEEDED = "seeded"
"""The setting that says that the small world has been here: what somebody removed of it stays removed."""


async def seed(runtime: Runtime) -> User:
    """Fill in what is missing; what somebody has changed or removed since is left alone."""
    async with start_lock(runtime.settings.resolved_database_url):
        owner = await ensure_owner(runtime, _own_name())
        await ensure_providers(runtime)
        await _furnish(runtime, owner)
        return owner


async def _furnish(runtime: Runtime, owner: User) -> None:
    """Bring the small world along, whole or not at all, where there is nobody yet."""
    async with runtime.database.read() as session:
        if await session.get(SiteSetting, SEEDED) is not None:
            return
    cards = [await asyncio.to_thread(prepare, example.read(name)) for name in (example.OTTOLINE, example.TANSY)]
    async with runtime.database.write() as session:
        is_empty = await session.scalar(select(Character.id).limit(1)) is None
        session.add(SiteSetting(key=SEEDED, value={"value": is_empty}, updated_at=runtime.clock()))
        if not is_empty:
            return
        ottoline, tansy = [(await store_file(session, runtime, owner.id, card)).character for card in cards]
        book, preset, persona = await _store_company(session, runtime, owner)
        await _open(session, runtime, [ottoline], "", book, preset, persona)
        await _open(session, runtime, [ottoline, tansy], GROUP_NAME, book, preset, persona)


async def _store_company(session: AsyncSession, runtime: Runtime, owner: User) -> tuple[Lorebook, Preset, Persona]:
    """What the characters know, how they are told of, and who comes to see them."""
    now = runtime.clock()
    file = example.read(example.LOREBOOK)
    book, _ = read_book(file)
    sha256 = hashlib.sha256(file).hexdigest()
    stored = await store_book(runtime, session, owner.id, book, name=book.name or "", file_sha256=sha256)
    file = example.read(example.PRESET)
    read, _, document = read_file(file)
    preset = Preset(
        id=runtime.ids(),
        owner_id=owner.id,
        kind=kind_of(read),
        name=str(document["name"]),
        data=document,
        created_at=now,
        updated_at=now,
    )
    user = example.user()
    persona = Persona(
        id=runtime.ids(),
        owner_id=owner.id,
        name=user.name,
        description=user.persona,
        is_default=True,
        created_at=now,
        updated_at=now,
    )
    session.add_all([preset, persona])
    await session.flush()
    return stored, preset, persona


async def _open(
    session: AsyncSession,
    runtime: Runtime,
    characters: Sequence[Character],
    name: str,
    book: Lorebook,
    preset: Preset,
    persona: Persona,
) -> None:
    """A space in which they have just said the first word."""
    human = SpaceMembership(
        id=runtime.ids(), kind="human", user_id=persona.owner_id, role="owner", persona="", persona_id=persona.id
    )
    opened = await open_space(session, runtime, human, characters, kind="playground", name=name, greeting=True)
    opened.space.prompt_settings = {"model": {"system_prompt_id": str(preset.id)}}
    session.add(
        LorebookLink(id=runtime.ids(), lorebook_id=book.id, space_id=opened.space.id, created_at=runtime.clock())
    )


def _own_name() -> str:
    try:
        return getpass.getuser().capitalize()
    except (KeyError, OSError):
        return "You"
