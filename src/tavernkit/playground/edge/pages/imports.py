"""The pages of imports: sending a folder, the scan with its choices, the progress, and the report."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Form, Path, Query, Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import UploadFile

from tavernkit.migration.files import FileKind
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.presenting.imports import (
    CONFLICTS,
    ItemsQuery,
    import_head,
    import_view,
    imports_view,
    item_view,
    items_view,
)
from tavernkit.playground.edge.web.forms import Flag, fresh_page
from tavernkit.playground.edge.web.requests import PageCaller, Visitor, answer, replaced, streamed, wants_streams
from tavernkit.playground.edge.web.uploads import received_form
from tavernkit.playground.story.migration import service
from tavernkit.playground.story.migration.choices import Conflict, ImportChoices
from tavernkit.playground.story.migration.items import Verdict
from tavernkit.playground.story.migration.labels import MEANINGS, STATES, VERDICTS
from tavernkit.playground.story.migration.passwords import MAX_PASSWORD
from tavernkit.playground.story.migration.queries import State

PIECE_BYTES = 1 << 20

router = APIRouter(prefix="/import")

After = Annotated[str | None, Query(max_length=2000)]
Position = Annotated[int, Path(ge=0, le=2**31 - 1)]


@router.get("")
async def show_imports(caller: PageCaller, after: After = None) -> Response:
    return fresh_page("imports/index.html", view=await imports_view(*caller, after=after))


@router.post("")
async def import_one_file(caller: PageCaller) -> Response:
    """An archive or backup, from a browser without scripts; others send files to the API, one by one."""
    try:
        limit = caller.runtime.settings.import_bytes
        async with received_form(caller.request, field="file", max_files=1, max_bytes=limit) as form:
            file = form.files[0]
            made = await service.begin_import(*caller, name=file.filename or "")
            await service.receive_file(*caller, made.id, file.filename or "file", _pieces(file))
        await service.start_scan(*caller, made.id)
    except Refused as refused:
        view = await imports_view(*caller, problem=refused.sentence)
        return fresh_page("imports/index.html", refused, view=view)
    return _see(made.id)


@router.get("/{import_id}")
async def show_import(
    caller: PageCaller,
    import_id: UUID,
    kind: FileKind | Literal[""] = "",
    state: State | Literal[""] = "",
    verdict: Verdict | Literal[""] = "",
    search: Annotated[str, Query(max_length=200)] = "",
    after: After = None,
) -> Response:
    query = ItemsQuery(kind=kind, state=state, verdict=verdict, search=search.strip())
    return await _import_page(caller, import_id, query, after=after)


@router.get("/{import_id}/progress")
async def import_progress(
    caller: PageCaller, import_id: UUID, after: Annotated[str, Query(max_length=20)] = ""
) -> Response:
    """Turbo streams for the page of an import: how far it is, and the rest where `after` is no longer its status."""
    head = await import_head(*caller, import_id)
    streams = replaced("import_head", "imports/_head.html", view=head)
    if head.row.status != after:
        view = await import_view(*caller, import_id)
        files = await items_view(*caller, import_id, ItemsQuery())
        streams += replaced("import_body", "imports/_body.html", view=view, files=files, **_words())
    response = streamed(streams)
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/{import_id}/scan")
async def scan(caller: PageCaller, import_id: UUID) -> Response:
    await service.start_scan(*caller, import_id)
    return _see(import_id)


@router.post("/{import_id}/items/{position}")
async def choose(
    caller: PageCaller,
    import_id: UUID,
    position: Position,
    choice: Annotated[Literal["skip", "keep", "replace", "both", ""], Form()] = "",
    password: Annotated[str, Form(max_length=MAX_PASSWORD)] = "",
) -> Response:
    """Decide about one file, or open it with its password."""
    problem = ""
    if password:
        try:
            item = await service.open_item(*caller, import_id, position, password)
        except Refused as refused:
            if refused.code != "invalid" or not wants_streams(caller.request):
                raise
            item, problem = await service.item_of(*caller, import_id, position), refused.sentence
    else:
        item = await service.choose_for_item(*caller, import_id, position, choice or None)
    view = await item_view(caller.runtime, item, problem=problem)
    stream = replaced(f"item_{position}", "imports/_item.html", item=view)
    return answer(caller.request, stream, otherwise=f"/import/{import_id}#item_{position}")


@router.post("/{import_id}/start")
async def start(
    caller: PageCaller,
    import_id: UUID,
    kind: Annotated[list[FileKind] | None, Form()] = None,
    conflict: Annotated[Conflict, Form()] = "both",
    enable_scripts: Flag = False,
) -> Response:
    """Import what is chosen."""
    chosen = ImportChoices(kinds=tuple(kind or ()), conflict=conflict, enable_scripts=enable_scripts)
    await service.start_import(*caller, import_id, chosen)
    return _see(import_id)


@router.post("/{import_id}/resume")
async def resume(caller: PageCaller, import_id: UUID) -> Response:
    view = await import_view(*caller, import_id)
    await service.start_import(*caller, import_id, view.choices)
    return _see(import_id)


@router.post("/{import_id}/pause")
async def pause(caller: PageCaller, import_id: UUID) -> Response:
    await service.pause_import(*caller, import_id)
    return _see(import_id)


@router.post("/{import_id}/discard")
async def discard(caller: PageCaller, import_id: UUID) -> Response:
    await service.discard_import(*caller, import_id)
    return RedirectResponse("/import", status_code=303)


async def _import_page(caller: Visitor, import_id: UUID, query: ItemsQuery, *, after: str | None) -> Response:
    view = await import_view(*caller, import_id)
    files = await items_view(*caller, import_id, query, after=after)
    return fresh_page("imports/import.html", view=view, files=files, **_words())


def _words() -> dict[str, Any]:
    return {"conflicts": CONFLICTS, "states": STATES, "verdicts": VERDICTS, "meanings": MEANINGS}


async def _pieces(file: UploadFile) -> AsyncIterator[bytes]:
    while piece := await file.read(PIECE_BYTES):
        yield piece


def _see(import_id: UUID) -> Response:
    return RedirectResponse(f"/import/{import_id}", status_code=303)
