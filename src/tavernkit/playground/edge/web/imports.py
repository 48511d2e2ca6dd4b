"""Files that a page takes in: several at once, each with its own outcome."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import PurePath
from typing import TypeAlias
from uuid import UUID

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from markupsafe import Markup

from tavernkit.playground.base.database.models import Conversation, Job
from tavernkit.playground.base.languages import Sentence
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.storable import storable, titled
from tavernkit.playground.edge.web.rendering import render
from tavernkit.playground.edge.web.requests import answer, refusal, wants_streams
from tavernkit.playground.edge.web.streams import stream
from tavernkit.playground.edge.web.uploads import received_form
from tavernkit.reading import ImportReport, Note
from tavernkit.values import Value

MAX_FILES = 50
NOTES_SHOWN = 20


class ImportedItem(Value, frozen=True, kw_only=True):
    """What a file became, and where it is shown; without a report where a job still imports it."""

    name: str
    address: str
    report: ImportReport | None


def imported_chats(name: str, space_id: UUID, imported: tuple[list[Conversation], ImportReport] | Job) -> ImportedItem:
    """What a file of chats became: the first of its conversations, or a job that makes them in the space."""
    if isinstance(imported, Job):
        return ImportedItem(name=name, address=f"/spaces/{space_id}", report=None)
    conversations, report = imported
    return ImportedItem(name=conversations[0].name, address=f"/conversations/{conversations[0].id}", report=report)


class ImportedView(Value, frozen=True, kw_only=True):
    """What became of a file: a refusal, or the thing at `address`, with remarks on what was not taken as it stood."""

    file: str
    name: str = ""
    address: str = ""
    remarks: tuple[tuple[str, str], ...] = ()
    further_remarks: int = 0
    is_waiting: bool = False
    refused: Refused | None = None


ImportOne: TypeAlias = Callable[[bytes, str], Awaitable[ImportedItem]]
"""Takes the bytes of a file, and its name without the ending."""


ReadFields: TypeAlias = Callable[[Mapping[str, str]], None]
"""Takes the other fields of a form, before the files."""


async def take_in(
    request: Request, import_one: ImportOne, *, max_bytes: int, read_fields: ReadFields | None = None
) -> list[ImportedView]:
    """Import each file in the field `file`; `max_bytes` is for all of them together."""
    try:
        async with received_form(request, field="file", max_files=MAX_FILES, max_bytes=max_bytes) as form:
            named = [(file.filename, file) for file in form.files if file.filename]
            if not named:
                raise Refused("invalid", _("Choose a file first."))
            if read_fields is not None:
                read_fields(form.fields)
            return [
                await _outcome(titled(name, _("File")), import_one(await file.read(), PurePath(name).stem))
                for name, file in named
            ]
    except Refused as refused:
        return [ImportedView(file="", refused=refused)]


def imported_answer(request: Request, outcomes: Sequence[ImportedView], library: Markup, *, otherwise: str) -> Response:
    """What became of the files, and the list as it is now; without scripts, the page of what was made."""
    if wants_streams(request):
        streams = stream("update", "imported", render("_imported.html", outcomes=outcomes))
        return answer(request, streams + stream("replace", "library", library), otherwise=otherwise)
    refused = next((outcome.refused for outcome in outcomes if outcome.refused is not None), None)
    if refused is not None:
        return refusal(request, refused)
    made = outcomes[0].address if len(outcomes) == 1 else otherwise
    return RedirectResponse(made, status_code=303)


async def _outcome(file: str, importing: Awaitable[ImportedItem]) -> ImportedView:
    try:
        made = await importing
    except Refused as refused:
        return ImportedView(file=file, refused=refused)
    notes = [] if made.report is None else [*made.report.ignored, *made.report.converted]
    return ImportedView(
        file=file,
        name=made.name,
        address=made.address,
        remarks=tuple((storable(note.path), _remark(note)) for note in notes[:NOTES_SHOWN]),
        further_remarks=max(0, len(notes) - NOTES_SHOWN),
        is_waiting=made.report is None,
    )


def _remark(note: Note) -> str:
    return note.message if isinstance(note.message, Sentence) else storable(note.message)
