"""What administrators look after, over the API: storage, health, jobs, backups, usage, prices, limits."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import FileResponse
from pydantic import Field

from tavernkit.playground.base.accounts.daily_limits import (
    HIGHEST_COST,
    MOST_TOKENS,
    DailyLimits,
    change_site_limits,
    change_user_limits,
    site_limits,
)
from tavernkit.playground.base.accounts.viewer import require_administrator
from tavernkit.playground.base.administration.backups import (
    MOST_HOURS,
    MOST_KEPT,
    BackupOrigin,
    BackupPlan,
    StoredBackup,
    begin_backup,
    change_plan,
    last_backup,
    list_backups,
    read_plan,
    remove_backup,
    stored_backup,
    take_backup,
)
from tavernkit.playground.base.administration.restoring import (
    check_stored,
    restore_outcome,
    stage_restore,
    staged_restore,
    unstage_restore,
)
from tavernkit.playground.base.administration.storage import storage_use
from tavernkit.playground.base.administration.workers import busy_workers
from tavernkit.playground.base.database.migrate import check
from tavernkit.playground.base.jobs.administration import (
    JobStatus,
    OwnedJob,
    all_jobs,
    cancel_any_job,
    repeat_job,
)
from tavernkit.playground.base.paging import behind_time
from tavernkit.playground.base.schemas import Document, StrictModel
from tavernkit.playground.edge.api.files import BINARY, attachment
from tavernkit.playground.edge.api.jobs import JobOut
from tavernkit.playground.edge.api.requests import After, ApiCaller, Limit, Page, documented, page
from tavernkit.playground.edge.api.usage import (
    MOST_DAYS,
    PriceDocument,
    PriceListDocument,
    PriceOut,
    PricesOut,
    UsageOut,
    price_file,
)
from tavernkit.playground.edge.health import health_document, read_health
from tavernkit.playground.edge.web.requests import Caller
from tavernkit.playground.edge.web.uploads import ONE_FILE, received_form
from tavernkit.playground.story.background import REPEATABLE
from tavernkit.playground.story.usage.prices import (
    LONGEST_MODEL,
    TokenPrices,
    list_prices,
    remove_price,
    set_price,
    set_prices,
)
from tavernkit.playground.story.usage.queries import UsageBy, usage


class StoredKindOut(Document):
    """What one kind of data takes up in the database."""

    kind: str
    rows: int
    size: int = Field(description="Bytes, without indexes.")


class FolderUseOut(Document):
    """What a folder beside the database takes up."""

    folder: str
    files: int
    size: int = Field(description="Bytes.")


class StorageOut(Document):
    """What takes up room, in bytes."""

    database: int = Field(description="The whole database, with indexes.")
    kinds: list[StoredKindOut]
    folders: list[FolderUseOut]
    disk_free: int
    disk_total: int


class BusyWorkerOut(Document):
    """A process that is at work."""

    name: str
    runs: int
    jobs: int


class LastBackupOut(Document):
    """The newest backup that a worker has made."""

    name: str
    made_at: datetime
    rows: int
    size: int


class SiteHealthOut(Document):
    """How the application stands."""

    health: dict[str, Any] = Field(description="What `GET /health` answers.")
    database: str = Field(description="The kind of database: sqlite or postgresql.")
    revision: str | None
    is_current: bool = Field(description="Whether the database has the newest revision.")
    workers: list[BusyWorkerOut]
    last_backup: LastBackupOut | None


class SiteJobOut(JobOut):
    """A job of anybody."""

    owner_id: UUID | None
    owner: str | None = Field(description="The name of the account; null for jobs of the server itself.")
    is_repeatable: bool

    @classmethod
    def of_owned(cls, owned: OwnedJob) -> SiteJobOut:
        shown = JobOut.of(owned.job).model_dump()
        return cls(**shown, owner_id=owned.job.owner_id, owner=owned.owner, is_repeatable=owned.job.kind in REPEATABLE)


class BackupOut(Document):
    """A backup in the folder of this server."""

    name: str
    origin: BackupOrigin
    size: int
    made_at: datetime


class BackupsOut(Document):
    """All backups, newest first."""

    items: list[BackupOut]


class BackupPlanDocument(StrictModel):
    """When backups are made by themselves."""

    every_hours: int = Field(ge=0, le=MOST_HOURS, description="0 is never.")
    keep: int = Field(ge=1, le=MOST_KEPT, description="How many of those that were made so are kept.")


class BackupContentsOut(Document):
    """What a backup holds, after every row of it was read."""

    name: str
    made_at: datetime
    revision: str
    rows: int
    users: int
    conversations: int
    messages: int
    characters: int


class StagedRestoreOut(Document):
    """A backup that is restored when the server starts next."""

    name: str
    made_at: datetime
    rows: int
    staged_at: datetime


class RestoreOutcomeOut(Document):
    """What became of the last restore."""

    name: str
    finished_at: datetime
    rows: int
    saved: str = Field(description="The backup of what was there before.")
    problem: str = Field(description="Why it failed; empty if it did not.")


class RestoreOut(Document):
    """What is restored at the next start, and what became of the last restore."""

    staged: StagedRestoreOut | None
    last: RestoreOutcomeOut | None


class DailyLimitsDocument(StrictModel):
    """What one account may use in a day; 0 is no limit."""

    tokens: int = Field(ge=0, le=MOST_TOKENS)
    cost: float = Field(ge=0, le=HIGHEST_COST, allow_inf_nan=False, description="Dollars.")


class UserLimitsDocument(StrictModel):
    """What this account may use in a day; 0 is no limit, null is the limit of the site."""

    tokens: int | None = Field(ge=0, le=MOST_TOKENS)
    cost: float | None = Field(ge=0, le=HIGHEST_COST, allow_inf_nan=False, description="Dollars.")


router = APIRouter(prefix="/admin", tags=["administration"], responses=documented())

BackupName = Annotated[str, Path(max_length=100, description="The name of the file.")]


@router.get("/storage", summary="What takes up room")
async def show_storage(caller: ApiCaller) -> StorageOut:
    use = await storage_use(*caller)
    return StorageOut.of_row(
        use,
        kinds=[StoredKindOut.of_row(kind) for kind in use.kinds],
        folders=[FolderUseOut.of_row(folder) for folder in use.folders],
    )


@router.get("/health", summary="How the application stands")
async def show_health(caller: ApiCaller) -> SiteHealthOut:
    require_administrator(caller.viewer)
    runtime = caller.runtime
    state = await check(runtime.settings.resolved_database_url)
    async with runtime.database.read() as session:
        workers, last = await busy_workers(session, runtime), await last_backup(session)
    return SiteHealthOut(
        health=health_document(await read_health(runtime)),
        database="postgresql" if runtime.database.is_postgresql else "sqlite",
        revision=state.current,
        is_current=state.is_current,
        workers=[BusyWorkerOut.of_row(worker) for worker in workers],
        last_backup=None if last is None else LastBackupOut.of_row(last),
    )


@router.get("/jobs", summary="Jobs of everybody, newest first")
async def list_all_jobs(
    caller: ApiCaller, status: JobStatus | None = None, limit: Limit = 50, after: After = None
) -> Page[SiteJobOut]:
    jobs = await caller.read(all_jobs, status=status, after=behind_time(after), limit=limit + 1)
    return page(jobs, limit, SiteJobOut.of_owned, lambda one: (one.job.created_at.isoformat(), str(one.job.id)))


@router.post("/jobs/{job_id}/cancel", summary="Stop a job of anybody; what it has done is kept")
async def cancel_job(caller: ApiCaller, job_id: UUID) -> JobOut:
    return JobOut.of(await cancel_any_job(*caller, job_id))


@router.post("/jobs/{job_id}/retry", summary="Repeat a job that failed or was stopped", responses=documented(409))
async def retry_job(caller: ApiCaller, job_id: UUID) -> JobOut:
    return JobOut.of(await repeat_job(*caller, job_id, repeatable=REPEATABLE))


@router.get("/backups", summary="The backups that this server keeps")
async def show_backups(caller: ApiCaller) -> BackupsOut:
    return BackupsOut(items=[BackupOut.of_row(backup) for backup in await list_backups(*caller)])


@router.post("/backups", status_code=202, summary="Make a backup now", responses=documented(409))
async def make_backup(caller: ApiCaller) -> JobOut:
    return JobOut.of(await begin_backup(*caller))


@router.post(
    "/backups/upload",
    status_code=201,
    summary="Keep a backup that was made elsewhere; it is read as a whole first",
    openapi_extra=ONE_FILE,
    responses=documented(413),
)
async def upload_backup(request: Request, caller: ApiCaller) -> BackupOut:
    return BackupOut.of_row(await taken_backup(request, caller))


@router.get("/backup_plan", summary="When backups are made by themselves")
async def show_plan(caller: ApiCaller) -> BackupPlanDocument:
    require_administrator(caller.viewer)
    async with caller.runtime.database.read() as session:
        plan = await read_plan(session)
    return BackupPlanDocument(every_hours=plan.every_hours, keep=plan.keep)


@router.put("/backup_plan", summary="Say when backups are made by themselves")
async def put_plan(caller: ApiCaller, plan: BackupPlanDocument) -> BackupPlanDocument:
    await change_plan(*caller, BackupPlan(every_hours=plan.every_hours, keep=plan.keep))
    return plan


@router.get("/backups/{backup}/file", summary="Download a backup", response_class=FileResponse, responses=BINARY)
async def get_backup(caller: ApiCaller, backup: BackupName) -> FileResponse:
    require_administrator(caller.viewer)
    place = stored_backup(caller.runtime.settings, backup)
    headers = {**attachment(place.stem, "zip"), "Cache-Control": "no-store"}
    return FileResponse(place, media_type="application/zip", headers=headers)


@router.get("/backups/{backup}/check", summary="Read a whole backup and say what it holds")
async def check_backup(caller: ApiCaller, backup: BackupName) -> BackupContentsOut:
    return BackupContentsOut.of_row(await check_stored(*caller, backup))


@router.delete("/backups/{backup}", status_code=204, summary="Remove a backup")
async def delete_backup(caller: ApiCaller, backup: BackupName) -> None:
    await remove_backup(*caller, backup)


@router.post("/backups/{backup}/restore", status_code=202, summary="Restore a backup when the server starts next")
async def restore_backup(caller: ApiCaller, backup: BackupName) -> StagedRestoreOut:
    return StagedRestoreOut.of_row(await stage_restore(*caller, backup))


@router.get("/restore", summary="What is restored at the next start, and what became of the last restore")
async def show_restore(caller: ApiCaller) -> RestoreOut:
    require_administrator(caller.viewer)
    settings = caller.runtime.settings
    staged, last = await staged_restore(settings), await restore_outcome(settings)
    return RestoreOut(
        staged=None if staged is None else StagedRestoreOut.of_row(staged),
        last=None if last is None else RestoreOutcomeOut.of_row(last),
    )


@router.delete("/restore", status_code=204, summary="Restore nothing at the next start")
async def cancel_restore(caller: ApiCaller) -> None:
    await unstage_restore(*caller)


@router.get("/usage", summary="What was used, by user, space, conversation, character, model, kind or day")
async def show_usage(
    caller: ApiCaller, by: UsageBy = "user", days: Annotated[int, Query(ge=1, le=MOST_DAYS)] = 30
) -> UsageOut:
    return UsageOut.of_table(await caller.read(usage, caller.runtime.clock(), by=by, days=days))


@router.get("/prices", summary="What models cost")
async def show_prices(caller: ApiCaller) -> PricesOut:
    require_administrator(caller.viewer)
    async with caller.runtime.database.read() as session:
        return PricesOut.of_rows(await list_prices(session))


@router.get("/prices/export", summary="All prices as a file")
async def export_prices(caller: ApiCaller) -> Response:
    require_administrator(caller.viewer)
    async with caller.runtime.database.read() as session:
        return price_file(await list_prices(session))


@router.post("/prices/import", summary="Say what several models cost; others are left as they are")
async def import_prices(caller: ApiCaller, prices: PriceListDocument) -> PricesOut:
    return PricesOut.of_rows(await set_prices(*caller, prices.prices))


@router.put("/prices", summary="Say what a model costs, also for replies of before")
async def put_price(caller: ApiCaller, price: PriceDocument) -> PriceOut:
    return PriceOut.of_row(await set_price(*caller, TokenPrices(**price.model_dump())))


@router.delete("/prices", status_code=204, summary="Forget what a model costs")
async def delete_price(caller: ApiCaller, model: Annotated[str, Query(max_length=LONGEST_MODEL)]) -> None:
    await remove_price(*caller, model)


@router.get("/limits", summary="What accounts without limits of their own may use in a day")
async def show_limits(caller: ApiCaller) -> DailyLimitsDocument:
    require_administrator(caller.viewer)
    async with caller.runtime.database.read() as session:
        limits = await site_limits(session)
    return DailyLimitsDocument(tokens=limits.tokens, cost=limits.cost)


@router.put("/limits", summary="Limit accounts that have no limits of their own")
async def put_limits(caller: ApiCaller, limits: DailyLimitsDocument) -> DailyLimitsDocument:
    await change_site_limits(*caller, DailyLimits(tokens=limits.tokens, cost=limits.cost))
    return limits


@router.put("/users/{user_id}/limits", summary="Limit one account")
async def put_user_limits(caller: ApiCaller, user_id: UUID, limits: UserLimitsDocument) -> UserLimitsDocument:
    await change_user_limits(*caller, user_id, tokens=limits.tokens, cost=limits.cost)
    return limits


async def taken_backup(request: Request, caller: Caller) -> StoredBackup:
    """The backup in the form of a request, once it is among those of this server."""
    require_administrator(caller.viewer)
    limit = caller.runtime.settings.import_bytes
    async with received_form(request, field="file", max_files=1, max_bytes=limit) as form:
        return await take_backup(*caller, form.files[0].file)
