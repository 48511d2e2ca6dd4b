"""`tavernkit chat …`: look at chats and turn those of other applications into SillyTavern's files or plain text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tavernkit.cli.errors import UsageError, about, display_name
from tavernkit.cli.files import (
    ForceOption,
    InputFile,
    OutputOption,
    check_free,
    is_standard,
    read_input,
    refuse_two_documents,
    write_output,
)
from tavernkit.cli.groups import command_group
from tavernkit.cli.output import JsonOption, Printer, emit

if TYPE_CHECKING:
    from tavernkit.chats import ChatFile
    from tavernkit.reading import ImportReport

app = command_group("chat", "Show chats and convert them to SillyTavern's files or plain text.")

UserOption = Annotated[str, typer.Option("--user", metavar="NAME", help="The name of the user, if the file has none.")]
CharacterOption = Annotated[
    str, typer.Option("--character", metavar="NAME", help="The name of the character, if the file has none.")
]


@app.command("show")
def show(
    file: InputFile, user: UserOption = "User", character: CharacterOption = "Character", as_json: JsonOption = False
) -> None:
    """Show the contents of a chat: speakers, messages, swipes, dates, and what could not be read."""
    from tavernkit.cli.summaries import print_chat, summarise_chat

    chats, report = _load(file, user, character)
    summaries = [summarise_chat(chat) for chat in chats]
    if as_json:
        emit({"file": display_name(file), "format": report.format, "chats": summaries, "notes": report.notes})
        return
    printer = Printer()
    for summary in summaries:
        print_chat(printer, summary, report.format)
    printer.notes(report.notes)


@app.command("convert")
def convert(
    file: InputFile,
    output: OutputOption = Path("-"),
    to: Annotated[
        Literal["jsonl", "text"], typer.Option(help="SillyTavern's chat file, or text for reading.")
    ] = "jsonl",
    user: UserOption = "User",
    character: CharacterOption = "Character",
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Convert a chat to SillyTavern's format or to plain text. Existing files are overwritten only with --force.

    A file with several chats becomes several numbered files.
    """
    from tavernkit.chats import write_chat, write_text

    refuse_two_documents(output, as_json=as_json)
    chats, report = _load(file, user, character)
    targets = _targets(output, len(chats))
    check_free(targets, force=force)
    write = write_chat if to == "jsonl" else write_text
    for target, chat in zip(targets, chats, strict=True):
        # Half of a surrogate pair, which JSON has an escape for and text has not, becomes a question mark.
        write_output(target, write(chat).encode(errors="replace"), force=force)
    if as_json:
        emit(
            {
                "file": display_name(file),
                "outputs": targets,
                "messages": [len(chat.messages) for chat in chats],
                "notes": report.notes,
            }
        )


def _load(file: Path, user: str, character: str) -> tuple[tuple[ChatFile, ...], ImportReport]:
    from tavernkit.chats import read_chat

    data = read_input(file)
    with about(file):
        return read_chat(data, user_name=user, character_name=character)


def _targets(output: Path, count: int) -> list[Path]:
    if count == 1:
        return [output]
    if is_standard(output):
        raise UsageError(f"The file contains {count} chats. Give a file name with --output; each chat gets a number.")
    return [output.with_name(f"{output.stem}-{number}{output.suffix}") for number in range(1, count + 1)]
