"""`tavernkit chat …`: look at chats and convert them between the formats of applications, and for reading."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

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

app = command_group("chat", "Show chats and convert them to other formats.")

ChatTarget: TypeAlias = Literal["jsonl", "risuai", "text", "markdown", "html", "epub"]

ChapterOption: TypeAlias = Literal["whole", "messages", "headings"]

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
        ChatTarget,
        typer.Option(help="The chat file of SillyTavern or RisuAI, or text, Markdown, HTML or EPUB for reading."),
    ] = "jsonl",
    user: UserOption = "User",
    character: CharacterOption = "Character",
    chapters: Annotated[
        ChapterOption,
        typer.Option(help="Where chapters of an EPUB begin: nowhere, every so many messages, or at headings."),
    ] = "whole",
    messages_per_chapter: Annotated[
        int, typer.Option(min=1, max=10_000, help="How many messages a chapter has, with --chapters messages.")
    ] = 50,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Convert a chat to another format. Existing files are overwritten only with --force.

    A file with several chats becomes several numbered files.
    """
    refuse_two_documents(output, as_json=as_json)
    chats, report = _load(file, user, character)
    targets = _targets(output, len(chats))
    check_free(targets, force=force)
    title = "" if is_standard(file) else file.stem
    write = _book_writer(title, chapters, messages_per_chapter) if to == "epub" else _writer(to, title)
    for target, chat in zip(targets, chats, strict=True):
        write_output(target, write(chat), force=force)
    if as_json:
        emit(
            {
                "file": display_name(file),
                "outputs": targets,
                "messages": [len(chat.messages) for chat in chats],
                "notes": report.notes,
            }
        )


def _writer(to: ChatTarget, title: str) -> Callable[[ChatFile], bytes]:
    write = _text_writer(to, title)
    # Half of a surrogate pair, which JSON has an escape for and text has not, becomes a question mark.
    return lambda chat: write(chat).encode(errors="replace")


def _text_writer(to: ChatTarget, title: str) -> Callable[[ChatFile], str]:
    from tavernkit.chats import write_chat
    from tavernkit.chats.forms import markdown_form, risuai_form, text_form

    if to == "jsonl":
        return write_chat
    if to == "html":
        try:
            from tavernkit.playground.story.chatfiles.html_file import html_form
        except ImportError:
            raise UsageError("HTML needs the application: pip install 'tavernkit[playground]'.") from None
        return html_form(title).whole
    return {"risuai": risuai_form(title), "text": text_form(), "markdown": markdown_form(title)}[to].whole


def _book_writer(title: str, rule: ChapterOption, messages: int) -> Callable[[ChatFile], bytes]:
    try:
        from tavernkit.playground.story.books.chapters import Chapters
        from tavernkit.playground.story.books.epub import book_of_file
    except ImportError:
        raise UsageError("EPUB needs the application: pip install 'tavernkit[playground]'.") from None
    chapters, now = Chapters(rule=rule, messages=messages), datetime.now(UTC)
    return lambda chat: book_of_file(chat, title=title, modified=now, chapters=chapters)


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
