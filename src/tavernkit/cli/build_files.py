"""What `build` reads for either platform: lorebooks, and who the user is."""

from __future__ import annotations

from pathlib import Path

from tavernkit import example
from tavernkit.characters import User
from tavernkit.cli.build_options import BuildOptions
from tavernkit.cli.conversation_file import LoadedChat
from tavernkit.cli.errors import about, display_name
from tavernkit.cli.files import is_standard, read_input
from tavernkit.cli.lore import load_book
from tavernkit.lore.book import Book
from tavernkit.reading import ImportReport, decode_text

_LONGEST_FILE_NAME = 4096


def read_named_book(file: Path, reports: list[ImportReport]) -> Book:
    """Books of one name are one book to SillyTavern, and there the file gives the name."""
    book, report = load_book(file)
    reports.append(report.with_(file=display_name(file)))
    return book if book.name else book.with_(name=file.stem)


def read_user(options: BuildOptions, chat: LoadedChat, *, name: str = "", persona: str = "") -> User:
    """Who the options name, else the settings with this name and persona, else the chat; the example has its own."""
    usual = User(name="User") if options.all_cards else example.user()
    return User(
        name=options.user or name or chat.user_name or usual.name,
        persona=persona or usual.persona if options.persona is None else _persona_text(options.persona),
    )


def _persona_text(given: str) -> str:
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
