"""A card while it is written: its tokens, hints about it, the prompt that it would be in, and its lorebook."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse, RedirectResponse

from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.api.characters import MAX_EDIT_BYTES
from tavernkit.playground.edge.pages.characters import changeable, sent_form
from tavernkit.playground.edge.presenting.characters import lorebook_draft_view
from tavernkit.playground.edge.presenting.prompt_preview import draft_view
from tavernkit.playground.edge.web.bodies import takes
from tavernkit.playground.edge.web.forms import Version, fresh_page, page
from tavernkit.playground.edge.web.requests import PageCaller
from tavernkit.playground.story.characters.cards import stored_card
from tavernkit.playground.story.characters.checking import check_card, hint_sentence
from tavernkit.playground.story.characters.embedded_book import edit_embedded_book, save_embedded_book
from tavernkit.playground.story.characters.form import EMPTY, draft_of, form_of_character, typed_character, typed_form

router = APIRouter()

CharacterId = Annotated[UUID | None, Query(alias="character")]


@router.post("/characters/check")
@takes(MAX_EDIT_BYTES)
async def check(
    caller: PageCaller,
    character_id: CharacterId = None,
    provider_id: Annotated[UUID | None, Query(alias="model")] = None,
) -> JSONResponse:
    """Tokens and hints by the paths of the fields; nothing is changed."""
    row = None if character_id is None else await changeable(caller, character_id)
    async with sent_form(caller) as sent:
        texts = {name: [value for value in sent.getlist(name) if isinstance(value, str)] for name in sent}
    found = await check_card(caller.runtime, typed_character(texts, row), provider_id=provider_id)
    hints: dict[str, list[str]] = {}
    for hint in found.hints:
        hints.setdefault(hint.path, []).append(hint_sentence(hint))
    shown = {"counts": found.counts, "permanent": found.permanent, "total": found.total, "hints": hints}
    return JSONResponse(shown, headers={"Cache-Control": "no-store"})


@router.post("/characters/preview")
@takes(MAX_EDIT_BYTES)
async def preview(
    caller: PageCaller,
    character_id: CharacterId = None,
    conversation_id: Annotated[UUID | None, Query(alias="story")] = None,
) -> Response:
    """The prompt with the card as it is typed, as a page and as the content of a frame."""
    row = None if character_id is None else await changeable(caller, character_id)
    card = EMPTY if row is None else stored_card(row).character
    async with sent_form(caller) as sent:
        typed = typed_form(sent, form_of_character(card))
    try:
        draft = draft_of(*caller, row, typed)
        view = await draft_view(*caller, draft, conversation_id=conversation_id)
    except Refused as refused:
        if refused.status == 404:
            raise
        return fresh_page("preview.html", refused, view=refused)
    return fresh_page("preview.html", view=view)


@router.post("/characters/{character_id}/lorebook")
async def edit_lorebook(caller: PageCaller, character_id: UUID) -> Response:
    book = await edit_embedded_book(*caller, character_id)
    return RedirectResponse(f"/lorebooks/{book.id}", status_code=303)


@router.get("/characters/{character_id}/lorebook")
async def show_lorebook(caller: PageCaller, character_id: UUID) -> Response:
    return page("characters/lorebook.html", view=await lorebook_draft_view(*caller, character_id))


@router.post("/characters/{character_id}/lorebook/save")
async def save_lorebook(caller: PageCaller, character_id: UUID, version: Version) -> Response:
    try:
        await save_embedded_book(*caller, character_id, version=version)
    except Refused as refused:
        if refused.code != "stale":
            raise
        view = await lorebook_draft_view(*caller, character_id)
        return page("characters/lorebook.html", refused, view=view)
    return RedirectResponse(f"/characters/{character_id}", status_code=303)
