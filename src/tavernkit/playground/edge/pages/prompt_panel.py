"""The tab of the side panel with what goes into the prompts of a conversation."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Form, Response

from tavernkit.playground.edge.presenting.panel import IN_PANEL, panel_access, panel_answer, panel_page
from tavernkit.playground.edge.presenting.prompt_panel import InjectionForm, prompt_panel_view
from tavernkit.playground.edge.web.forms import Flag, Text, refusal_of
from tavernkit.playground.edge.web.requests import PageCaller, Visitor
from tavernkit.playground.edge.web.uploads import ONE_FILE, one_file
from tavernkit.playground.story.paths.injections import put_injection, remove_injection
from tavernkit.playground.story.prompting.toggles import set_toggle
from tavernkit.playground.story.settings.service import (
    change_conversation_settings,
    change_space_settings,
    import_space_settings,
    read_conversation_settings,
    read_space_settings,
)
from tavernkit.playground.story.settings.sillytavern_file import MAX_FILE_BYTES

Place = Annotated[Literal["conversation", "space"], Form()]

router = APIRouter(prefix="/conversations/{conversation_id}/panel/prompt", dependencies=IN_PANEL)


@router.get("")
async def prompt(caller: PageCaller, conversation_id: UUID) -> Response:
    return panel_page(caller.request, "prompt", await prompt_panel_view(*caller, conversation_id))


@router.post("/injections")
async def put(caller: PageCaller, conversation_id: UUID, form: Annotated[InjectionForm, Form()]) -> Response:
    async def change() -> None:
        await put_injection(*caller, conversation_id, form.name.strip(), form.understood())

    return await _answer(caller, conversation_id, change(), form)


@router.post("/injections/remove")
async def remove(caller: PageCaller, conversation_id: UUID, name: Text) -> Response:
    return await _answer(caller, conversation_id, remove_injection(*caller, conversation_id, name))


@router.post("/modules/{module_id}")
async def switch_module(
    caller: PageCaller, conversation_id: UUID, module_id: UUID, enabled: Flag, place: Place = "conversation"
) -> Response:
    async def change() -> None:
        conversation, access = await caller.read(panel_access, conversation_id)
        if place == "space":
            seen = await read_space_settings(*caller, access.space.id)
        else:
            seen = await read_conversation_settings(*caller, conversation.id)
        used = [one for one in seen.effective["prompt"]["modules"].value if one != str(module_id)]
        patch = {"prompt": {"modules": [*used, str(module_id)] if enabled else used}}
        version = seen.settings_version
        if place == "space":
            await change_space_settings(*caller, access.space.id, settings_version=version, patch=patch)
        else:
            await change_conversation_settings(*caller, conversation.id, settings_version=version, patch=patch)

    return await _answer(caller, conversation_id, change())


@router.post("/settings", openapi_extra=ONE_FILE)
async def import_settings(caller: PageCaller, conversation_id: UUID) -> Response:
    """Take over settings of SillyTavern for the space."""

    async def change() -> None:
        _, access = await caller.read(panel_access, conversation_id)
        file = await one_file(caller.request, max_bytes=MAX_FILE_BYTES)
        await import_space_settings(*caller, access.space.id, file)

    return await _answer(caller, conversation_id, change())


@router.post("/toggles")
async def toggle(caller: PageCaller, conversation_id: UUID, key: Text, value: Text = "") -> Response:
    return await _answer(caller, conversation_id, set_toggle(*caller, conversation_id, key, value))


async def _answer(
    caller: Visitor, conversation_id: UUID, change: Awaitable[object], form: InjectionForm | None = None
) -> Response:
    """The tab after a change; or with why there was none, and what was typed."""
    refused = await refusal_of(change)
    problem, typed = (refused.sentence, form) if refused else ("", None)
    view = await prompt_panel_view(*caller, conversation_id, problem=problem, form=typed)
    return panel_answer(caller.request, "prompt", view, otherwise=view.panel.address, refused=refused)
