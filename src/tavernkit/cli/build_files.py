"""Everything that `build` reads: the files it was given, put together as SillyTavern would have them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from tavernkit import example
from tavernkit.characters import Character, User
from tavernkit.cli.build_options import BuildOptions
from tavernkit.cli.cast_files import CastFiles, in_group, read_cast
from tavernkit.cli.conversation_file import LoadedChat, read_conversation
from tavernkit.cli.errors import about, display_name
from tavernkit.cli.files import FileNote, file_notes, is_standard, read_input, read_noted
from tavernkit.cli.lore import load_book
from tavernkit.cli.preset_files import read_setup
from tavernkit.cli.settings_file import SettingsFile, read_settings_file
from tavernkit.lore.book import Book
from tavernkit.macros import Variables
from tavernkit.prompt.message import Message
from tavernkit.reading import decode_text
from tavernkit.sillytavern import Story, with_templates
from tavernkit.sillytavern.presets import ChatPreset, TextPreset
from tavernkit.sillytavern.regex_scripts import RegexScripts, embedded_scripts, read_regex_scripts
from tavernkit.values import Value

_LONGEST_FILE_NAME = 4096


class BuildFiles(Value, frozen=True, kw_only=True):
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


def read_files(options: BuildOptions) -> BuildFiles:
    """Read everything. Without a card there is the example's story; without a chat, a new one with its greeting."""
    options.check_files()
    notes: list[FileNote] = []
    cast = read_cast(options.all_cards, options.speaker)
    setup = read_setup(tuple(options.preset or ()), instruct=options.instruct, context=options.context_template)
    settings = SettingsFile() if options.settings is None else read_settings_file(options.settings)
    chat = _conversation(options, cast, options.user or settings.user_name or "User")
    cast = in_group(cast, options.group, chat.metadata)
    notes += (*cast.notes, *setup.notes, *settings.notes, *chat.notes)
    preset = setup.preset or _usual_preset(settings, is_for_text=setup.is_for_text)
    books = [(_home(file, cast, chat, settings), read_named_book(file, notes)) for file in options.lore or ()]
    own = tuple(script for file in options.regex or () for script in read_noted(file, read_regex_scripts, notes))
    story = with_templates(chat.in_story(settings.story), setup.templates)
    return BuildFiles(
        character=cast.character,
        user=_user(options, settings, chat),
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
            chat_id="" if options.history is None else options.history.stem,
            zone=datetime.now(UTC).astimezone().tzinfo or UTC,
        ),
        books=tuple(book for home, book in books if home is None),
        variables=Variables(local=chat.variables, global_=settings.variables),
        context_file=setup.context_file or ("" if options.settings is None else display_name(options.settings)),
        notes=tuple(notes),
    )


def _usual_preset(settings: SettingsFile, *, is_for_text: bool) -> ChatPreset | TextPreset:
    """The preset of the settings, unless the templates that were named are for the other kind of completion."""
    if is_for_text:
        return settings.preset if isinstance(settings.preset, TextPreset) else TextPreset()
    return settings.preset or ChatPreset()


def _conversation(options: BuildOptions, cast: CastFiles, user_name: str) -> LoadedChat:
    if options.history is not None:
        return read_conversation(options.history, user_name=user_name, character_name=cast.character.display_name)
    return LoadedChat(messages=cast.greetings() if options.all_cards else example.history())


def _user(options: BuildOptions, settings: SettingsFile, chat: LoadedChat) -> User:
    """Who the options name, else the settings, else the chat; the example has its own."""
    persona = options.persona
    usual = User(name="User") if options.all_cards else example.user()
    return User(
        name=options.user or settings.user_name or chat.user_name or usual.name,
        persona=settings.persona or usual.persona if persona is None else persona_text(persona),
    )


def read_named_book(file: Path, notes: list[FileNote]) -> Book:
    """Books of one name are one book to SillyTavern, and there the file gives the name."""
    book, report = load_book(file)
    notes.extend(file_notes(file, report))
    return book if book.name else book.with_(name=file.stem)


def _home(
    file: Path, cast: CastFiles, chat: LoadedChat, settings: SettingsFile
) -> Literal["character", "chat", "persona"] | None:
    """Whose book this is: it belongs to whoever names it, else to everybody."""
    if file.stem == chat.book_name:
        return "chat"
    if file.stem == settings.persona_book:
        return "persona"
    return "character" if file.stem == cast.book_name else None


def persona_text(given: str) -> str:
    """The text itself, or what the file of that name says."""
    path = Path(given)
    if not (is_standard(path) or _is_file(path)):
        return given
    data = read_input(path)
    with about(path):
        return decode_text(data, what="The persona").strip()


def _is_file(path: Path) -> bool:
    try:
        return len(str(path)) <= _LONGEST_FILE_NAME and path.is_file()
    except OSError:
        return False  # a text that no file could be called
