"""The pages about regex scripts: the list of one place, one script, and a script that is tried out."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Form, Path, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused, existing
from tavernkit.playground.edge.presenting.scripts import (
    LABELS,
    PLACEMENTS,
    SUBSTITUTIONS,
    TYPES,
    ScriptForm,
    changed_fields,
    copy_targets,
    differences,
    script_form,
    script_row,
    scripts_view,
    stories_to_test,
    trial_sentence,
)
from tavernkit.playground.edge.web.forms import Flag, Text, one_newline, page, saved_streams, understood
from tavernkit.playground.edge.web.imports import ImportedItem, imported_answer, take_in
from tavernkit.playground.edge.web.rendering import render
from tavernkit.playground.edge.web.requests import Caller, PageCaller, answer, replaced, streamed, wants_streams
from tavernkit.playground.edge.web.streams import stream
from tavernkit.playground.edge.web.uploads import file_body
from tavernkit.playground.story.scripts import service
from tavernkit.playground.story.scripts.documents import (
    MAX_SCRIPTS,
    Scope,
    ScriptKind,
    ScriptOut,
    TryScript,
    mark_of,
)
from tavernkit.playground.story.scripts.service import new_script
from tavernkit.playground.story.scripts.trial import try_script
from tavernkit.values import JsonObject

router = APIRouter(prefix="/scripts")

Place = Annotated[int, Path(ge=0, lt=MAX_SCRIPTS)]
Mark = Annotated[str, Form(max_length=64)]


class SeenScriptForm(ScriptForm):
    """The form of a script, and the mark of what it was filled in from."""

    mark: str = ""


class TrialForm(ScriptForm):
    """The form of a script, and what it is tried on."""

    kind: ScriptKind = "sillytavern"
    text: str = ""
    conversation_id: UUID | Literal[""] = ""
    message: str = ""


@router.get("")
async def scripts(caller: PageCaller) -> HTMLResponse:
    """Those of the person, which run in all spaces."""
    return await _list_page(caller, "global", caller.viewer.user_id)


@router.post("/test")
async def run_test(caller: PageCaller, form: Annotated[TrialForm, Form()]) -> Response:
    """Nothing is changed, so there is nowhere to redirect to."""
    blank, script = new_script(form.kind), ScriptForm(**form.model_dump(include=set(ScriptForm.model_fields)))
    trial, problem = None, ""
    try:
        number = form.message.strip()
        given = {
            "kind": form.kind,
            "data": {**blank, **changed_fields(form.kind, blank, script)},
            "text": one_newline(form.text),
            "conversation_id": form.conversation_id or None,
            "message": number if number and form.conversation_id else None,
        }
        trial = await try_script(*caller, understood(TryScript, **given))
    except Refused as refused:
        problem = refused.sentence
    sentence = trial_sentence(trial) if trial is not None and form.conversation_id else ""
    template = "scripts/_trial.html" if wants_streams(caller.request) else "scripts/trial.html"
    drawn = render(template, trial=trial, trial_problem=problem, sentence=sentence)
    if wants_streams(caller.request):
        return streamed(stream("replace", "trial", drawn))
    return HTMLResponse(str(drawn))


@router.get("/{scope}/{holder_id}")
async def show(caller: PageCaller, scope: Scope, holder_id: UUID) -> Response:
    return await _list_page(caller, scope, holder_id)


@router.post("/{scope}/{holder_id}/import", openapi_extra=file_body("file", many=True))
async def import_files(caller: PageCaller, scope: Scope, holder_id: UUID) -> Response:
    made_in = holder_id

    async def import_one(data: bytes, _name: str) -> ImportedItem:
        nonlocal made_in
        made, count, report = await service.import_scripts(*caller, scope, made_in, data)
        made_in = made.holder_id
        name = script_row(made.script).name if count == 1 else _("{count} scripts", count=count)
        return ImportedItem(name=name, address=_address(scope, made_in), report=report)

    await service.read_holder(*caller, scope, holder_id)
    outcomes = await take_in(caller.request, import_one, max_bytes=service.MAX_FILE_BYTES)
    library = render("scripts/_library.html", view=await scripts_view(*caller, scope, made_in))
    return imported_answer(caller.request, outcomes, library, otherwise=_address(scope, made_in))


@router.post("/{scope}/{holder_id}/{kind}/order")
async def move(
    caller: PageCaller, scope: Scope, holder_id: UUID, kind: ScriptKind, moved: Text, behind: Text = ""
) -> Response:
    place, _dot, mark = moved.partition(".")
    before, _dot, _mark = behind.partition(".")
    changed = await service.move_script(
        *caller, scope, holder_id, kind, _number(place) or 0, mark=mark, behind=_number(before)
    )
    return await _changed_list(caller, scope, holder_id, changed.holder_id)


@router.get("/{scope}/{holder_id}/{kind}/new")
async def new(caller: PageCaller, scope: Scope, holder_id: UUID, kind: ScriptKind) -> Response:
    return await _script_page(caller, scope, holder_id, kind)


@router.post("/{scope}/{holder_id}/{kind}")
async def add(
    caller: PageCaller, scope: Scope, holder_id: UUID, kind: ScriptKind, form: Annotated[ScriptForm, Form()]
) -> Response:
    blank = new_script(kind)
    try:
        data = {**blank, **changed_fields(kind, blank, form)}
        made = await service.add_scripts(*caller, scope, holder_id, kind, [data])
    except Refused as refused:
        return await _script_page(caller, scope, holder_id, kind, form=form, refused=refused)
    return RedirectResponse(_address(scope, made.holder_id), status_code=303)


@router.get("/{scope}/{holder_id}/{kind}/{place}")
async def show_script(caller: PageCaller, scope: Scope, holder_id: UUID, kind: ScriptKind, place: Place) -> Response:
    return await _script_page(caller, scope, holder_id, kind, place)


@router.post("/{scope}/{holder_id}/{kind}/{place}")
async def change(
    caller: PageCaller,
    scope: Scope,
    holder_id: UUID,
    kind: ScriptKind,
    place: Place,
    given: Annotated[SeenScriptForm, Form()],
) -> Response:
    form = ScriptForm(**given.model_dump(exclude={"mark"}))
    _holder, stored = await service.script_at(*caller, scope, holder_id, kind, place)
    try:
        fields = changed_fields(kind, stored, form)
        saved = await service.change_script(*caller, scope, holder_id, kind, place, mark=given.mark, fields=fields)
    except Refused as refused:
        return await _script_page(caller, scope, holder_id, kind, place, form=form, refused=refused)
    address = f"{_address(scope, saved.holder_id)}/{kind}/{saved.script.place}"
    if saved.holder_id != holder_id or saved.script.place != place:
        return RedirectResponse(address, status_code=303)
    streams = saved_streams("mark", saved.script.mark, caller.runtime.clock())
    return answer(caller.request, streams, otherwise=address)


@router.post("/{scope}/{holder_id}/{kind}/{place}/enabled")
async def switch(
    caller: PageCaller, scope: Scope, holder_id: UUID, kind: ScriptKind, place: Place, mark: Mark, enabled: Flag
) -> Response:
    changed = await service.switch_script(*caller, scope, holder_id, kind, place, mark=mark, enabled=enabled)
    return await _changed_list(caller, scope, holder_id, changed.holder_id)


@router.post("/{scope}/{holder_id}/{kind}/{place}/duplicate")
async def duplicate(caller: PageCaller, scope: Scope, holder_id: UUID, kind: ScriptKind, place: Place) -> Response:
    made = await service.duplicate_script(*caller, scope, holder_id, kind, place)
    return RedirectResponse(f"{_address(scope, made.holder_id)}/{kind}/{made.script.place}", status_code=303)


@router.post("/{scope}/{holder_id}/{kind}/{place}/delete")
async def delete(
    caller: PageCaller, scope: Scope, holder_id: UUID, kind: ScriptKind, place: Place, mark: Mark
) -> Response:
    left = await service.delete_script(*caller, scope, holder_id, kind, place, mark=mark)
    return RedirectResponse(_address(scope, left), status_code=303)


@router.post("/{scope}/{holder_id}/{kind}/{place}/copy")
async def copy(
    caller: PageCaller,
    scope: Scope,
    holder_id: UUID,
    kind: ScriptKind,
    place: Place,
    mark: Mark,
    target: Text,
    move: Flag = False,
) -> Response:
    to_scope, to_id = _target(target)
    made = await service.copy_script(
        *caller, scope, holder_id, kind, place, mark=mark, to_scope=to_scope, to_id=to_id, move=move
    )
    return RedirectResponse(_address(to_scope, made.holder_id), status_code=303)


def _target(written: str) -> tuple[Scope, UUID]:
    scope, _dot, id = written.partition(".")
    known: dict[str, Scope] = {"global": "global", "space": "space", "character": "character", "preset": "preset"}
    try:
        return existing(known.get(scope), _("place")), UUID(id)
    except ValueError:
        raise Refused("invalid", _("Choose where to copy the script.")) from None


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else None


def _address(scope: Scope, holder_id: UUID) -> str:
    return "/scripts" if scope == "global" else f"/scripts/{scope}/{holder_id}"


async def _changed_list(caller: PageCaller, scope: Scope, holder_id: UUID, now_in: UUID) -> Response:
    """The list as it is after a change, in the preset or in the copy that was made of it."""
    if now_in != holder_id:
        return RedirectResponse(_address(scope, now_in), status_code=303)
    library = replaced(
        "library", "scripts/_library.html", view=await scripts_view(*caller, scope, holder_id), morph=True
    )
    return answer(caller.request, library, otherwise=_address(scope, holder_id))


async def _list_page(caller: Caller, scope: Scope, holder_id: UUID) -> HTMLResponse:
    return page("scripts/index.html", view=await scripts_view(*caller, scope, holder_id))


async def _script_page(
    caller: Caller,
    scope: Scope,
    holder_id: UUID,
    kind: ScriptKind,
    place: int | None = None,
    *,
    form: ScriptForm | None = None,
    refused: Refused | None = None,
) -> Response:
    """The form of a script, or of one that is yet to be made; `form` is what somebody has typed, and it stays."""
    view = await scripts_view(*caller, scope, holder_id)
    stored: JsonObject = new_script(kind)
    row = None
    if place is not None:
        _holder, stored = await service.script_at(*caller, scope, holder_id, kind, place)
        row = script_row(ScriptOut.of(kind, place, stored))
    elif kind not in view.holder.lists:
        raise Refused("invalid", _("This preset cannot have such scripts. Choose another one."))
    now = script_form(kind, stored)
    shown = form or now
    was_changed = refused is not None and refused.code == "stale"
    return page(
        "scripts/script.html",
        refused,
        view=view,
        kind=kind,
        row=row,
        mark=mark_of(stored),
        form=shown,
        differences=differences(kind, shown, now) if was_changed else (),
        labels=LABELS,
        placements={name: label for name, (_place, label) in PLACEMENTS.items()},
        substitutions=SUBSTITUTIONS,
        types={**TYPES, shown.type: TYPES.get(shown.type, shown.type or _("(empty)"))},
        stories=await stories_to_test(*caller),
        targets=await copy_targets(*caller, kind) if row is not None else (),
        trial=None,
        trial_problem="",
        sentence="",
    )
