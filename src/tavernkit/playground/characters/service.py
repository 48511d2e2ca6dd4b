"""Bringing characters in."""

from __future__ import annotations

import hashlib

from sqlalchemy import select

from tavernkit import characters
from tavernkit.playground.database.models import Character, User
from tavernkit.playground.runtime import Runtime

__all__ = ["import_character"]


async def import_character(runtime: Runtime, owner: User, file: bytes) -> Character:
    """Store a card file's character; a file that is there already gives the one that it made.

    Raises the library's errors for a file that is no card.
    """
    card = characters.load(file).card
    digest = hashlib.sha256(file).hexdigest()
    now = runtime.clock()
    async with runtime.database.write() as session:
        existing: Character | None = await session.scalar(
            select(Character).where(Character.owner_id == owner.id, Character.file_sha256 == digest)
        )
        if existing is not None:
            return existing
        character = Character(
            id=runtime.ids(),
            owner_id=owner.id,
            name=card.character.name[:200],
            nickname=card.character.nickname and card.character.nickname[:200],
            data=characters.write_card(card),
            file_sha256=digest,
            tags=list(card.character.tags),
            created_at=now,
            updated_at=now,
        )
        session.add(character)
        return character
