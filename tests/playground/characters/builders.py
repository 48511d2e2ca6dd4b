"""Files and people for the tests of characters."""

from __future__ import annotations

import io
import json
from typing import Any
from uuid import UUID

from PIL import Image

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character, User
from tavernkit.playground.story.characters.importing import ImportedCharacter, import_file
from tests.characters import card_files
from tests.playground.stories import Story

__all__ = [
    "LANDSCAPE",
    "brought",
    "form",
    "json_card",
    "landscape_card",
    "locked_card",
    "me",
    "picture",
    "png_card",
    "row",
    "somebody_else",
]


def json_card(**fields: Any) -> bytes:
    return json.dumps(card_files.v3(**fields)).encode()


def picture(colour: str = "teal", *, size: tuple[int, int] = (40, 60), format: str = "PNG", **options: Any) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, colour).save(buffer, format, **options)
    return buffer.getvalue()


def png_card(*chunks: bytes, colour: str = "teal", **fields: Any) -> bytes:
    """A real picture with a card, and whatever else, before its last chunk."""
    image = picture(colour)
    card = card_files.text("ccv3", card_files.packed(card_files.v3(**fields)))
    return b"".join([image[:-12], *chunks, card, image[-12:]])


def locked_card(password: str, **fields: Any) -> bytes:
    """A real picture with a card that RisuAI has encrypted with a password."""
    image = picture()
    card = card_files.sealed(card_files.v2(**fields), password.encode(), usePassword=True)
    return b"".join([image[:-12], card_files.text("chara", card), image[-12:]])


LANDSCAPE = picture("navy", size=(64, 36))


def landscape_card(**fields: Any) -> bytes:
    """A card with a background and the face of an emotion in its archive."""
    assets = [
        {"type": "background", "uri": "embeded://assets/sea.png", "name": "Sea", "ext": "png"},
        {"type": "emotion", "uri": "embeded://assets/joy.png", "name": "joy", "ext": "png"},
    ]
    files = {"assets/sea.png": LANDSCAPE, "assets/joy.png": picture("gold")}
    return card_files.charx(card_files.v3(assets=assets, **fields), **files)


def form(*files: bytes, field: str = "files") -> list[tuple[str, tuple[str, bytes, str]]]:
    return [(field, (f"card {number}", file, "application/octet-stream")) for number, file in enumerate(files)]


def me(play: Story) -> Viewer:
    return Viewer(user_id=play.user_id)


async def brought(play: Story, file: bytes, **options: Any) -> ImportedCharacter:
    return await import_file(play.runtime, me(play), file, **options)


async def somebody_else(play: Story) -> Viewer:
    user_id = play.runtime.ids()
    async with play.runtime.database.write() as session:
        session.add(User(id=user_id, name="Somebody else", created_at=play.runtime.clock()))
    return Viewer(user_id=user_id)


async def row(play: Story, character_id: UUID) -> Character:
    async with play.runtime.database.read() as session:
        return await session.get_one(Character, character_id)
