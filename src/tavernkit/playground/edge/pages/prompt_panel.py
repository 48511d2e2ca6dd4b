"""The tab of the side panel with what goes into the prompts of a conversation."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form, Response

from tavernkit.playground.edge.presenting.panel import IN_PANEL, panel_answer, panel_page
from tavernkit.playground.edge.presenting.prompt_panel import InjectionForm, prompt_panel_view
from tavernkit.playground.edge.web.forms import Text, refusal_of
from tavernkit.playground.edge.web.requests import PageCaller, Visitor
from tavernkit.playground.story.paths.injections import put_injection, remove_injection

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


async def _answer(
    caller: Visitor, conversation_id: UUID, change: Awaitable[object], form: InjectionForm | None = None
) -> Response:
    """The tab after a change; or with why there was none, and what was typed."""
    refused = await refusal_of(change)
    problem, typed = (refused.sentence, form) if refused else ("", None)
    view = await prompt_panel_view(*caller, conversation_id, problem=problem, form=typed)
    return panel_answer(caller.request, "prompt", view, otherwise=view.panel.address, refused=refused)
