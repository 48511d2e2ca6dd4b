"""Who the user is, as an option says it: a text, or the name of a file that holds it."""

from __future__ import annotations

from pathlib import Path

from tavernkit.cli.errors import about
from tavernkit.cli.files import is_standard, read_input
from tavernkit.reading import decode_text

LONGEST_FILE_NAME = 4096


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
        return len(str(path)) <= LONGEST_FILE_NAME and path.is_file()
    except OSError:
        return False  # a text that no file could be called
