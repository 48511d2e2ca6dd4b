"""Everything that `build` reads: the files it was given, put together as SillyTavern would have them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from tavernkit import example
from tavernkit.characters import Character, User
from tavernkit.cli.cast_files import Cast, in_group, read_cast
from tavernkit.cli.conversation_file import Conversation, read_conversation
from tavernkit.cli.errors import UsageError, about, display_name
from tavernkit.cli.file_notes import FileNote, file_notes
from tavernkit.cli.files import is_standard, read_input
from tavernkit.cli.lore import load_book
from tavernkit.cli.persona_text import persona_text
from tavernkit.cli.preset_files import read_setup
from tavernkit.cli.settings_file import SettingsFile, read_settings_file
from tavernkit.lore.book import Book
from tavernkit.macros import Variables
from tavernkit.prompt.message import Message
from tavernkit.sillytavern import Story, with_templates
from tavernkit.sillytavern.presets import ChatPreset, TextPreset
from tavernkit.sillytavern.regex_scripts import RegexScript, RegexScripts, embedded_scripts, read_regex_scripts
from tavernkit.values import Value

__all__ = ["BuildFiles", "Found", "read_files"]


class BuildFiles(Value, frozen=True, kw_only=True):
    """The files that were named."""

    cards: tuple[Path, ...] = ()
    group: Path | None = None
    presets: tuple[Path, ...] = ()
    instruct: Path | None = None
    context_template: Path | None = None
    settings: Path | None = None
    history: Path | None = None
    lore: tuple[Path, ...] = ()
    regex: tuple[Path, ...] = ()

    def __iter__(self) -> Iterator[Path]:
        single = (self.group, self.instruct, self.context_template, self.settings, self.history)
        yield from (*self.cards, *self.presets, *self.lore, *self.regex)
        yield from (file for file in single if file is not None)


class Found(Value, frozen=True, kw_only=True):
    """What the files hold; `context_file` is the one with the context template."""

    character: Character
    user: User
    messages: tuple[Message, ...]
    preset: ChatPreset | TextPreset
    story: Story
    books: tuple[Book, ...]
    variables: Variables
    context_file: str
    notes: tuple[FileNote, ...]


def read_files(files: BuildFiles, *, speaker: str | None, user: str | None, persona: str | None) -> Found:
    """Read everything. Without a card there is the example's story; without a chat, a new one with its greeting."""
    if sum(map(is_standard, files)) + (persona == "-") > 1:
        raise UsageError("Standard input can be read once; name files for the others.")
    notes: list[FileNote] = []
    cast = read_cast(files.cards, speaker)
    setup = read_setup(files.presets, instruct=files.instruct, context=files.context_template)
    settings = SettingsFile() if files.settings is None else read_settings_file(files.settings)
    chat = _conversation(files, cast, user or settings.user_name or "User")
    cast = in_group(cast, files.group, chat.metadata)
    notes += (*cast.notes, *setup.notes, *settings.notes, *chat.notes)
    preset = setup.preset or _usual_preset(settings, is_for_text=setup.is_for_text)
    books = [(_home(file, cast, chat, settings), _book(file, notes)) for file in files.lore]
    own = tuple(script for file in files.regex for script in _scripts(file, notes))
    story = with_templates(chat.in_story(settings.story), setup.templates)
    return Found(
        character=cast.character,
        user=_user(files, settings, chat, user, persona),
        messages=chat.messages,
        preset=preset,
        story=story.with_(
            character_note=settings.character_notes.get(cast.character_file),
            group=cast.group,
            speaker=None if cast.group is None else cast.speaker.avatar,
            regex_scripts=RegexScripts(
                global_=(*story.regex_scripts.global_, *own),
                preset=embedded_scripts(preset.extensions),
                scoped=embedded_scripts(cast.character.extensions),
            ),
            character_books=tuple(book for home, book in books if home == "character"),
            chat_books=tuple(book for home, book in books if home == "chat"),
            persona_books=tuple(book for home, book in books if home == "persona"),
            character_file=cast.character_file,
            chat_id="" if files.history is None else files.history.stem,
            zone=datetime.now(UTC).astimezone().tzinfo or UTC,
        ),
        books=tuple(book for home, book in books if home is None),
        variables=Variables(local=chat.variables, global_=settings.variables),
        context_file=setup.context_file or ("" if files.settings is None else display_name(files.settings)),
        notes=tuple(notes),
    )


def _usual_preset(settings: SettingsFile, *, is_for_text: bool) -> ChatPreset | TextPreset:
    """The preset of the settings, unless the templates that were named are for the other kind of completion."""
    if is_for_text:
        return settings.preset if isinstance(settings.preset, TextPreset) else TextPreset()
    return settings.preset or ChatPreset()


def _conversation(files: BuildFiles, cast: Cast, user_name: str) -> Conversation:
    if files.history is not None:
        return read_conversation(files.history, user_name=user_name, character_name=cast.character.display_name)
    return Conversation(messages=cast.greetings() if files.cards else example.history())


def _user(files: BuildFiles, settings: SettingsFile, chat: Conversation, name: str | None, persona: str | None) -> User:
    """Who the options name, else the settings, else the chat; the example has its own."""
    usual = User(name="User") if files.cards else example.user()
    return User(
        name=name or settings.user_name or chat.user_name or usual.name,
        persona=settings.persona or usual.persona if persona is None else persona_text(persona),
    )


def _book(file: Path, notes: list[FileNote]) -> Book:
    book, report = load_book(file)
    notes.extend(file_notes(file, report))
    # Books of one name are one book to SillyTavern, and there the file gives the name.
    return book if book.name else book.with_(name=file.stem)


def _home(
    file: Path, cast: Cast, chat: Conversation, settings: SettingsFile
) -> Literal["character", "chat", "persona"] | None:
    """Whose book this is: it belongs to whoever names it, else to everybody."""
    if file.stem == chat.book_name:
        return "chat"
    if file.stem == settings.persona_book:
        return "persona"
    return "character" if file.stem == cast.book_name else None


def _scripts(file: Path, notes: list[FileNote]) -> tuple[RegexScript, ...]:
    data = read_input(file)
    with about(file):
        scripts, report = read_regex_scripts(data)
    notes.extend(file_notes(file, report))
    return scripts
