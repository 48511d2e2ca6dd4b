"""`tavernkit card …`: look at character cards, check them, and turn them into other files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from tavernkit.cli.batch import each, raise_failed
from tavernkit.cli.conversion import CardTarget
from tavernkit.cli.errors import FileError, about, display_name
from tavernkit.cli.files import (
    ForceOption,
    InputFile,
    check_free,
    read_input,
    refuse_two_documents,
    write_output,
)
from tavernkit.cli.groups import command_group
from tavernkit.cli.output import JsonOption, present

app = command_group("card", "Show, check, convert, extract and embed character cards.")

CardFiles = Annotated[
    list[Path], typer.Argument(metavar="FILE", help="Card files of any format; - reads standard input.")
]


@app.command("show")
def show(file: InputFile, as_json: JsonOption = False) -> None:
    """Show the contents of a card.

    Fields with their sizes, greetings, tags, lorebook and assets, and what was converted or ignored.
    """
    from tavernkit.characters import load
    from tavernkit.cli.summaries import print_card, summarise

    data = read_input(file)
    with about(file):
        summary = summarise(display_name(file), load(data))
    present(summary, lambda printer: print_card(printer, summary), as_json=as_json)


@app.command("validate")
def validate(
    files: CardFiles,
    strict: Annotated[
        bool, typer.Option("--strict", help="Also fail cards in which something was converted or ignored.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check that cards can be read and contain nothing broken.

    The result for each file is ok, ok with notes (what was converted or ignored), or broken, with the reason and the
    place, such as a field of the wrong type, or a macro that neither SillyTavern nor RisuAI knows.
    """
    from tavernkit.cli.validation import check, validate_files

    validate_files(files, lambda file: check(file, strict=strict), as_json=as_json)


@app.command("convert")
def convert(
    files: CardFiles,
    to: Annotated[CardTarget, typer.Option(help="The format to write.")],
    spec: Annotated[
        Literal["v2", "v3"] | None, typer.Option(help="The card version of a JSON file. Default: v3.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The file to write, or the folder for several; - writes standard output. "
            "Default: beside each source file.",
        ),
    ] = None,
    image: Annotated[Path | None, typer.Option(help="A picture to use instead of the card's own.")] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Convert cards to another format. Existing files are overwritten only with --force."""
    from tavernkit.cli.conversion import (
        Conversion,
        check_options,
        convert_card,
        print_conversions,
        read_picture,
        targets,
    )

    check_options(to, spec, image)
    places = targets(files, to, output)
    for place in places:
        refuse_two_documents(place, as_json=as_json)
    check_free(places, force=force)
    picture = None if image is None else read_picture(image)

    def convert_one(paths: tuple[Path, Path]) -> Conversion:
        file, place = paths
        data, conversion = convert_card(file, place, to, spec or "v3", picture)
        write_output(place, data, force=force)
        return conversion

    outcomes = each("Converting", list(zip(files, places, strict=True)), convert_one)
    conversions = [outcome for outcome in outcomes if not isinstance(outcome, FileError)]
    present({"files": conversions}, lambda _: print_conversions(conversions), as_json=as_json)
    raise_failed(outcomes)


@app.command("extract")
def extract(
    file: InputFile,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The folder to write to. Default: a folder beside the file, with its name.",
        ),
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Extract the parts of a card file.

    Writes card.json, the main picture, the lorebook as a SillyTavern world file, and the assets under safe names.
    """
    from tavernkit.characters import load
    from tavernkit.cli.extraction import default_folder, parts, print_extracted, write_part

    folder = default_folder(file) if output is None else output
    data = read_input(file)
    with about(file):
        found = list(parts(load(data)))
    check_free([folder / part.path for part in found], force=force)
    outcomes = each("Extracting", found, lambda part: write_part(part, folder, source=file, force=force))
    written = [outcome for outcome in outcomes if not isinstance(outcome, FileError)]
    document = {"folder": folder, "files": written}
    present(document, lambda printer: print_extracted(printer, folder, written), as_json=as_json)
    raise_failed(outcomes)


@app.command("embed")
def embed(
    card: Annotated[Path, typer.Argument(metavar="CARD", help="The card, in any format; - reads standard input.")],
    picture: Annotated[Path, typer.Argument(metavar="PICTURE", help="The picture; - reads standard input.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The PNG file to write; - writes standard output.")],
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a card and its assets into a picture. A card that the picture already contains is replaced."""
    from tavernkit.cli.conversion import convert_card, print_conversions, read_picture

    refuse_two_documents(output, as_json=as_json)
    check_free([output], force=force)
    data, result = convert_card(card, output, "png", "v3", read_picture(picture))
    write_output(output, data, force=force)
    present(result, lambda _: print_conversions([result]), as_json=as_json)
