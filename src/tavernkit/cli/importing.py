"""`tavernkit import`: a whole folder or backup of SillyTavern or RisuAI, into the database of the application."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from tavernkit.cli.application import application, with_runtime
from tavernkit.cli.errors import UsageError
from tavernkit.cli.output import JsonOption, Printer, emit, progress, status
from tavernkit.errors import TavernKitError
from tavernkit.migration.files import FileKind
from tavernkit.values import Json

if TYPE_CHECKING:
    from tavernkit.playground.base.accounts.viewer import Viewer
    from tavernkit.playground.base.database.models import FolderImport, Job
    from tavernkit.playground.base.runtime import Runtime
    from tavernkit.playground.story.migration.choices import ImportChoices

POLL_SECONDS = 0.2
LISTED = 20
STATES = ("new", "changed", "same", "duplicate", "refused")
WITHOUT_LINES = ("exact", "unchanged")
"""Verdicts that need no line of their own at the end."""


def import_folder(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A folder, a ZIP file or a backup of SillyTavern or RisuAI.")
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Import without asking.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be imported; import nothing.")] = False,
    conflict: Annotated[
        Literal["keep", "replace", "both"],
        typer.Option(help="What becomes of what was changed here and in the folder."),
    ] = "both",
    enable_scripts: Annotated[bool, typer.Option("--enable-scripts", help="Enable imported regex scripts.")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND", help=f"Only this kind, repeatable: {', '.join(get_args(FileKind))}."),
    ] = None,
    password: Annotated[
        str, typer.Option(help="Opens cards that RisuAI has encrypted with a password; it is not stored.")
    ] = "",
    account: Annotated[str, typer.Option(help="The account to import for. Default: the owner.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Import everything of SillyTavern or RisuAI: first a scan, then the import, then a report.

    The database is that of `tavernkit serve`, which may run at the same time.
    """
    if as_json and not (yes or dry_run):
        raise UsageError("--json cannot ask a question. Give --yes or --dry-run too.")
    unknown = [kind for kind in only or () if kind not in get_args(FileKind)]
    if unknown:
        raise UsageError(f"There is no kind {unknown[0]!r}. Kinds: {', '.join(get_args(FileKind))}.")
    with application():
        from tavernkit.playground.story.migration.choices import ImportChoices

        kinds: tuple[FileKind, ...] = tuple(kind for kind in get_args(FileKind) if kind in (only or ()))
        choices = ImportChoices(kinds=kinds or None, conflict=conflict, enable_scripts=enable_scripts)
        with_runtime(
            lambda runtime: _import(
                runtime, path.absolute(), choices, account, password, yes=yes, dry_run=dry_run, as_json=as_json
            )
        )


async def _import(
    runtime: Runtime,
    path: Path,
    choices: ImportChoices,
    account: str,
    password: str,
    *,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    from tavernkit.playground.story.migration import service

    viewer = await _viewer(runtime, account)
    async with _working(runtime):
        begun = await service.import_from_path(runtime, viewer, path)
        with status("Scanning") as say:
            row = await _followed(runtime, viewer, begun, lambda job: say(f"{100 * job.done // max(job.total, 1)} %"))
        if not as_json:
            await _show_scan(runtime, row)
        await _open_cards(runtime, viewer, row, password, can_ask=not (yes or dry_run))
        if dry_run or not (yes or typer.confirm("Import?", err=True)):
            document = await _document(runtime, viewer, row)
            await service.discard_import(runtime, viewer, row.id)
            if as_json:
                emit(document)
            elif not dry_run:
                typer.echo("Nothing was imported.")
            return
        row = await _imported(runtime, viewer, await service.start_import(runtime, viewer, row.id, choices))
    if as_json:
        emit(await _document(runtime, viewer, row))
    else:
        await _show_report(runtime, viewer, row)


async def _open_cards(runtime: Runtime, viewer: Viewer, row: FolderImport, password: str, *, can_ask: bool) -> None:
    """Open the cards that need a password: with the one that was given, else with one that is asked for."""
    from tavernkit.playground.base.refused import Refused
    from tavernkit.playground.story.migration import service
    from tavernkit.playground.story.migration.passwords import LOCKED
    from tavernkit.playground.story.migration.report import report_lines

    locked = row.summary.get(LOCKED, [])
    if not locked or not (password or can_ask):
        return
    places = {line.path: line.position async for line in report_lines(runtime, viewer, row.id) if line.path in locked}
    for path, position in places.items():
        word = password
        while word or can_ask:
            word = word or typer.prompt(
                f"Password of {path} (empty: skip it)", default="", hide_input=True, show_default=False, err=True
            )
            if not word:
                break
            try:
                await service.open_item(runtime, viewer, row.id, position, word)
                break
            except Refused as refused:
                typer.echo(f"{path}: {refused.sentence}", err=True)
                word = ""


async def _viewer(runtime: Runtime, account: str) -> Viewer:
    """Whose import it is: somebody who is named, or the owner, who is there from the first start on."""
    from tavernkit.playground.base.accounts.queries import find_user
    from tavernkit.playground.base.accounts.viewer import Viewer
    from tavernkit.playground.base.refused import existing
    from tavernkit.playground.story.seeding import seed

    user = await seed(runtime)
    if account:
        async with runtime.database.read() as session:
            user = existing(await find_user(session, account), "account")
    return Viewer(user_id=user.id)


@asynccontextmanager
async def _working(runtime: Runtime) -> AsyncIterator[None]:
    """Meanwhile, do the scans and imports that are due, unless the worker of a server is faster."""
    from tavernkit.playground.base.jobs.worker import JobWorker
    from tavernkit.playground.story.background import HANDLERS
    from tavernkit.playground.story.migration.steps import IMPORT_KIND, SCAN_KIND
    from tavernkit.playground.story.sweeping import sweep

    handlers = {kind: HANDLERS[kind] for kind in (SCAN_KIND, IMPORT_KIND)}
    worker = JobWorker(runtime, f"import:{os.getpid()}", handlers, sweep)
    working = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.stop()
        await working


async def _followed(runtime: Runtime, viewer: Viewer, row: FolderImport, seen: Callable[[Job], None]) -> FolderImport:
    """The import, once its job is over; `seen` gets the job again and again."""
    from tavernkit.playground.base.database.models import Job
    from tavernkit.playground.base.languages import stored_sentence
    from tavernkit.playground.story.migration.queries import import_of

    while True:
        async with runtime.database.read() as session:
            row = await import_of(session, viewer, row.id)
            job = await session.get_one(Job, row.job_id)
        seen(job)
        if row.status == "failed" or job.status == "failed":
            error = row.error or job.error
            raise TavernKitError(stored_sentence(error) if error else "The import failed.")
        if job.status not in ("queued", "running") and row.status not in ("scanning", "importing"):
            return row
        await asyncio.sleep(POLL_SECONDS)


async def _imported(runtime: Runtime, viewer: Viewer, row: FolderImport) -> FolderImport:
    """The import when it is complete, with a bar until then."""
    from tavernkit.playground.base.database.models import Job

    async with runtime.database.read() as session:
        total = (await session.get_one(Job, row.job_id)).total
    moved = 0
    with progress("Importing", total) as advance:

        def move(job: Job) -> None:
            nonlocal moved
            for _ in range(job.done - moved):
                advance()
            moved = max(moved, job.done)

        return await _followed(runtime, viewer, row, move)


async def _show_scan(runtime: Runtime, row: FolderImport) -> None:
    """What was found, by kind."""
    from tavernkit.playground.story.migration.labels import BECOMES, KINDS
    from tavernkit.playground.story.migration.passwords import LOCKED
    from tavernkit.playground.story.migration.queries import item_totals

    async with runtime.database.read() as session:
        totals = await item_totals(session, row.id)
    files, sizes, states = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    for kind, state, _, count, size in totals:
        files[kind] += count
        sizes[kind] += size
        states[kind, state] += count
    printer = Printer()
    printer.table(
        ("files", "kind", "becomes", "bytes", "new", "changed", "already here", "duplicate", "refused"),
        [
            (files[kind], str(label), str(BECOMES[kind]), sizes[kind], *(states[kind, state] for state in STATES))
            for kind, label in KINDS.items()
            if files[kind]
        ],
    )
    _show_list(printer, "Secrets that are skipped", row.summary.get("secrets", []))
    _show_list(printer, "Cards that need a password", row.summary.get(LOCKED, []))
    _show_list(printer, "Broken links", row.summary.get("broken_links", []))


def _show_list(printer: Printer, title: str, lines: list[str]) -> None:
    if lines:
        printer.line()
        printer.line(f"{title}: {len(lines):,}", style="bold")
        for line in lines[:LISTED]:
            printer.line(f"  {line}")
        if len(lines) > LISTED:
            printer.line(f"  and {len(lines) - LISTED:,} more")


async def _show_report(runtime: Runtime, viewer: Viewer, row: FolderImport) -> None:
    """How many files have which verdict, and every line that needs one."""
    from tavernkit.playground.story.migration.labels import VERDICTS
    from tavernkit.playground.story.migration.report import report_lines

    verdicts, rows = Counter[str](), []
    async for line in report_lines(runtime, viewer, row.id):
        verdicts[str(line.verdict)] += 1
        if line.verdict not in WITHOUT_LINES:
            name = f"{line.title} ({line.path})" if line.title else line.path
            rows.append((str(VERDICTS.get(line.verdict or "", "–")), name, " ".join(line.notes)))
    printer = Printer()
    printer.line()
    printer.table(
        ("files", "result"), [(verdicts[name], str(label)) for name, label in VERDICTS.items() if verdicts[name]]
    )
    if rows:
        printer.line()
        printer.table(("result", "file", "notes"), rows)


async def _document(runtime: Runtime, viewer: Viewer, row: FolderImport) -> Json:
    """The import as JSON: totals, what the scan found, and every line that needs one."""
    from tavernkit.playground.story.migration.queries import item_totals
    from tavernkit.playground.story.migration.report import report_lines

    async with runtime.database.read() as session:
        totals = await item_totals(session, row.id)
    names = ("kind", "state", "verdict", "files", "bytes")
    return {
        "id": str(row.id),
        "name": row.name,
        "status": row.status,
        "totals": [dict(zip(names, line, strict=True)) for line in totals],
        "secrets": row.summary.get("secrets", []),
        "locked": row.summary.get("locked", []),
        "broken_links": row.summary.get("broken_links", []),
        "lines": [
            line async for line in report_lines(runtime, viewer, row.id) if line.verdict not in (None, *WITHOUT_LINES)
        ],
    }
