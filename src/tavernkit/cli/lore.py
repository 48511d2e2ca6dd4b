"""`tavernkit lore …`: look at lorebooks and turn them into other files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tavernkit.cli.errors import about, display_name
from tavernkit.cli.files import (
    ForceOption,
    InputFile,
    OutputOption,
    check_free,
    read_input,
    refuse_two_documents,
    write_output,
)
from tavernkit.cli.groups import command_group
from tavernkit.cli.output import JsonOption, emit, present, to_json_bytes

if TYPE_CHECKING:
    from tavernkit.lore.book import Book
    from tavernkit.reading import ImportReport

app = command_group("lore", "Show, test and convert lorebooks.")


@app.command("show")
def show(file: InputFile, as_json: JsonOption = False) -> None:
    """Show the entries of a lorebook, or of the lorebook inside a card or a RisuAI module."""
    from tavernkit.cli.summaries import print_book, summarise_book

    book, report = load_book(file)
    summary = summarise_book(book, report.format)
    document = {"file": display_name(file), "book": summary, "notes": report.notes}
    present(document, lambda printer: print_book(printer, summary, report.notes), as_json=as_json)


@app.command("convert")
def convert(
    file: InputFile,
    to: Annotated[
        Literal["world", "character-book"],
        typer.Option(help="A SillyTavern world file, or the character_book of a card."),
    ],
    output: OutputOption = Path("-"),
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Convert a lorebook to another format. Existing files are overwritten only with --force."""
    from tavernkit.lore.files import write_character_book, write_world_info

    refuse_two_documents(output, as_json=as_json)
    check_free([output], force=force)
    book, report = load_book(file)
    written = write_world_info(book) if to == "world" else write_character_book(book)
    data = to_json_bytes(written)
    write_output(output, data, force=force)
    if as_json:
        emit(
            {
                "file": display_name(file),
                "output": output,
                "bytes": len(data),
                "entries": len(book.entries),
                "notes": report.notes,
            }
        )


@app.command("test")
def try_out(
    books: Annotated[list[Path], typer.Argument(metavar="BOOK…", help="Lorebooks, or cards with a lorebook inside.")],
    text: Annotated[Path, typer.Option(help="The file with the text to scan; - is standard input.")],
    context: Annotated[
        int, typer.Option(min=1, help="The context size in tokens; a quarter of it is for lore.")
    ] = 8192,
    seed: Annotated[int, typer.Option(help="The seed for probabilities and inclusion groups.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Show which entries a text activates, with order and position, and why the others are not activated.

    The text is scanned as the newest message, with SillyTavern's default settings.
    """
    from tavernkit.cli.summaries import print_test
    from tavernkit.reading import decode_text
    from tavernkit.sillytavern.world_info.trial import run_test

    with about(text):
        words = decode_text(read_input(text), what="The text")
    loaded = [
        book if book.name else book.with_(name=display_name(file))
        for file, book in ((file, load_book(file)[0]) for file in books)
    ]
    result = run_test(loaded, words, context=context, seed=seed)
    present(result, lambda printer: print_test(printer, result), as_json=as_json)


def load_book(file: Path) -> tuple[Book, ImportReport]:
    """Read a lorebook, or the lorebook inside a card of any format or a RisuAI module."""
    from tavernkit.characters import load
    from tavernkit.characters.loading import detect
    from tavernkit.errors import LoreParseError
    from tavernkit.importers import shared_importers
    from tavernkit.lore.files import read_book
    from tavernkit.risuai.files import is_risum, read_module_book

    data = read_input(file)
    with about(file):
        if is_risum(data):
            return read_module_book(data)
        if shared_importers().lorebooks.find(data) or detect(data) == "json":
            return read_book(data)
        bundle = load(data)
        book = bundle.card.character.character_book
        if book is None:
            raise LoreParseError("The card has no lorebook.")
        return book, bundle.report
