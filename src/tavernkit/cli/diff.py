"""`tavernkit diff`: what has changed between two prompts, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tavernkit.cli.application import application, with_runtime
from tavernkit.cli.errors import about
from tavernkit.cli.files import ForceOption, read_input, write_output
from tavernkit.cli.output import JsonOption, Printer, present, shorten
from tavernkit.errors import ParseError

if TYPE_CHECKING:
    from tavernkit.playground.base.runtime import Runtime
    from tavernkit.prompt.comparing import PromptComparison, TextChange
    from tavernkit.prompt.sources import Explanation

_TEXT_WIDTH = 100
_SOURCE = "RUN|FILE"
_HELP = "The id of a run of the application, or what `tavernkit explain --json` has written."


def compare_requests(
    before: Annotated[str, typer.Argument(metavar=_SOURCE, help=_HELP)],
    after: Annotated[str, typer.Argument(metavar=_SOURCE, help=_HELP)],
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a report as one HTML file.")
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say what has changed between two requests, and the cause of each change.

    A run is read from the database of `tavernkit serve`, which may run at the same time.
    """
    from tavernkit.prompt.comparing import compare

    old, new = _read(before), _read(after)
    comparison = compare(old, new)
    if html is not None:
        from tavernkit.cli.explain_page import comparison_page

        write_output(html, comparison_page(comparison, old, new), force=force)
        if not as_json:
            return
    present(comparison, lambda printer: _show(printer, comparison), as_json=as_json)


def _read(source: str) -> Explanation:
    try:
        run_id = UUID(source)
    except ValueError:
        return _from_file(Path(source))
    with application():
        return with_runtime(lambda runtime: explanation_of_run(runtime, run_id))


async def explanation_of_run(runtime: Runtime, run_id: UUID) -> Explanation:
    """Where the prompt of a run comes from, as the owner of its space may see it: for whoever has the database."""
    from tavernkit.playground.story.previews.explanations import read_explanation
    from tavernkit.playground.story.replaying.replay import owner_of_run

    return await read_explanation(runtime, await owner_of_run(runtime, run_id), run_id)


def _from_file(file: Path) -> Explanation:
    import msgspec

    from tavernkit.prompt.sources import Explanation

    with about(file):
        try:
            return msgspec.convert(json.loads(read_input(file)), Explanation)
        except (ValueError, RecursionError, msgspec.ValidationError) as error:
            raise ParseError(
                f"This is no explanation of a request: {error}. Write one with `tavernkit explain --json`."
            ) from error


def _show(printer: Printer, comparison: PromptComparison) -> None:
    from tavernkit.cli.explain_page import causes_counted

    if not comparison.changes:
        printer.line("No changes.")
        return
    for change in comparison.changes:
        _show_change(printer, change)
    printer.table(("changes", "cause"), [(count, cause) for cause, count in causes_counted(comparison)])


def _show_change(printer: Printer, change: TextChange) -> None:
    printer.line(change.cause, "bold")
    for cause in change.also:
        printer.line(f"  also: {cause.sentence}")
    printer.line(f"  {change.role}, {change.kind}: {shorten(change.source, _TEXT_WIDTH)}", "dim")
    if change.removed and change.kind != "moved":
        printer.line(f"- {shorten(change.removed, _TEXT_WIDTH)}", "red")
    if change.added:
        printer.line(f"{'~' if change.kind == 'moved' else '+'} {shorten(change.added, _TEXT_WIDTH)}", "green")
    printer.line()
