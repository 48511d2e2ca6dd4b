"""What a scan of World Info looks at, and its settings, as SillyTavern names and limits them."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING

import msgspec

from tavernkit.lore.book import Book
from tavernkit.lore.engine import ScanInput
from tavernkit.lore.verdicts import TimedState
from tavernkit.reading import LooseObject
from tavernkit.sillytavern.world_info.fields import ENTRY_SOURCES, Source, WorldEntry
from tavernkit.values import Value

if TYPE_CHECKING:
    from tavernkit.sillytavern.world_info.result import WorldInfoVerdict


class InsertionStrategy(IntEnum):
    """How the character's books and the global ones are ordered against each other."""

    EVENLY = 0
    CHARACTER_FIRST = 1
    GLOBAL_FIRST = 2


class WorldInfoSettings(Value, frozen=True, kw_only=True):
    """The defaults are those of SillyTavern's code; `SHIPPED_SETTINGS` is what a fresh installation has."""

    depth: int = 2
    min_activations: int = 0
    min_activations_depth_max: int = 0
    budget_percent: float = 25.0
    budget_cap: int = 0
    include_names: bool = True
    recursive: bool = False
    max_recursion_steps: int = 0
    case_sensitive: bool = False
    match_whole_words: bool = False
    strategy: InsertionStrategy = InsertionStrategy.CHARACTER_FIRST
    use_group_scoring: bool = False

    def budget(self, max_context: int) -> int:
        """The tokens that lore may take of a context of this size; never less than one."""
        budget = math.floor(self.budget_percent * max_context / 100 + 0.5) or 1
        return self.budget_cap if 0 < self.budget_cap < budget else budget

    def message_text(self, speaker: str, text: str) -> str:
        """A message as it is scanned."""
        return f"{speaker}: {text}" if self.include_names else text


_FILE_NAMES = {"budget_percent": "budget", "strategy": "character_strategy"}
SHIPPED_SETTINGS = WorldInfoSettings(recursive=True, match_whole_words=True)


def read_settings(source: LooseObject) -> WorldInfoSettings:
    """Read SillyTavern's `world_info_*` settings; what is not there keeps the default of its code.

    `world_info_overflow_alert` is left alone: it asks for a pop-up, and the result says whether the budget overflowed.
    """
    default = WorldInfoSettings()

    def read(name: str, usual: float) -> float:
        key = f"world_info_{_FILE_NAMES.get(name, name)}"
        if isinstance(usual, bool):
            return source.flag(key, default=usual)
        return source.integer(key, default=usual) if isinstance(usual, int) else source.number(key, default=usual)

    settings = msgspec.structs.replace(
        default, **{name: read(name, getattr(default, name)) for name in default.__struct_fields__}
    )
    known = [strategy for strategy in InsertionStrategy if strategy == settings.strategy]
    return settings.with_(strategy=known[0] if known else default.strategy)


class ScanTexts(Value, frozen=True, kw_only=True):
    """Texts beside the chat that an entry may ask to be scanned, macros expanded."""

    persona_description: str = ""
    character_description: str = ""
    character_personality: str = ""
    character_depth_prompt: str = ""
    scenario: str = ""
    creator_notes: str = ""

    def by_source(self) -> dict[Source, str]:
        """The texts there are, in the order they are joined."""
        texts = {Source(number): getattr(self, name) for name, number in ENTRY_SOURCES.items()}
        return {source: text for source, text in texts.items() if text}


class WorldInfoInput(ScanInput, frozen=True, kw_only=True):
    """Everything one scan depends on: the same input gives the same result, byte for byte.

    `books` are the global ones; a book that stands in several scopes is the same book when it has the same name.
    `messages` are as `WorldInfoSettings.message_text` writes them, and `places` those that they have in the chat; where
    they are only the newest of a longer chat, `chat_length` says how long it is. `budget`, where given, replaces what
    the settings make of `max_context`.
    `count_tokens` must never count more tokens than a text has bytes. `character_file` is the card's file name without
    its ending, which filters by character mean; `character_tags` is None where there is no character to have tags.
    `expand_at` expands the contents of entries in place of `expand`: it is also told which entry it is, in words.
    `mark` is given each content before it is expanded, with the key that woke the entry up and where it was found, in a
    traced build. `forced` holds references (`Book.uid`) of entries that wake up without a key. `random` gives numbers
    from 0 up to 1.
    """

    count_tokens: Callable[[str], int]
    random: Callable[[], float]
    settings: WorldInfoSettings = WorldInfoSettings()
    max_context: int = 8192
    character_books: tuple[Book, ...] = ()
    chat_books: tuple[Book, ...] = ()
    persona_books: tuple[Book, ...] = ()
    chat_length: int | None = None
    places: tuple[int, ...] = ()
    texts: ScanTexts = ScanTexts()
    injections: tuple[str, ...] = ()
    trigger: str = "normal"
    character_file: str | None = None
    character_tags: tuple[str, ...] | None = None
    forced: frozenset[str] = frozenset()
    timed: TimedState = TimedState()
    dry_run: bool = False
    expand: Callable[[str], str] = str
    expand_at: Callable[[str, str], str] | None = None
    mark: Callable[[str, WorldEntry, WorldInfoVerdict], str] | None = None

    def expand_entry(self, content: str, entry: WorldEntry) -> str:
        """The content of an entry with its macros expanded."""
        if self.expand_at is None:
            return self.expand(content)
        book = f" of {entry.world}" if entry.world else ""
        return self.expand_at(content, f"lore entry {entry.uid}{book}")

    @property
    def length(self) -> int:
        return len(self.messages) if self.chat_length is None else self.chat_length

    @property
    def token_budget(self) -> int:
        return self.settings.budget(self.max_context) if self.budget is None else self.budget
