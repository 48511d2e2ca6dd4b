"""Stored cards as the library knows them."""

from __future__ import annotations

from tavernkit import Character, characters
from tavernkit.playground.base.database import models


def library_character(row: models.Character) -> Character:
    """The stored card as the library knows it."""
    return characters.read_card(row.data)[0].character
