"""`tavernkit preset …`: look at presets, check them, and turn them into other files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

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
from tavernkit.cli.output import JsonOption, emit, plain, present

if TYPE_CHECKING:
    from tavernkit.cli.preset_files import AnyPreset
    from tavernkit.reading import ImportReport

PresetTarget: TypeAlias = Literal[
    "chat",
    "text",
    "instruct",
    "context",
    "system-prompt",
    "reasoning",
    "master",
    "risup",
    "risupreset",
    "risuai-json",
]

app = command_group("preset", "Show, check and convert presets and templates.")


@app.command("show")
def show(file: InputFile, as_json: JsonOption = False) -> None:
    """Show the contents of a preset: prompts in order, samplers, texts and sizes."""
    from tavernkit.cli.preset_summary import print_preset, summarise_preset

    preset, report = _load(file)
    summary = summarise_preset(display_name(file), preset, report)
    present(summary, lambda printer: print_preset(printer, summary), as_json=as_json)


@app.command("validate")
def validate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Presets and templates; - reads standard input.")],
    strict: Annotated[
        bool, typer.Option("--strict", help="Also fail presets in which something is ignored or has no effect.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check presets.

    The result for each file is ok, ok with notes (what is converted, ignored or has no effect), or broken, with the
    reason.
    """
    from tavernkit.cli.validation import check_preset, validate_files

    validate_files(files, lambda file: check_preset(file, strict=strict), as_json=as_json)


@app.command("convert")
def convert(
    file: InputFile,
    to: Annotated[PresetTarget, typer.Option(help="The format to write.")],
    output: OutputOption = Path("-"),
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Convert a preset to another format. Existing files are overwritten only with --force."""
    from tavernkit.cli.conversion import Conversion, print_conversions
    from tavernkit.cli.preset_conversion import convert_preset

    refuse_two_documents(output, as_json=as_json)
    check_free([output], force=force)
    preset, report = _load(file)
    data, lost = convert_preset(preset, to)
    write_output(output, data, force=force)
    done = Conversion(file=display_name(file), output=str(output), bytes=len(data), notes=(*report.notes, *lost))
    if as_json:
        emit(done)
        return
    print_conversions([done])
    for note in lost:
        print(plain(f"  {note.path}: {note.message}" if note.path else f"  {note.message}"), file=sys.stderr)


def _load(file: Path) -> tuple[AnyPreset, ImportReport]:
    from tavernkit.cli.preset_files import read_any_preset

    data = read_input(file)
    with about(file):
        return read_any_preset(data)
