"""The pages about presets: the list, one preset with its prompts and fields, and the file that it was imported from."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Form, Query, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from tavernkit.playground.base.database.models import Preset
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.edge.api.requests import After
from tavernkit.playground.edge.presenting.dry_runs import story_choices
from tavernkit.playground.edge.presenting.imports import origins_view
from tavernkit.playground.edge.views.preset_fields import (
    changed_fields,
    field_differences,
    typed_groups,
)
from tavernkit.playground.edge.views.preset_parts import comparison
from tavernkit.playground.edge.views.presets import KIND_NAMES, NEW_KINDS, preset_view, presets_view
from tavernkit.playground.edge.web.bodies import takes
from tavernkit.playground.edge.web.forms import Flag, Text, Version, one_newline, page, saved_streams, understood
from tavernkit.playground.edge.web.imports import ImportedItem, imported_answer, take_in
from tavernkit.playground.edge.web.rendering import render
from tavernkit.playground.edge.web.requests import Caller, PageCaller, Visitor, answer, replaced, wants_streams
from tavernkit.playground.edge.web.streams import stream
from tavernkit.playground.edge.web.trashed import back_from_deleting
from tavernkit.playground.edge.web.uploads import file_body
from tavernkit.playground.story.presets import service
from tavernkit.playground.story.presets.documents import (
    NewPreset,
    OrderPrompts,
    PatchPreset,
    PatchPrompt,
    RestoreField,
)
from tavernkit.playground.story.presets.prompts import EVERY_CHARACTER, listed_prompts
from tavernkit.playground.story.presets.queries import Kind, decode_preset, preset_for
from tavernkit.playground.story.previews.presets import render_preset
from tavernkit.sillytavern.presets import ChatPreset
from tavernkit.values import JsonObject

router = APIRouter()

Identifier = Annotated[str, Form(max_length=10_000)]
Character = Annotated[str, Form(min_length=1, max_length=200)]
Shown = Annotated[str, Query(min_length=1, max_length=200)]
MAX_FORM_FIELDS = 1000


@router.get("/presets")
async def presets(caller: PageCaller, after: After = None) -> HTMLResponse:
    return await _list_page(caller, after)


@router.post("/presets")
async def create(caller: PageCaller, name: Text, kind: Annotated[Kind, Form()] = "chat") -> Response:
    try:
        made = await service.create_preset(*caller, understood(NewPreset, name=name, kind=kind))
    except Refused as refused:
        return await _list_page(caller, refused=refused, typed=name, kind=kind)
    return RedirectResponse(f"/presets/{made.id}", status_code=303)


@router.post("/presets/import", openapi_extra=file_body("file", many=True))
async def import_files(caller: PageCaller) -> Response:
    async def import_one(data: bytes, name: str) -> ImportedItem:
        row, report = await service.import_preset(*caller, data, name=name)
        return ImportedItem(name=row.name, address=f"/presets/{row.id}", report=report)

    outcomes = await take_in(caller.request, import_one, max_bytes=service.MAX_FILE_BYTES)
    library = render("presets/_library.html", view=await presets_view(*caller))
    return imported_answer(caller.request, outcomes, library, otherwise="/presets")


@router.post("/presets/default")
async def choose_default(caller: PageCaller, preset_id: Annotated[UUID | Literal[""], Form()] = "") -> Response:
    await service.set_default_preset(*caller, preset_id or None)
    return RedirectResponse("/presets", status_code=303)


@router.get("/presets/{preset_id}")
async def show(
    caller: PageCaller,
    preset_id: UUID,
    order: Shown = EVERY_CHARACTER,
    provider: Annotated[str, Query(max_length=50)] = "",
    conversation: UUID | Literal[""] = "",
) -> Response:
    return await preset_page(caller, preset_id, order=order, provider=provider, conversation_id=conversation or None)


@router.post("/presets/{preset_id}")
@takes(service.MAX_FILE_BYTES)
async def change(caller: PageCaller, preset_id: UUID) -> Response:
    """Save the form of the page: name, description and all fields that are in it."""
    form = await preset_form(caller)
    row = await _row(caller, preset_id)
    given = {"name": form.get("name", row.name), "description": one_newline(form.get("description", row.description))}
    provider = form.get("provider", "")
    try:
        data, removed = changed_fields(row.kind, row.data, form, provider)
        patch = understood(
            PatchPreset, settings_version=form.get("settings_version", ""), data=data, remove=removed, **given
        )
        saved = await service.update_preset(*caller, preset_id, patch)
    except Refused as refused:
        return await preset_page(caller, preset_id, refused=refused, given=given, form=form, provider=provider)
    if saved.id != preset_id or not wants_streams(caller.request):
        return RedirectResponse(f"/presets/{saved.id}", status_code=303)
    view = await preset_view(*caller, saved.id)
    streams = saved_streams("settings_version", saved.settings_version, saved.updated_at)
    streams += stream("update", "problem")
    if view.kind == "chat":
        streams += replaced("prompts", "presets/_prompts.html", view=view)
    if view.kind == "risuai":
        streams += replaced("cards", "presets/_cards.html", view=view)
    return answer(caller.request, streams, otherwise=f"/presets/{saved.id}")


@router.post("/presets/{preset_id}/rendering")
@takes(service.MAX_FILE_BYTES)
async def render_text(caller: PageCaller, preset_id: UUID) -> Response:
    """The text that the form as it stands would make; nothing is saved."""
    form = await preset_form(caller)
    row = await _row(caller, preset_id)
    text, problem = "", ""
    try:
        chosen = UUID(form["conversation"]) if form.get("conversation") else None
        preset = decode_preset(row.kind, _tried(row, form))[0]
        text = await render_preset(*caller, preset, chosen)
    except Refused as refused:
        problem = refused.sentence
    except ValueError:
        problem = _("This conversation does not exist, or it belongs to somebody else.")
    streams = replaced("rendering", "presets/_rendering.html", text=text, problem=problem)
    if wants_streams(caller.request):
        return answer(caller.request, streams, otherwise="")
    return await preset_page(caller, preset_id, form=form, rendering=text or problem)


@router.post("/presets/{preset_id}/duplicate")
async def duplicate(caller: PageCaller, preset_id: UUID) -> Response:
    copy = await service.duplicate_preset(*caller, preset_id)
    return RedirectResponse(f"/presets/{copy.id}", status_code=303)


@router.post("/presets/{preset_id}/share")
async def share(caller: PageCaller, preset_id: UUID) -> Response:
    await service.share_preset(*caller, preset_id)
    return RedirectResponse(f"/presets/{preset_id}", status_code=303)


@router.post("/presets/{preset_id}/delete")
async def delete(caller: PageCaller, preset_id: UUID) -> Response:
    await service.delete_preset(*caller, preset_id)
    return await back_from_deleting(caller.runtime, "preset", preset_id, "/presets")


@router.get("/presets/{preset_id}/original")
async def compare(caller: PageCaller, preset_id: UUID) -> Response:
    return page("presets/original.html", view=await comparison(*caller, preset_id))


@router.post("/presets/{preset_id}/original")
async def restore(
    caller: PageCaller, preset_id: UUID, settings_version: Version, path: Annotated[str, Form(max_length=10_000)]
) -> Response:
    """Have one field again as it was imported."""
    try:
        names = json.loads(path)
    except ValueError:
        raise not_found(_("difference")) from None
    try:
        wanted = understood(RestoreField, settings_version=settings_version, path=names)
        row = await service.restore_field(*caller, preset_id, wanted)
    except Refused as refused:
        if refused.code == "not_found":
            raise
        return page("presets/original.html", refused, view=await comparison(*caller, preset_id))
    return RedirectResponse(f"/presets/{row.id}/original", status_code=303)


@router.post("/presets/{preset_id}/prompts/enabled")
async def switch_prompt(
    caller: PageCaller,
    preset_id: UUID,
    identifier: Identifier,
    settings_version: Version,
    enabled: Flag,
    character_id: Character = EVERY_CHARACTER,
) -> Response:
    patch = PatchPrompt(settings_version=settings_version, enabled=enabled, character_id=character_id)
    change = service.change_prompt(*caller, preset_id, identifier, patch)
    return await _changed(caller, preset_id, change, character_id)


@router.post("/presets/{preset_id}/prompts/move")
async def move_prompt(
    caller: PageCaller,
    preset_id: UUID,
    moved: Identifier,
    settings_version: Version,
    behind: Identifier = "",
    before: Identifier = "",
    character_id: Character = EVERY_CHARACTER,
) -> Response:
    """Put a prompt between two others of the order."""
    row = await _row(caller, preset_id)
    preset = decode_preset(row.kind, row.data)[0]
    chat = preset if isinstance(preset, ChatPreset) else ChatPreset()
    order = {
        prompt.identifier: enabled for prompt, enabled in listed_prompts(chat, character_id) if enabled is not None
    }
    if moved not in order:
        raise not_found(_("prompt"))
    names = [name for name in order if name != moved]
    place = names.index(behind) + 1 if behind in names else names.index(before) if before in names else 0
    names.insert(place, moved)
    new = understood(
        OrderPrompts,
        settings_version=settings_version,
        order=[{"identifier": name, "enabled": order[name]} for name in names],
        character_id=character_id,
    )
    return await _changed(caller, preset_id, service.order_prompts(*caller, preset_id, new), character_id)


@router.post("/presets/{preset_id}/orders")
async def add_order(
    caller: PageCaller, preset_id: UUID, character_id: Character, settings_version: Version
) -> Response:
    """Give one character an order of its own, which begins as the one for all."""
    row = await _row(caller, preset_id)
    preset = decode_preset(row.kind, row.data)[0]
    chat = preset if isinstance(preset, ChatPreset) else ChatPreset()
    order = [
        {"identifier": prompt.identifier, "enabled": enabled}
        for prompt, enabled in listed_prompts(chat)
        if enabled is not None
    ]
    new = understood(
        OrderPrompts, settings_version=settings_version, order=order, character_id=character_id.strip() or "?"
    )
    return await _changed(caller, preset_id, service.order_prompts(*caller, preset_id, new), new.character_id)


@router.post("/presets/{preset_id}/orders/delete")
async def remove_order(
    caller: PageCaller, preset_id: UUID, character_id: Character, settings_version: Version
) -> Response:
    change = service.remove_order(*caller, preset_id, character_id, settings_version)
    return await _changed(caller, preset_id, change, EVERY_CHARACTER)


async def _changed(
    caller: Visitor, preset_id: UUID, change: Awaitable[tuple[Preset, ChatPreset]], order: str
) -> Response:
    """The prompts as they are after the change, in the preset or in the copy that was made of it."""
    try:
        row, _preset = await change
    except Refused as refused:
        if refused.code == "not_found":
            raise
        return await preset_page(caller, preset_id, refused=refused, order=order)
    if row.id != preset_id:
        return RedirectResponse(f"/presets/{row.id}", status_code=303)
    view = await preset_view(*caller, row.id, order=order)
    streams = replaced("prompts", "presets/_prompts.html", view=view, morph=True)
    streams += saved_streams("settings_version", view.version)
    query = "" if order == EVERY_CHARACTER else f"?order={order}"
    return answer(caller.request, streams, otherwise=f"/presets/{row.id}{query}#prompts")


async def _list_page(
    caller: Caller, after: str | None = None, *, refused: Refused | None = None, typed: str = "", kind: str = "chat"
) -> HTMLResponse:
    kinds = {key: KIND_NAMES[key] for key in NEW_KINDS}
    view = await presets_view(*caller, after)
    return page("presets/index.html", refused, view=view, typed=typed, kind=kind, kinds=kinds)


async def preset_page(
    caller: Caller,
    preset_id: UUID,
    *,
    refused: Refused | None = None,
    given: Mapping[str, str] | None = None,
    form: Mapping[str, str] | None = None,
    order: str = EVERY_CHARACTER,
    provider: str = "",
    conversation_id: UUID | None = None,
    rendering: str = "",
) -> Response:
    """A preset as it is now; `given` and `form` are what somebody has typed, and it stays."""
    try:
        view = await preset_view(*caller, preset_id, order=order, provider=provider, conversation_id=conversation_id)
    except Refused as problem:
        if conversation_id is None or problem.code == "not_found":
            raise
        refused, view = problem, await preset_view(*caller, preset_id, order=order, provider=provider)
    async with caller.runtime.database.read() as session:
        stories = await story_choices(session, caller.viewer, conversation_id)
    now = {"name": view.name, "description": view.description}
    differences: list[tuple[str, str]] = []
    if refused is not None and refused.code == "stale" and form is not None:
        labels = {"name": _("Name"), "description": _("Description")}
        differences = [(labels[key], now[key]) for key in now if given is not None and given[key] != now[key]]
        differences += field_differences(typed_groups(view.groups, form), view.groups)
    return page(
        "presets/preset.html",
        refused,
        view=view if form is None else view.with_(groups=typed_groups(view.groups, form)),
        given=given or now,
        differences=differences,
        is_typed=form is not None,
        stories=stories,
        rendering=rendering,
        origins=await origins_view(*caller, "preset", preset_id),
    )


async def preset_form(caller: Visitor) -> dict[str, str]:
    """The texts of a form; of a box that has a hidden one before it, what was ticked."""
    limits = {"max_fields": MAX_FORM_FIELDS, "max_part_size": service.MAX_FILE_BYTES}
    async with caller.request.form(**limits) as form:
        return {name: value for name, value in form.multi_items() if isinstance(value, str)}


async def _row(caller: Caller, preset_id: UUID) -> Preset:
    return await caller.read(preset_for, preset_id)


def _tried(row: Preset, form: Mapping[str, str]) -> JsonObject:
    """The file with what stands in the form."""
    changed, removed = changed_fields(row.kind, row.data, form)
    tried: dict[str, Any] = {**row.data, **changed}
    return {key: value for key, value in tried.items() if key not in removed}
