"""Imports of whole folders over HTTP."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import StreamingResponse
from msgspec import convert
from pydantic import BaseModel, Field, SecretStr
from starlette.requests import ClientDisconnect

from tavernkit.migration.files import FileKind
from tavernkit.playground.base.database.models import FolderImport, ImportItem, Job
from tavernkit.playground.base.jobs.queries import find_job
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext
from tavernkit.playground.base.paging import behind_number, behind_time
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.schemas import Document, StrictModel
from tavernkit.playground.edge.api.jobs import JobError, JobOut
from tavernkit.playground.edge.api.reports import REPORT, ReportFormat, report_response
from tavernkit.playground.edge.api.requests import After, ApiCaller, Limit, Page, documented, page
from tavernkit.playground.edge.web.bodies import take_up_to
from tavernkit.playground.edge.web.requests import Caller
from tavernkit.playground.story.migration import queries, service
from tavernkit.playground.story.migration.choices import Conflict, ImportChoices
from tavernkit.playground.story.migration.items import TargetKind, Verdict
from tavernkit.playground.story.migration.labels import KINDS, MEANINGS, VERDICTS
from tavernkit.playground.story.migration.passwords import MAX_PASSWORD, PasswordState, password_state
from tavernkit.playground.story.migration.queries import State
from tavernkit.playground.story.migration.report import TITLE, notes_of, report_lines
from tavernkit.playground.story.migration.service import ItemChoice
from tavernkit.playground.story.migration.uploads import SentFile

MAX_MILLISECONDS = 4_102_444_800_000
"""The year 2100."""

BYTES_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}

Status = Literal["receiving", "scanning", "scanned", "importing", "paused", "done", "failed", "discarded"]
Position = Annotated[int, Path(ge=0, le=2**31 - 1)]


class NewFolderImport(StrictModel):
    """An import that is about to receive files."""

    name: str = Field(min_length=1, max_length=300, description="What the folder or file is called.")


class ChoicesIn(StrictModel):
    """What is imported, and how."""

    kinds: list[FileKind] | None = Field(default=None, description="Only these kinds of files; null: all.")
    conflict: Conflict = Field(
        default="both",
        description="What happens to an item that was changed both here and in the folder: `keep` what is here, "
        "`replace` it, or have `both`.",
    )
    enable_scripts: bool = Field(default=False, description="Switch imported regex scripts on.")


class ItemTotalOut(BaseModel):
    """How many files of a kind have a state and a verdict."""

    kind: FileKind
    state: State
    verdict: Verdict | None
    count: int
    size: int = Field(description="Bytes.")


class FolderImportOut(Document):
    """An import of a folder, an archive or a backup."""

    id: UUID
    name: str
    status: Status
    source_id: UUID | None = Field(description="The folder or backup, once it is recognised; imports share it.")
    job: JobOut | None = Field(description="The scan or the import at work, and how far it has come.")
    choices: ChoicesIn
    summary: dict[str, Any] = Field(description="What the scan found: broken links, skipped secrets.")
    error: JobError | None
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None

    @classmethod
    def of(cls, row: FolderImport, job: Job | None) -> FolderImportOut:
        chosen = convert(row.choices, ImportChoices)
        return cls.of_row(
            row,
            job=None if job is None else JobOut.of(job),
            choices=ChoicesIn.model_validate(chosen, from_attributes=True),
        )


class FolderImportDetails(FolderImportOut):
    """An import with the totals of its files."""

    totals: list[ItemTotalOut]


class ReceivedOut(BaseModel):
    """A file that has arrived."""

    path: str
    size: int


class SentFileIn(StrictModel):
    """A file that is about to be sent."""

    path: str = Field(max_length=4096, description="Below the folder, with slashes.")
    size: int = Field(description="Bytes.")
    modified: int = Field(description="As it is sent: in milliseconds since 1970.")


class SentFilesIn(StrictModel):
    """Files of the folder, some at a time."""

    files: list[SentFileIn] = Field(max_length=1000)


class MissingFilesOut(BaseModel):
    """The files that have not arrived."""

    paths: list[str]


class ImportItemOut(Document):
    """A file of an import, and what became of it."""

    position: int
    path: str
    title: str = Field(description="What the application calls it, where the path does not say that.")
    kind: FileKind
    detail: str
    size: int
    modified: datetime | None
    sha256: str | None
    state: State
    choice: ItemChoice | None
    password: PasswordState | None = Field(
        description="`needed` where the file is encrypted with a password, and `given` once it was opened with one."
    )
    verdict: Verdict | None = Field(description="null until it is dealt with.")
    notes: list[str]
    target_kind: TargetKind | None = Field(description="What it became.")
    target_id: UUID | None

    @classmethod
    def of(cls, item: ImportItem) -> ImportItemOut:
        return cls.of_row(
            item,
            title=item.plan.get(TITLE, ""),
            notes=list(notes_of(item)),
            password=password_state(item.plan),
        )


class ItemChoiceIn(StrictModel):
    choice: ItemChoice | None = Field(description="null: as the choices of the whole import say.")
    password: SecretStr | None = Field(
        default=None,
        max_length=MAX_PASSWORD,
        description="Opens a file whose `password` is `needed`; it is tried at once and not stored.",
    )


router = APIRouter(prefix="/imports", tags=["imports"], responses=documented())


@router.get("", summary="One's own imports, newest first")
async def list_imports(caller: ApiCaller, limit: Limit = 50, after: After = None) -> Page[FolderImportOut]:
    async with caller.runtime.database.read() as session:
        rows = await queries.imports_page(session, caller.viewer, behind_time(after), limit + 1)
        jobs = {row.job_id: await find_job(session, row.job_id, caller.viewer) for row in rows[:limit] if row.job_id}
    return page(
        rows,
        limit,
        lambda row: FolderImportOut.of(row, None if row.job_id is None else jobs[row.job_id]),
        lambda row: (row.created_at.isoformat(), str(row.id)),
    )


@router.post("", status_code=201, summary="Begin an import: its files are sent next")
async def begin(caller: ApiCaller, wanted: NewFolderImport) -> FolderImportDetails:
    return await _details(caller, await service.begin_import(*caller, name=wanted.name))


@router.get("/{import_id}", summary="How far an import is, and what was found")
async def get_import(caller: ApiCaller, import_id: UUID) -> FolderImportDetails:
    return await _details(caller, await caller.read(queries.import_of, import_id))


@router.delete("/{import_id}", status_code=204, summary="Discard an import; what was imported stays")
async def discard(caller: ApiCaller, import_id: UUID) -> None:
    await service.discard_import(*caller, import_id)


@router.put(
    "/{import_id}/files",
    summary="Send a file of the folder, an archive or a backup",
    responses=documented(409, 413),
    openapi_extra=BYTES_BODY,
)
async def put_file(
    request: Request,
    caller: ApiCaller,
    import_id: UUID,
    path: Annotated[
        str, Query(min_length=1, max_length=1000, description="Below the folder, with slashes. Again: replaced.")
    ],
    modified: Annotated[
        int | None,
        Query(ge=0, le=MAX_MILLISECONDS, description="When it was changed last, in milliseconds since 1970."),
    ] = None,
) -> ReceivedOut:
    take_up_to(request, caller.runtime.settings.import_bytes)
    try:
        size = await service.receive_file(
            *caller,
            import_id,
            path,
            request.stream(),
            modified=None if modified is None else datetime.fromtimestamp(modified / 1000, UTC),
        )
    except ClientDisconnect:
        raise Refused("invalid", _("The file did not arrive completely. Send it again.")) from None
    return ReceivedOut(path=path, size=size)


@router.post(
    "/{import_id}/missing_files",
    summary="Which of these files have not arrived",
    description="A file has arrived if one of the same path, size and time was sent. To go on with an upload that was "
    "interrupted, send the others.",
    responses=documented(409),
)
async def missing_files(caller: ApiCaller, import_id: UUID, wanted: SentFilesIn) -> MissingFilesOut:
    files = [SentFile(path=file.path, size=file.size, modified=file.modified) for file in wanted.files]
    missing = await service.missing_files(*caller, import_id, files)
    return MissingFilesOut(paths=[file.path for file in missing])


@router.post("/{import_id}/scan", status_code=202, summary="Scan what has arrived", responses=documented(409))
async def scan(caller: ApiCaller, import_id: UUID) -> FolderImportDetails:
    return await _details(caller, await service.start_scan(*caller, import_id))


@router.get("/{import_id}/items", summary="The files, with what they are and what became of them")
async def list_items(
    caller: ApiCaller,
    import_id: UUID,
    kind: Annotated[list[FileKind] | None, Query(description="Only of these kinds.")] = None,
    state: Annotated[list[State] | None, Query(description="Only in these states.")] = None,
    verdict: Annotated[list[Verdict] | None, Query(description="Only with these verdicts.")] = None,
    text: Annotated[str, Query(max_length=200, description="A part of the path.")] = "",
    limit: Limit = 100,
    after: After = None,
) -> Page[ImportItemOut]:
    wanted = queries.ItemFilter(
        kinds=tuple(kind or ()), states=tuple(state or ()), verdicts=tuple(verdict or ()), text=text
    )
    async with caller.runtime.database.read() as session:
        row = await queries.import_of(session, caller.viewer, import_id)
        items = await queries.items_page(session, row.id, wanted, behind_number(after), limit + 1)
    return page(items, limit, ImportItemOut.of, lambda item: (item.position,))


@router.put("/{import_id}/items/{position}/choice", summary="Decide about one file", responses=documented(409))
async def choose(caller: ApiCaller, import_id: UUID, position: Position, wanted: ItemChoiceIn) -> ImportItemOut:
    if wanted.password is not None:
        await service.open_item(*caller, import_id, position, wanted.password.get_secret_value())
    return ImportItemOut.of(await service.choose_for_item(*caller, import_id, position, wanted.choice))


@router.post("/{import_id}/start", status_code=202, summary="Import, or go on", responses=documented(409))
async def start(caller: ApiCaller, import_id: UUID, wanted: ChoicesIn) -> FolderImportDetails:
    choices = ImportChoices(
        kinds=None if wanted.kinds is None else tuple(wanted.kinds),
        conflict=wanted.conflict,
        enable_scripts=wanted.enable_scripts,
    )
    return await _details(caller, await service.start_import(*caller, import_id, choices))


@router.post("/{import_id}/pause", summary="Pause; what was imported stays", responses=documented(409))
async def pause(caller: ApiCaller, import_id: UUID) -> FolderImportDetails:
    return await _details(caller, await service.pause_import(*caller, import_id))


@router.get(
    "/{import_id}/report", summary="What became of each file", response_class=StreamingResponse, responses=REPORT
)
async def report(caller: ApiCaller, import_id: UUID, format: ReportFormat = "json") -> StreamingResponse:
    row = await caller.read(queries.import_of, import_id)
    async with caller.runtime.database.read() as session:
        lines = await queries.item_totals(session, row.id)
    totals = Counter[str]()
    for _kind, _state, verdict, count, _size in lines:
        totals[verdict or ""] += count
    return report_response(
        format,
        f"{row.name} report",
        {"id": row.id, "name": row.name, "status": row.status, "finished_at": row.finished_at, "totals": totals},
        report_lines(*caller, row.id),
        title=_("Import of {name}", name=row.name),
        about=ngettext("{count} file", "{count} files", totals.total()),
        verdicts=VERDICTS,
        meanings=MEANINGS,
        kinds=KINDS,
    )


async def _details(caller: Caller, row: FolderImport) -> FolderImportDetails:
    async with caller.runtime.database.read() as session:
        job = None if row.job_id is None else await find_job(session, row.job_id, caller.viewer)
        totals = await queries.item_totals(session, row.id)
    shown = FolderImportOut.of(row, job)
    names = ("kind", "state", "verdict", "count", "size")
    return FolderImportDetails(
        **dict(shown), totals=[ItemTotalOut.model_validate(dict(zip(names, line, strict=True))) for line in totals]
    )
