"""The trash, and for administrators the page of how long things are kept."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response
from fastapi.responses import RedirectResponse
from pydantic import ValidationError

from tavernkit.playground.base.accounts.viewer import require_administrator
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.presenting.trash import FIELDS, address_of, retention_view, trash_view
from tavernkit.playground.edge.web.forms import Text, fresh_page, problem_in, refusal_of
from tavernkit.playground.edge.web.requests import PageCaller, Visitor
from tavernkit.playground.story.retention import RetentionPeriods, change_retention, request_sweep
from tavernkit.playground.story.trash import service
from tavernkit.playground.story.trash.queries import TrashKind

router = APIRouter()

After = Annotated[str | None, Query(max_length=2000)]


@router.get("/trash")
async def trash(caller: PageCaller, kind: TrashKind | None = None, after: After = None) -> Response:
    return await _page(caller, kind=kind, after=after)


@router.post("/trash/empty")
async def empty(caller: PageCaller) -> Response:
    await service.empty_trash(*caller)
    return RedirectResponse("/trash", status_code=303)


@router.post("/trash/{kind}/{item_id}/restore")
async def restore(caller: PageCaller, kind: TrashKind, item_id: UUID) -> Response:
    """Restore something, and go there."""
    refused = await refusal_of(service.restore(*caller, kind, item_id))
    if refused is not None:
        return await _page(caller, refused=refused)
    return RedirectResponse(await address_of(caller.runtime, kind, item_id), status_code=303)


@router.post("/trash/{kind}/{item_id}/delete")
async def delete(caller: PageCaller, kind: TrashKind, item_id: UUID) -> Response:
    """Delete something for good."""
    await service.delete_for_good(*caller, kind, item_id)
    return RedirectResponse("/trash", status_code=303)


@router.get("/retention")
async def retention(
    caller: PageCaller,
    trash_days: Annotated[str | None, Query(max_length=20)] = None,
    prompt_days: Annotated[str, Query(max_length=20)] = "",
    stream_days: Annotated[str, Query(max_length=20)] = "",
    event_days: Annotated[str, Query(max_length=20)] = "",
    job_days: Annotated[str, Query(max_length=20)] = "",
    version_days: Annotated[str, Query(max_length=20)] = "",
) -> Response:
    """The periods; with others in the address, what those would free."""
    require_administrator(caller.viewer)
    if trash_days is None:
        return await _retention_page(caller)
    typed = _typed(trash_days, prompt_days, stream_days, event_days, job_days, version_days)
    try:
        return await _retention_page(caller, retention=_read(typed), typed=typed)
    except Refused as refused:
        return await _retention_page(caller, typed=typed, refused=refused)


@router.post("/retention")
async def change(
    caller: PageCaller,
    trash_days: Text = "",
    prompt_days: Text = "",
    stream_days: Text = "",
    event_days: Text = "",
    job_days: Text = "",
    version_days: Text = "",
) -> Response:
    typed = _typed(trash_days, prompt_days, stream_days, event_days, job_days, version_days)
    try:
        await change_retention(*caller, _read(typed))
    except Refused as refused:
        if refused.code != "invalid":
            raise
        return await _retention_page(caller, typed=typed, refused=refused)
    return RedirectResponse("/retention", status_code=303)


@router.post("/retention/sweep")
async def sweep(caller: PageCaller) -> Response:
    """Have a worker sweep now."""
    await request_sweep(*caller)
    return RedirectResponse("/retention", status_code=303)


async def _page(
    caller: Visitor, *, kind: TrashKind | None = None, after: str | None = None, refused: Refused | None = None
) -> Response:
    view = await trash_view(*caller, kind=kind, after=after)
    return fresh_page("trash.html", refused, view=view)


async def _retention_page(
    caller: Visitor,
    *,
    retention: RetentionPeriods | None = None,
    typed: dict[str, str] | None = None,
    refused: Refused | None = None,
) -> Response:
    view = await retention_view(*caller, retention=retention, typed=typed)
    return fresh_page("retention.html", refused, view=view)


def _typed(*values: str) -> dict[str, str]:
    return dict(zip(FIELDS, values, strict=True))


def _read(typed: dict[str, str]) -> RetentionPeriods:
    """The periods of the form; an empty box keeps for ever."""
    try:
        return RetentionPeriods.model_validate({name: value.strip() or None for name, value in typed.items()})
    except ValidationError as error:
        labels = {name: label for name, (_category, label, _help) in FIELDS.items()}
        raise Refused("invalid", problem_in(error.errors()[0], labels)) from None
