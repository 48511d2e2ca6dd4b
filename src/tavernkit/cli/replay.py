"""`tavernkit replay`: the prompt of a run, built again and compared with what was sent."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from tavernkit.cli.application import application, with_runtime
from tavernkit.cli.errors import CHECK_FAILED, UsageError, about
from tavernkit.cli.files import ForceOption, check_free, read_input, write_output
from tavernkit.cli.output import JsonOption, Printer, present

if TYPE_CHECKING:
    from tavernkit.playground.base.runtime import Runtime
    from tavernkit.playground.story.replaying.replay import Difference, KeptRun, Replay


def replay_run(
    run: Annotated[str, typer.Argument(metavar="RUN|FILE", help="The id of a run, or a file written with --save.")],
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", help="Write what a replay needs into a file."),
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Build the prompt of a run again from what was kept, and compare it with what was sent.

    The database is that of `tavernkit serve`, which may run at the same time. No model is asked.
    """
    if save is not None:
        check_free([save], force=force)
    with application():
        from tavernkit.playground.base.refused import Refused
        from tavernkit.playground.story.replaying.replay import replayed, write_run

        run_id = _id(run)
        kept = (
            _from_file(Path(run)) if run_id is None else with_runtime(lambda runtime: _from_database(runtime, run_id))
        )
        try:
            replay = asyncio.run(replayed(kept))
        except Refused as refused:
            raise UsageError(refused.sentence) from None
        if save is not None:
            write_output(save, write_run(kept), force=force)
    present(replay, lambda printer: _show(printer, replay), as_json=as_json)
    if not replay.is_whole:
        raise typer.Exit(CHECK_FAILED)


def _id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _from_file(file: Path) -> KeptRun:
    from tavernkit.playground.story.replaying.replay import read_run_file

    with about(file):
        return read_run_file(read_input(file))


async def _from_database(runtime: Runtime, run_id: UUID) -> KeptRun:
    from tavernkit.playground.story.replaying.replay import owner_of_run, read_run

    return await read_run(runtime, await owner_of_run(runtime, run_id), run_id)


def _show(printer: Printer, replay: Replay) -> None:
    printer.line("The prompt is the same." if replay.is_same else "The prompt differs.", "bold")
    printer.pair("sent", replay.fingerprint)
    if not replay.is_same:
        printer.pair("rebuilt", replay.rebuilt_fingerprint)
    _show_difference(printer, replay.difference)
    if replay.reply is not None:
        printer.line("The reply is the same." if replay.reply.is_same else "The reply differs.", "bold")
        _show_difference(printer, replay.reply.difference)
    for reason in replay.reasons:
        printer.line(str(reason))


def _show_difference(printer: Printer, difference: Difference | None) -> None:
    if difference is not None:
        printer.line(f"First difference, at {difference.place or 'a place that people must not see'}:")
        printer.pair("  kept", difference.kept)
        printer.pair("  rebuilt", difference.rebuilt)
