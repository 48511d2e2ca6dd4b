"""Lorebook files of every format, into one Book and back."""

from tavernkit.lore.files.character_book import read_character_book, write_character_book
from tavernkit.lore.files.detect import read_book
from tavernkit.lore.files.world_info import read_world_info, write_world_info

__all__ = ["read_book", "read_character_book", "read_world_info", "write_character_book", "write_world_info"]
