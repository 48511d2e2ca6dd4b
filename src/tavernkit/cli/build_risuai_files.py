"""Everything that `build --platform risuai` reads: the files it was given, put together as RisuAI would have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tavernkit import example
from tavernkit.characters import User
from tavernkit.cli.build_files import persona_text
from tavernkit.cli.build_options import BuildOptions
from tavernkit.cli.conversation_file import LoadedChat, read_conversation
from tavernkit.cli.errors import UsageError, about
from tavernkit.cli.file_notes import FileNote, file_notes
from tavernkit.cli.files import read_input
from tavernkit.cli.lore import load_book
from tavernkit.lore.book import Book
from tavernkit.prompt.message import Message
from tavernkit.risuai import RisuSettings
from tavernkit.risuai.cards import from_card
from tavernkit.risuai.character import RisuCharacter
from tavernkit.risuai.files import load_character, read_module_file, read_preset_file
from tavernkit.risuai.module import Module
from tavernkit.values import Value


class RisuFound(Value, frozen=True, kw_only=True):
    """What the files hold."""

    character: RisuCharacter
    user: User
    messages: tuple[Message, ...]
    settings: RisuSettings
    modules: tuple[Module, ...]
    books: tuple[Book, ...]
    notes: tuple[FileNote, ...]

    @property
    def has_greeting(self) -> bool:
        """Whether the chat begins with the character's words, as those of other applications do."""
        return bool(self.messages) and self.messages[0].role == "assistant"


def read_risu_files(options: BuildOptions) -> RisuFound:
    """Read everything. Without a card there is the example's story."""
    options.check_files()
    cards, user, persona = options.all_cards, options.user, options.persona
    notes: list[FileNote] = []
    character = _character(cards, notes)
    chat = _conversation(options, character, user or "User")
    notes += chat.notes
    usual = User(name="User") if cards else example.user()
    return RisuFound(
        character=character,
        user=User(
            name=user or chat.user_name or usual.name,
            persona=usual.persona if persona is None else persona_text(persona),
        ),
        messages=chat.messages,
        settings=_settings(options.preset or (), notes),
        modules=tuple(_module(file, notes) for file in options.module or ()),
        books=tuple(_book(file, notes) for file in options.lore or ()),
        notes=tuple(notes),
    )


def read_toggles(given: Sequence[str]) -> Mapping[str, str]:
    """Switches written as `name=value`; a name alone is switched on."""
    pairs = (toggle.partition("=") for toggle in given)
    return {name: value if is_given else "1" for name, is_given, value in pairs}


def _character(cards: tuple[Path, ...], notes: list[FileNote]) -> RisuCharacter:
    if not cards:
        return from_card(example.character())
    if len(cards) > 1:
        raise UsageError("RisuAI's prompt is that of one character; name one card.")
    data = read_input(cards[0])
    with about(cards[0]):
        character, bundle = load_character(data)
    notes.extend(file_notes(cards[0], bundle.report))
    return character


def _conversation(options: BuildOptions, character: RisuCharacter, user_name: str) -> LoadedChat:
    if options.history is not None:
        return read_conversation(options.history, user_name=user_name, character_name=character.display_name)
    return LoadedChat() if options.all_cards else LoadedChat(messages=example.history())


def _settings(presets: Sequence[Path], notes: list[FileNote]) -> RisuSettings:
    if not presets:
        return RisuSettings()
    if len(presets) > 1:
        raise UsageError("RisuAI has one preset at a time; name one.")
    data = read_input(presets[0])
    with about(presets[0]):
        settings, report = read_preset_file(data)
    notes.extend(file_notes(presets[0], report))
    return settings


def _module(file: Path, notes: list[FileNote]) -> Module:
    data = read_input(file)
    with about(file):
        found = read_module_file(data)
    notes.extend(file_notes(file, found.report))
    return found.module


def _book(file: Path, notes: list[FileNote]) -> Book:
    book, report = load_book(file)
    notes.extend(file_notes(file, report))
    return book if book.name else book.with_(name=file.stem)
