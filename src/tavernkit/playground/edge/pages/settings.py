"""The tab of the side panel with the settings; its script saves through the API, the form is for who has none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, TypeAlias
from uuid import UUID

from fastapi import APIRouter, Query, Response
from fastapi.responses import RedirectResponse

from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.presenting.panel import IN_PANEL, panel_page
from tavernkit.playground.edge.presenting.settings import SettingsView, settings_view, typed_changes
from tavernkit.playground.edge.web.requests import Caller, PageCaller
from tavernkit.playground.story.settings import service
from tavernkit.playground.story.settings.documents import SettingsOut
from tavernkit.playground.story.settings_schema.models import Layer

router = APIRouter(prefix="/conversations/{conversation_id}/panel/settings", dependencies=IN_PANEL)

MAX_FIELD_BYTES = 1_000_000
MAX_FIELDS = 500

_Service: TypeAlias = Callable[..., Awaitable[SettingsOut]]
_SERVICES: Mapping[Layer, tuple[_Service, _Service]] = {
    "space": (service.read_space_settings, service.change_space_settings),
    "member": (service.read_member_settings, service.change_member_settings),
    "conversation": (service.read_conversation_settings, service.change_conversation_settings),
}
"""How each layer is read and changed."""

Where = Annotated[Layer | None, Query()]
Member = Annotated[UUID | None, Query()]


@router.get("")
async def settings(caller: PageCaller, conversation_id: UUID, layer: Where = None, member: Member = None) -> Response:
    view = await settings_view(*caller, conversation_id, layer=layer, member_id=member)
    return panel_page(caller.request, "settings", view)


@router.post("")
async def save(caller: PageCaller, conversation_id: UUID, layer: Where = None, member: Member = None) -> Response:
    """Save the fields that say something else than what is there."""
    view = await settings_view(*caller, conversation_id, layer=layer, member_id=member)
    async with caller.request.form(max_fields=MAX_FIELDS, max_part_size=MAX_FIELD_BYTES) as form:
        fields = {name: value for name, value in form.items() if isinstance(value, str)}
        shown = [path for path in form.getlist("shown") if isinstance(path, str)]
    try:
        await _save(caller, conversation_id, view, fields, shown)
    except Refused as refused:
        kept = await settings_view(
            *caller,
            conversation_id,
            layer=view.layer,
            member_id=member,
            typed={path: fields.get(path, "") for path in shown},
            problem=refused.sentence,
        )
        return panel_page(caller.request, "settings", kept, refused.status)
    query = f"?layer={view.layer}" + (f"&member={view.member_id}" if view.member_id else "")
    return RedirectResponse(f"{view.panel.address}{query}", status_code=303)


async def _save(
    caller: Caller, conversation_id: UUID, view: SettingsView, fields: dict[str, str], shown: list[str]
) -> None:
    ids = {"space": view.panel.space.id, "member": view.member_id, "conversation": conversation_id}
    id = UUID(str(ids[view.layer]))
    read, change = _SERVICES[view.layer]
    seen = await read(*caller, id)
    patch = typed_changes(fields, shown, view.layer, seen)
    version = fields.get("settings_version", "")
    # One that cannot be read is no version that there ever was.
    seen_version = int(version) if version.isascii() and version.isdigit() and len(version) < 10 else -1
    await change(*caller, id, settings_version=seen_version, patch=patch)
