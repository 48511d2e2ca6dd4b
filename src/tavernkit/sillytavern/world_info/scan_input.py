"""What a scan of World Info looks at."""

from __future__ import annotations

from collections.abc import Callable

from tavernkit.lore.book import Book
from tavernkit.lore.engine import ScanInput
from tavernkit.lore.verdicts import TimedState
from tavernkit.sillytavern.world_info.fields import Source
from tavernkit.sillytavern.world_info.settings import WorldInfoSettings
from tavernkit.values import Value


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
        texts = {
            Source.PERSONA_DESCRIPTION: self.persona_description,
            Source.CHARACTER_DESCRIPTION: self.character_description,
            Source.CHARACTER_PERSONALITY: self.character_personality,
            Source.CHARACTER_DEPTH_PROMPT: self.character_depth_prompt,
            Source.SCENARIO: self.scenario,
            Source.CREATOR_NOTES: self.creator_notes,
        }
        return {source: text for source, text in texts.items() if text}


def _unchanged(text: str) -> str:
    return text


class WorldInfoInput(ScanInput, frozen=True, kw_only=True):
    """Everything one scan depends on: the same input gives the same result, byte for byte.

    `books` are the global ones; a book that stands in several scopes is the same book when it has the same name.
    `messages` are as `WorldInfoSettings.message_text` writes them; where they are only the newest of a longer chat,
    `chat_length` says how long it is. `budget`, where given, replaces what the settings make of `max_context`.
    `count_tokens` must never count more tokens than a text has bytes. `character_file` is the card's file name without
    its ending, which filters by character mean; `character_tags` is None where there is no character to have tags.
    `forced` holds references (`Book.uid`) of entries that wake up without a key. `random` gives numbers from 0 up to 1.
    """

    count_tokens: Callable[[str], int]
    random: Callable[[], float]
    settings: WorldInfoSettings = WorldInfoSettings()
    max_context: int = 8192
    character_books: tuple[Book, ...] = ()
    chat_books: tuple[Book, ...] = ()
    persona_books: tuple[Book, ...] = ()
    chat_length: int | None = None
    texts: ScanTexts = ScanTexts()
    injections: tuple[str, ...] = ()
    trigger: str = "normal"
    character_file: str | None = None
    character_tags: tuple[str, ...] | None = None
    forced: frozenset[str] = frozenset()
    timed: TimedState = TimedState()
    dry_run: bool = False
    expand: Callable[[str], str] = _unchanged

    @property
    def length(self) -> int:
        return len(self.messages) if self.chat_length is None else self.chat_length

    @property
    def token_budget(self) -> int:
        return self.settings.budget(self.max_context) if self.budget is None else self.budget
