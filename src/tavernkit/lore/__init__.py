"""Lore: books and their entries, the engine contract, and lorebook files of every format in and out."""

from tavernkit.lore.book import Book, Entry, Spelling
from tavernkit.lore.engine import LoreEngine, LoreResult, ScanInput
from tavernkit.lore.files import read_book, write_character_book, write_world_info
from tavernkit.lore.plain import KeywordIndex, PlainLore
from tavernkit.lore.verdicts import LoreVerdict, TimedEffect, TimedState

__all__ = [
    "Book",
    "Entry",
    "KeywordIndex",
    "LoreEngine",
    "LoreResult",
    "LoreVerdict",
    "PlainLore",
    "ScanInput",
    "Spelling",
    "TimedEffect",
    "TimedState",
    "read_book",
    "write_character_book",
    "write_world_info",
]
