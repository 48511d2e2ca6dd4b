"""Everything that goes to standard output, and the progress bar beside it."""

from __future__ import annotations

import io
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from tavernkit.values import Json, Value

if TYPE_CHECKING:
    from rich.console import Console

    from tavernkit.reading import Note

READER_LEFT = 141  # what a shell reports for a command that ended because nobody read its output
UNLIMITED_WIDTH = 10_000

# Everything that could move the cursor, colour the screen or start a command in a terminal, and halves of surrogate
# pairs, which no terminal can be sent. Cards are written by strangers.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")
_SPACE = re.compile(r"\s+")

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]


def plain(text: str) -> str:
    """The text with line breaks and tabs kept and every other control character made visible."""
    return _UNPRINTABLE.sub("\ufffd", text.replace("\r\n", "\n"))


def shorten(text: str, width: int) -> str:
    """One line of at most `width` characters."""
    line = _SPACE.sub(" ", plain(text[: width * 4])).strip()
    return line if len(line) <= width and len(text) <= width * 4 else f"{line[: width - 1].rstrip()}…"


def emit(document: Value | Json) -> None:
    """Print one JSON document."""
    write_bytes(to_json_bytes(document))


def to_json_bytes(document: Value | Json) -> bytes:
    """A document as readable JSON; what JSON cannot say, such as NaN, becomes null."""
    import msgspec

    tree = _finite(msgspec.to_builtins(document, enc_hook=str))
    text = json.dumps(tree, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
    # A lone surrogate becomes the escape \udXXX, which is what JSON has for it.
    return text.encode("utf-8", errors="backslashreplace")


def write_bytes(data: bytes) -> None:
    """Write to standard output as it is; if nobody reads it any more, end quietly."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        _reader_left()


class Printer:
    """Text for people: coloured on a terminal, plain and unwrapped everywhere else."""

    def __init__(self) -> None:
        self._console = _console()

    def line(self, text: str = "", style: str = "") -> None:
        """Print text as it is, without markup; what a terminal must not be sent is replaced."""
        self._console.print(plain(text), style=style or None, soft_wrap=True)

    def pair(self, name: str, text: str) -> None:
        """Print `name: text`, unless there is no text."""
        if text:
            self.line(f"{name}: {text}")

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str | int]]) -> None:
        """Print rows under their columns; numbers stand to the right."""
        from rich.table import Table
        from rich.text import Text

        kept = [tuple(row) for row in rows]
        table = Table(box=None, pad_edge=False, header_style="bold")
        for index, column in enumerate(columns):
            numeric = all(isinstance(row[index], int) for row in kept)
            table.add_column(column, justify="right" if numeric else "left", overflow="fold")
        for row in kept:
            table.add_row(*(Text(f"{cell:,}" if isinstance(cell, int) else plain(cell)) for cell in row))
        if self._console.is_terminal:
            self._console.print(table)
            return
        # Blanks up to the end of the longest line of all would be most of a file.
        for line in self._console.render_lines(table, pad=False):
            self._console.print("".join(segment.text for segment in line).rstrip(), soft_wrap=True)

    def notes(self, notes: Sequence[Note]) -> None:
        """Print what reading a file converted, ignored or wants to say."""
        if notes:
            self.line()
            self.table(("note", "where", "what"), [(note.outcome, note.path, note.message) for note in notes])


def present(document: Value | Json, show: Callable[[Printer], None], *, as_json: bool) -> None:
    """Print one JSON document, or have the same shown as text."""
    if as_json:
        emit(document)
    else:
        show(Printer())


def _console() -> Console:
    from rich.console import Console

    class QuietConsole(Console):
        def on_broken_pipe(self) -> None:
            _reader_left()

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    width = None if sys.stdout.isatty() else UNLIMITED_WIDTH
    return QuietConsole(width=width, markup=False, highlight=False, emoji=False)


def _reader_left() -> NoReturn:
    # The interpreter flushes standard output once more when it ends; that must not fail a second time.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise typer.Exit(READER_LEFT)


@contextmanager
def progress(title: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a bar on standard error while several things are done; the yielded function moves it by one.

    A single thing and a standard error that is no terminal get no bar.
    """
    if total < 2 or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)


@contextmanager
def status(title: str) -> Iterator[Callable[[str], None]]:
    """Show on standard error what is being done; the yielded function says what comes next."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status(title) as line:
        yield lambda step: line.update(f"{title} {plain(step)}")


def _finite(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
