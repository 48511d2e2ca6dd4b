"""`tavernkit export`: everything of an account as a folder that SillyTavern or RisuAI opens."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from tavernkit.cli.application import application, with_runtime
from tavernkit.cli.errors import UsageError, about
from tavernkit.cli.output import JsonOption, Printer, present, progress
from tavernkit.migration.files import FileKind

if TYPE_CHECKING:
    from tavernkit.playground.base.accounts.viewer import Viewer
    from tavernkit.playground.base.runtime import Runtime
    from tavernkit.playground.story.migration.export_report import ExportChoices, ExportReport

KINDS: tuple[FileKind, ...] = tuple(kind for kind in get_args(FileKind) if kind not in ("secret", "extension"))
BAR_STEPS = 100


class ApplicationOption(StrEnum):
    """Which application the folder is for."""

    sillytavern = "sillytavern"
    risuai = "risuai"


def export_folder(
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="The folder to write: a new or an empty one.")],
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND", help=f"Only this kind, repeatable: {', '.join(KINDS)}."),
    ] = None,
    app: Annotated[
        ApplicationOption, typer.Option("--application", help="The application that the folder is for.")
    ] = ApplicationOption.sillytavern,
    force: Annotated[
        bool, typer.Option("--force", help="Write into a folder that is not empty, and overwrite files there.")
    ] = False,
    account: Annotated[str, typer.Option(help="The account to export. Default: the owner.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Export everything of an account as a folder of SillyTavern, or for RisuAI, and print a report.

    The database is that of `tavernkit serve`, which may run at the same time.
    """
    unknown = [kind for kind in only or () if kind not in KINDS]
    if unknown:
        raise UsageError(f"There is no kind {unknown[0]!r}. Kinds: {', '.join(KINDS)}.")
    with about(to):
        if not force and to.exists() and (not to.is_dir() or any(to.iterdir())):
            raise UsageError(f"{to} exists and is not empty. Choose another folder, or use --force to write into it.")
        to.mkdir(parents=True, exist_ok=True)
    with application():
        from tavernkit.playground.story.migration.export_report import ExportChoices

        kinds = tuple(kind for kind in KINDS if kind in (only or ()))
        choices = ExportChoices(application=app.value, only=kinds or None)
        with about(to):
            report = with_runtime(lambda runtime: _export(runtime, to, choices, account))
    present(report.document(), lambda printer: _show(printer, to, report), as_json=as_json)


async def _export(runtime: Runtime, to: Path, choices: ExportChoices, account: str) -> ExportReport:
    from tavernkit.playground.story.migration.exporting import FolderSink, write_export

    viewer = await _viewer(runtime, account)
    with progress("Exporting", BAR_STEPS) as advance:
        bar = _Bar(advance)
        return await write_export(runtime, viewer, FolderSink(to), choices, bar.move)


class _Bar:
    """Moves a bar of a hundred steps: how many files there are is known when the export begins."""

    def __init__(self, advance: Callable[[], None]) -> None:
        self._advance = advance
        self._at = 0

    async def move(self, done: int, total: int) -> None:
        while self._at < BAR_STEPS and self._at * total < done * BAR_STEPS:
            self._at += 1
            self._advance()


async def _viewer(runtime: Runtime, account: str) -> Viewer:
    """Whose export it is: somebody who is named, or the owner, who is there from the first start on."""
    from tavernkit.playground.base.accounts.queries import find_user
    from tavernkit.playground.base.accounts.viewer import Viewer
    from tavernkit.playground.base.refused import existing
    from tavernkit.playground.story.seeding import seed

    user = await seed(runtime)
    if account:
        async with runtime.database.read() as session:
            user = existing(await find_user(session, account), "account")
    return Viewer(user_id=user.id)


def _show(printer: Printer, to: Path, report: ExportReport) -> None:
    totals = report.totals
    written = totals["exact"] + totals["converted"]
    printer.line(f"Wrote {written:,} files, {report.size:,} bytes, to {to}.")
    printer.table(("files", "result"), [(number, name.replace("_", " ")) for name, number in totals.items() if number])
    rows = [
        (line.verdict.replace("_", " "), line.path, " ".join(line.notes))
        for line in report.lines
        if line.verdict == "left_out" or (line.verdict == "exact" and line.notes)
    ]
    if rows:
        printer.line()
        printer.table(("result", "file", "notes"), rows)
