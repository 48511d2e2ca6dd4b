"""The pages of one prompt of a chat preset, and of one card of RisuAI's template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Form, Query, Response
from fastapi.responses import RedirectResponse

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.pages.presets import Character, Identifier, preset_form, preset_page
from tavernkit.playground.edge.views.preset_fields import changed_boxes, field_differences, typed_groups
from tavernkit.playground.edge.views.preset_parts import STATES, TRIGGERS, PromptPageView, stored_card, stored_prompt
from tavernkit.playground.edge.views.presets import preset_view
from tavernkit.playground.edge.web.forms import Version, page, saved_streams, understood
from tavernkit.playground.edge.web.requests import Caller, PageCaller, answer, replaced, wants_streams
from tavernkit.playground.edge.web.streams import stream
from tavernkit.playground.story.presets import service
from tavernkit.playground.story.presets.documents import NewPrompt
from tavernkit.playground.story.presets.prompts import EVERY_CHARACTER
from tavernkit.values import Json

router = APIRouter(prefix="/presets/{preset_id}")

Named = Annotated[str, Query(max_length=10_000)]
Place = Annotated[int, Form(ge=0, le=1_000_000)]


@router.get("/prompts/new")
async def new_prompt(caller: PageCaller, preset_id: UUID) -> Response:
    return await _prompt_page(caller, preset_id, None)


@router.post("/prompts")
async def add_prompt(caller: PageCaller, preset_id: UUID) -> Response:
    form = await preset_form(caller)
    try:
        view, _prompt = await stored_prompt(*caller, preset_id, None)
        changed, _removed = changed_boxes(view.groups, form)
        known = {name: value for name, value in changed.items() if name in NewPrompt.model_fields}
        new = understood(
            NewPrompt,
            **{**known, "injection_trigger": _triggers(form, ())},
            settings_version=form.get("settings_version", ""),
            identifier=form.get("identifier", "").strip() or None,
            enabled=form.get("state", "on") == "on",
        )
        row, _preset = await service.add_prompt(*caller, preset_id, new)
    except Refused as refused:
        return await _prompt_page(caller, preset_id, None, form=form, refused=refused)
    return RedirectResponse(f"/presets/{row.id}#prompts", status_code=303)


@router.get("/prompts/edit")
async def show_prompt(
    caller: PageCaller, preset_id: UUID, identifier: Named, order: Named = EVERY_CHARACTER
) -> Response:
    return await _prompt_page(caller, preset_id, identifier, order=order)


@router.post("/prompts/edit")
async def change_prompt(caller: PageCaller, preset_id: UUID) -> Response:
    form = await preset_form(caller)
    identifier, order = form.get("identifier", ""), form.get("character_id", EVERY_CHARACTER)
    view, prompt = await stored_prompt(*caller, preset_id, identifier, order)
    try:
        changed, removed = changed_boxes(view.groups, form)
        triggers = _triggers(form, prompt.injection_trigger)
        if triggers != list(prompt.injection_trigger):
            changed["injection_trigger"] = [*triggers]
        state = form.get("state", view.state)
        row, _preset = await service.write_prompt(
            *caller,
            preset_id,
            identifier,
            _version(form),
            changed=changed,
            removed=removed,
            is_sent=None if state == "out" else state == "on",
            character_id=order,
        )
    except Refused as refused:
        return await _prompt_page(caller, preset_id, identifier, order=order, form=form, refused=refused)
    address = f"/presets/{row.id}/prompts/edit?{urlencode({'identifier': identifier, 'order': order})}"
    if row.id != preset_id or not wants_streams(caller.request):
        return RedirectResponse(address, status_code=303)
    streams = saved_streams("settings_version", row.settings_version, row.updated_at) + stream("update", "problem")
    return answer(caller.request, streams, otherwise=address)


@router.post("/prompts/reset")
async def reset_prompt(
    caller: PageCaller, preset_id: UUID, identifier: Identifier, settings_version: Version
) -> Response:
    try:
        row, _preset = await service.reset_prompt(*caller, preset_id, identifier, settings_version)
    except Refused as refused:
        return await _prompt_page(caller, preset_id, identifier, refused=refused)
    address = f"/presets/{row.id}/prompts/edit?{urlencode({'identifier': identifier})}"
    return RedirectResponse(address, status_code=303)


@router.post("/prompts/delete")
async def remove_prompt(
    caller: PageCaller,
    preset_id: UUID,
    identifier: Identifier,
    settings_version: Version,
    character_id: Character = EVERY_CHARACTER,
) -> Response:
    try:
        row, _preset = await service.remove_prompt(
            *caller, preset_id, identifier, settings_version, character_id=character_id
        )
    except Refused as refused:
        return await _prompt_page(caller, preset_id, identifier, refused=refused)
    return RedirectResponse(f"/presets/{row.id}#prompts", status_code=303)


@router.post("/cards")
async def add_card(
    caller: PageCaller, preset_id: UUID, settings_version: Version, type: Annotated[str, Form(max_length=100)]
) -> Response:
    try:
        row = await service.add_card(*caller, preset_id, settings_version, type)
    except Refused as refused:
        return await preset_page(caller, preset_id, refused=refused)
    view = await preset_view(*caller, row.id)
    return RedirectResponse(f"/presets/{row.id}/cards/{len(view.cards or ()) - 1}", status_code=303)


@router.post("/cards/move")
async def move_card(
    caller: PageCaller,
    preset_id: UUID,
    settings_version: Version,
    moved: Place,
    behind: Annotated[int | None, Form(ge=0)] = None,
    before: Annotated[int | None, Form(ge=0)] = None,
) -> Response:
    """Put a card between two others; each is called by the place that it had."""
    if behind is not None:
        to = behind if behind > moved else behind + 1
    elif before is not None:
        to = before - 1 if before > moved else before
    else:
        to = moved
    try:
        row = await service.move_card(*caller, preset_id, settings_version, moved, to)
    except Refused as refused:
        if refused.code == "not_found":
            raise
        return await preset_page(caller, preset_id, refused=refused)
    if row.id != preset_id:
        return RedirectResponse(f"/presets/{row.id}", status_code=303)
    view = await preset_view(*caller, row.id)
    streams = replaced("cards", "presets/_cards.html", view=view)
    streams += saved_streams("settings_version", view.version)
    return answer(caller.request, streams, otherwise=f"/presets/{row.id}#cards")


@router.get("/cards/{place}")
async def show_card(caller: PageCaller, preset_id: UUID, place: int) -> Response:
    return await _card_page(caller, preset_id, place)


@router.post("/cards/{place}")
async def change_card(caller: PageCaller, preset_id: UUID, place: int) -> Response:
    form = await preset_form(caller)
    view, _card = await stored_card(*caller, preset_id, place)
    try:
        changed, removed = changed_boxes(view.groups, form)
        row = await service.change_card(*caller, preset_id, _version(form), place, changed=changed, removed=removed)
    except Refused as refused:
        return await _card_page(caller, preset_id, place, form=form, refused=refused)
    return RedirectResponse(f"/presets/{row.id}/cards/{place}", status_code=303)


@router.post("/cards/{place}/delete")
async def remove_card(caller: PageCaller, preset_id: UUID, place: int, settings_version: Version) -> Response:
    try:
        row = await service.remove_card(*caller, preset_id, settings_version, place)
    except Refused as refused:
        return await _card_page(caller, preset_id, place, refused=refused)
    return RedirectResponse(f"/presets/{row.id}#cards", status_code=303)


async def _prompt_page(
    caller: Caller,
    preset_id: UUID,
    identifier: str | None,
    *,
    order: str = EVERY_CHARACTER,
    form: Mapping[str, str] | None = None,
    refused: Refused | None = None,
) -> Response:
    """The form of a prompt; `form` is what somebody has typed, and it stays."""
    stored, prompt = await stored_prompt(*caller, preset_id, identifier, order)
    view = stored
    if form is not None:
        view = stored.with_(
            groups=typed_groups(stored.groups, form),
            triggers=tuple(_triggers(form, prompt.injection_trigger)),
            state=form.get("state", stored.state),
            identifier=form.get("identifier", stored.identifier),
        )
    return page(
        "presets/prompt.html",
        refused,
        view=view,
        differences=_differences(view, stored) if _is_stale(refused) else (),
        is_typed=form is not None,
        triggers=TRIGGERS,
        states=STATES,
    )


async def _card_page(
    caller: Caller,
    preset_id: UUID,
    place: int,
    *,
    form: Mapping[str, str] | None = None,
    refused: Refused | None = None,
) -> Response:
    stored, _card = await stored_card(*caller, preset_id, place)
    view = stored if form is None else stored.with_(groups=typed_groups(stored.groups, form))
    return page(
        "presets/card.html",
        refused,
        view=view,
        differences=field_differences(view.groups, stored.groups) if _is_stale(refused) else (),
        is_typed=form is not None,
    )


def _is_stale(refused: Refused | None) -> bool:
    return refused is not None and refused.code == "stale"


def _differences(typed: PromptPageView, stored: PromptPageView) -> list[tuple[str, str]]:
    found = field_differences(typed.groups, stored.groups)
    if typed.state != stored.state:
        found.append((_("State"), STATES[stored.state]))
    if set(typed.triggers) != set(stored.triggers):
        found.append((_("Triggers"), ", ".join(TRIGGERS.get(name, name) for name in stored.triggers) or "—"))
    return found


def _triggers(form: Mapping[str, str], before: tuple[str, ...]) -> list[str]:
    """The types of generation that are ticked; those that nobody knows stay. A form without them changes none."""
    if not any(name.startswith("trigger_") for name in form):
        return list(before)
    ticked = [name for name in TRIGGERS if form.get(f"trigger_{name}")]
    kept = [name for name in before if name in ticked or name not in TRIGGERS]
    return [*kept, *(name for name in ticked if name not in kept)]


def _version(form: Mapping[str, Json]) -> int:
    """The version that the form was filled in from; what is none was seen by nobody."""
    text = str(form.get("settings_version", ""))
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else -1
