"""The pages of exports: what to export, the progress, the archive and its report."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Form, Response
from fastapi.responses import RedirectResponse

from tavernkit.migration.files import Application, FileKind
from tavernkit.playground.base.jobs.service import request_cancel
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.presenting.exports import export_view, exports_view
from tavernkit.playground.edge.web.forms import fresh_page
from tavernkit.playground.edge.web.requests import PageCaller, replaced, streamed
from tavernkit.playground.story.migration.export_report import ExportChoices
from tavernkit.playground.story.migration.exporting import begin_export
from tavernkit.playground.story.migration.labels import EXPORT_MEANINGS, EXPORT_VERDICTS

WORDS: dict[str, Any] = {"verdicts": EXPORT_VERDICTS, "meanings": EXPORT_MEANINGS}

router = APIRouter(prefix="/export")


@router.get("")
async def show_exports(caller: PageCaller) -> Response:
    return fresh_page("exports/index.html", view=await exports_view(*caller))


@router.post("")
async def begin(
    caller: PageCaller,
    application: Annotated[Application, Form()] = "sillytavern",
    what: Annotated[Literal["all", "some"], Form()] = "all",
    kind: Annotated[list[FileKind] | None, Form()] = None,
) -> Response:
    try:
        if what == "some" and not kind:
            raise Refused("invalid", _("Choose at least one kind."))
        only = tuple(kind or ()) if what == "some" else None
        job = await begin_export(*caller, ExportChoices(application=application, only=only))
    except Refused as refused:
        view = await exports_view(*caller, problem=refused.sentence)
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
