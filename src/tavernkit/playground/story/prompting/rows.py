"""Which rows the sources of a prompt are: noted when it is built, as names may mean something else later."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from tavernkit.playground.story.prompting.scripts import ScriptPlace
from tavernkit.values import Value


class MessageRow(Value, frozen=True, kw_only=True):
    """A message of the chat, and the swipe of it that is shown."""

    place: int
    message_id: UUID
    swipe_id: UUID | None = None


class LoreRow(Value, frozen=True, kw_only=True):
    """An entry of a lorebook, by what the prompt calls it."""

    book: str
    entry: str
    lorebook_id: UUID
    uid: str


class PromptRows(Value, frozen=True, kw_only=True):
    """The rows behind a prompt, by what the prompt calls them; what a name means is here only if it means one thing.

    `books` are lorebooks, whose entries have their own numbers in the prompt; `entries` are those that have others.
    `card_books` are characters with a book in their card. `presets` are by their kind, artifacts by their
    tags; `prompts` are the identifiers of those in the stored preset.
    """

    characters: Mapping[str, UUID] = {}
    books: Mapping[str, UUID] = {}
    card_books: Mapping[str, UUID] = {}
    entries: tuple[LoreRow, ...] = ()
    presets: Mapping[str, UUID] = {}
    prompts: tuple[str, ...] = ()
    persona_id: UUID | None = None
    messages: tuple[MessageRow, ...] = ()
    scripts: tuple[ScriptPlace, ...] = ()
    artifacts: Mapping[str, str] = {}
