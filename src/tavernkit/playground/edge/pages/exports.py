"""The pages of exports: what to export, the progress, the archive and its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias
from uuid import UUID

from fastapi import APIRouter, Form, Query, Response
from fastapi.responses import RedirectResponse

from tavernkit.migration.files import Application, FileKind
from tavernkit.playground.base.jobs.service import request_cancel
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.presenting.export_picker import PickedKind
from tavernkit.playground.edge.presenting.exports import ExportQuery, export_view, exports_view
from tavernkit.playground.edge.web.forms import fresh_page
from tavernkit.playground.edge.web.requests import PageCaller, replaced, streamed
from tavernkit.playground.story.migration.exporting import begin_export
from tavernkit.playground.story.migration.labels import EXPORT_MEANINGS, EXPORT_VERDICTS

WORDS: dict[str, Any] = {"verdicts": EXPORT_VERDICTS, "meanings": EXPORT_MEANINGS}

router = APIRouter(prefix="/export")


What: TypeAlias = Literal["all", "some", "items"]


@router.get("")
async def show_exports(
    caller: PageCaller,
    application: Annotated[Application, Query()] = "sillytavern",
    what: Annotated[What | None, Query()] = None,
    kind: Annotated[Sequence[FileKind], Query()] = (),
    character_id: Annotated[Sequence[UUID], Query()] = (),
    space_id: Annotated[Sequence[UUID], Query()] = (),
    lorebook_id: Annotated[Sequence[UUID], Query()] = (),
    preset_id: Annotated[Sequence[UUID], Query()] = (),
    listed: Annotated[PickedKind, Query()] = "character",
    search: Annotated[str, Query(max_length=200)] = "",
    after: Annotated[str, Query(max_length=2000)] = "",
) -> Response:
    """The form; a search brings along what is chosen so far, and a link what it is about."""
    items = _items(character_id, space_id, lorebook_id, preset_id)
    query = ExportQuery(
        application=application,
        what=what or ("items" if any(items.values()) else "all"),
        kinds=kind,
        items=items,
        listed=listed,
        search=search.strip(),
        after=after or None,
    )
    return fresh_page("exports/index.html", view=await exports_view(*caller, query))


@router.post("")
async def begin(
    caller: PageCaller,
    application: Annotated[Application, Form()] = "sillytavern",
    what: Annotated[What, Form()] = "all",
    kind: Annotated[Sequence[FileKind], Form()] = (),
    character_id: Annotated[Sequence[UUID], Form()] = (),
    space_id: Annotated[Sequence[UUID], Form()] = (),
    lorebook_id: Annotated[Sequence[UUID], Form()] = (),
    preset_id: Annotated[Sequence[UUID], Form()] = (),
) -> Response:
    items = _items(character_id, space_id, lorebook_id, preset_id)
    query = ExportQuery(application=application, what=what, kinds=kind, items=items)
    try:
        job = await begin_export(*caller, query.choices())
    except Refused as refused:
        view = await exports_view(*caller, query, problem=refused.sentence)
        return fresh_page("exports/index.html", refused, view=view)
    return RedirectResponse(f"/export/{job.id}", status_code=303)


@router.get("/{job_id}")
async def show_export(caller: PageCaller, job_id: UUID) -> Response:
    return fresh_page("exports/export.html", view=await export_view(*caller, job_id), **WORDS)


@router.get("/{job_id}/progress")
async def export_progress(caller: PageCaller, job_id: UUID) -> Response:
    """A Turbo stream for the page of an export."""
    view = await export_view(*caller, job_id)
    response = streamed(replaced("import_head", "exports/_head.html", view=view, **WORDS))
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/{job_id}/stop")
async def stop(caller: PageCaller, job_id: UUID) -> Response:
    view = await export_view(*caller, job_id)
    await request_cancel(*caller, view.job.id)
    return RedirectResponse(f"/export/{job_id}", status_code=303)


def _items(
    characters: Sequence[UUID], spaces: Sequence[UUID], lorebooks: Sequence[UUID], presets: Sequence[UUID]
) -> Mapping[PickedKind, Sequence[UUID]]:
    return {"character": characters, "space": spaces, "lorebook": lorebooks, "preset": presets}
