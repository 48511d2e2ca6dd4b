"""What an empty installation begins with: an owner, models, and a story that can be played at once."""

from __future__ import annotations

import getpass
from importlib.resources import files

from sqlalchemy import select

from tavernkit import example
from tavernkit.playground.accounts.service import ensure_owner
from tavernkit.playground.characters.importing import import_character
from tavernkit.playground.database.models import Character, User
from tavernkit.playground.providers.service import ensure_providers
from tavernkit.playground.runtime import Runtime
from tavernkit.playground.spaces.service import start_story

__all__ = ["seed"]


async def seed(runtime: Runtime) -> User:
    """Fill in what is missing; what somebody has changed or removed since is left alone."""
    owner = await ensure_owner(runtime, _own_name())
    await ensure_providers(runtime)
    async with runtime.database.read() as session:
        has_characters = await session.scalar(select(Character.id).limit(1)) is not None
    if not has_characters:
        card = files(example).joinpath("ottoline.json").read_bytes()
        character = await import_character(runtime, owner, card)
        await start_story(runtime, owner, character.id, persona=example.user())
    return owner


def _own_name() -> str:
    try:
        return getpass.getuser().capitalize()
    except (KeyError, OSError):
        return "You"
