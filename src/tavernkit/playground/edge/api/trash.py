"""The trash and the periods of retention over HTTP."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, Field

from tavernkit.playground.base.paging import behind_time, moment
from tavernkit.playground.edge.api.requests import After, ApiCaller, Limit, Page, documented, page
from tavernkit.playground.story.retention import RetentionPeriods, change_retention, request_sweep
from tavernkit.playground.story.sweeping.queries import RetentionState, read_retention_state
from tavernkit.playground.story.trash import service
from tavernkit.playground.story.trash.queries import TrashedItem, TrashKind

router = APIRouter(tags=["trash"])


class EmptiedTrash(BaseModel):
    """How much was in the trash."""

    count: int


class AskedSweep(BaseModel):
    """The job that sweeps."""

    job_id: UUID = Field(description="A job of one's own; its result says what was removed.")


@router.get("/trash", responses=documented())
async def list_items(
    caller: ApiCaller, kind: TrashKind | None = None, after: After = None, limit: Limit = 50
) -> Page[TrashedItem]:
    """What one has deleted and can restore, what was deleted last first."""
    items = await service.read_trash(*caller, kind=kind, after=behind_time(after), limit=limit + 1)
    return page(items, limit, lambda item: item, lambda item: (moment(item.trashed_at), str(item.id)))


@router.delete("/trash", responses=documented())
async def empty(caller: ApiCaller) -> EmptiedTrash:
    """Delete everything in one's trash for good."""
    return EmptiedTrash(count=await service.empty_trash(*caller))


@router.post("/trash/{kind}/{item_id}/restore", status_code=204, responses=documented(409))
async def restore(caller: ApiCaller, kind: TrashKind, item_id: UUID) -> None:
    """Restore something to where it was."""
    await service.restore(*caller, kind, item_id)


@router.delete("/trash/{kind}/{item_id}", status_code=204, responses=documented())
async def remove(caller: ApiCaller, kind: TrashKind, item_id: UUID) -> None:
    """Delete something in the trash for good."""
    await service.delete_for_good(*caller, kind, item_id)


@router.get("/retention", responses=documented())
async def read(caller: ApiCaller) -> RetentionState:
    """How long things are kept, what a sweep would free now, and what the last one has removed; for administrators."""
    return await read_retention_state(*caller)


@router.put("/retention", responses=documented())
async def change(caller: ApiCaller, body: RetentionPeriods) -> RetentionState:
    """Set how long things are kept; for administrators."""
    await change_retention(*caller, body)
    return await read_retention_state(*caller)


@router.post("/retention/sweep", status_code=202, responses=documented())
async def sweep(caller: ApiCaller) -> AskedSweep:
    """Remove now what is not kept any longer; for administrators."""
    return AskedSweep(job_id=await request_sweep(*caller))
