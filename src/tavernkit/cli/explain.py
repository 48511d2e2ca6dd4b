"""`tavernkit explain`: where every character of a request comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tavernkit.cli.application import application, with_runtime
from tavernkit.cli.build import built_from
from tavernkit.cli.build_options import BuildOptions, command_of, file_option
from tavernkit.cli.diff import explanation_of_run
from tavernkit.cli.errors import UsageError
from tavernkit.cli.files import ForceOption, write_output
from tavernkit.cli.output import Printer, emit, shorten

if TYPE_CHECKING:
    from tavernkit.prompt.sources import Explanation

_TEXT_WIDTH = 60


@dataclass(frozen=True, kw_only=True)
class ExplainOptions(BuildOptions):
    """The options of `tavernkit build`, and where a report is written."""

    run: Annotated[
        UUID | None, typer.Option(metavar="ID", help="A run of the application, whose prompt is explained.")
    ] = None
    conversation: Annotated[
        UUID | None, typer.Option(metavar="ID", help="A conversation of the application, whose latest prompt it is.")
    ] = None
    is_next: Annotated[bool, typer.Option("--next", help="The next prompt of --conversation, not the latest.")] = False
    html: Annotated[Path | None, file_option(help="Write a report as one HTML file.")] = None
    force: ForceOption = False

    @property
    def is_traced(self) -> bool:
        return True

    def _files(self) -> Iterator[Path]:
        return (file for file in super()._files() if file is not self.html)


def _explain_request(options: ExplainOptions) -> None:
    """Say where every character of a request comes from: card, preset, persona, lore, history, macros, regex rules.

    The request is built as `tavernkit build` does, and the options are the same. That of a run or a conversation is
    read from the database of `tavernkit serve`, which may run at the same time.
    """
    is_stored = options.run is not None or options.conversation is not None
    explanation = _stored(options) if is_stored else built_from(options).explanation
    if explanation is None:
        return
    if options.html is not None:
        from tavernkit.cli.explain_page import page

        write_output(options.html, page(explanation), force=options.force)
    if options.as_json:
        emit(explanation)
    elif options.html is None:
        _print(explanation)


def _stored(options: ExplainOptions) -> Explanation:
    """Of the application's database."""
    run_id, conversation_id = options.run, options.conversation
    if options != ExplainOptions(
        run=run_id,
        conversation=conversation_id,
        is_next=options.is_next,
        html=options.html,
        force=options.force,
        as_json=options.as_json,
    ):
        raise UsageError("A prompt of the application is not built: with --run and --conversation, give no files.")
    with application():
        from tavernkit.playground.story.previews.explanations import explanation_in_conversation

        if conversation_id is None and run_id is not None and not options.is_next:
            return with_runtime(lambda runtime: explanation_of_run(runtime, run_id))
        if conversation_id is not None and run_id is None:
            is_next = options.is_next
            return with_runtime(lambda runtime: explanation_in_conversation(runtime, conversation_id, is_next=is_next))
    raise UsageError("Give either --run, or --conversation with or without --next.")


explain_request = command_of(_explain_request, ExplainOptions)


def _print(explanation: Explanation) -> None:
    from tavernkit.cli.explain_page import left_out_tables

    printer = Printer()
    for message in explanation.messages:
        printer.line(f"{message.role}:", "bold")
        printer.table(
            ("text", "source"), [(shorten(span.text, _TEXT_WIDTH) or "⏎", str(span.source)) for span in message.spans]
        )
        printer.line()
    for heading, columns, rows in left_out_tables(explanation):
        printer.line(f"{heading}:", "bold")
        printer.table(columns, rows)
        printer.line()
    printer.line(str(explanation.coverage))
