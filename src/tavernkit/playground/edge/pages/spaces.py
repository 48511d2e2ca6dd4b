"""The page of a space."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form, Query, Response
from fastapi.responses import RedirectResponse

from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.presenting.imports import origins_view
from tavernkit.playground.edge.presenting.spaces import space_view
from tavernkit.playground.edge.web.forms import Text, Version, fresh_page, understood
from tavernkit.playground.edge.web.imports import ImportedItem, imported_answer, imported_chats, take_in
from tavernkit.playground.edge.web.rendering import render
from tavernkit.playground.edge.web.requests import Caller, PageCaller
from tavernkit.playground.edge.web.trashed import back_from_deleting
from tavernkit.playground.edge.web.uploads import ONE_FILE, file_body, one_file
from tavernkit.playground.story.access.access import Access, space_for
from tavernkit.playground.story.access.documents import SpaceChange
from tavernkit.playground.story.chatfiles.importing import MAX_FILE_BYTES, import_chats
from tavernkit.playground.story.conversations.service import create_conversation
from tavernkit.playground.story.paths.pictures import MAX_PICTURE_BYTES
from tavernkit.playground.story.spaces.backgrounds import choose_background, upload_background
from tavernkit.playground.story.spaces.service import change_space, delete_space

router = APIRouter(prefix="/spaces/{space_id}")


@router.get("")
async def space(
    caller: PageCaller, space_id: UUID, after: Annotated[str | None, Query(max_length=2000)] = None
) -> Response:
    return await _page(caller, space_id, after=after)


@router.post("/conversations")
async def begin(caller: PageCaller, space_id: UUID) -> Response:
    """Begin another conversation, with the greetings of those who are there."""
    begun = await create_conversation(*caller, space_id)
    return RedirectResponse(f"/conversations/{begun.id}", status_code=303)


@router.post("/import", openapi_extra=file_body("file", many=True))
async def import_files(caller: PageCaller, space_id: UUID) -> Response:
    """Make a conversation of each chat in the files."""
    async with caller.runtime.database.read() as session:
        # Who may not is told so once, and not for each file.
        await space_for(session, space_id, caller.viewer, Access.ADMINISTER)

    async def import_one(data: bytes, name: str) -> ImportedItem:
        return imported_chats(name, space_id, await import_chats(*caller, space_id, data, title=name))

    outcomes = await take_in(caller.request, import_one, max_bytes=MAX_FILE_BYTES)
    library = render("_space_stories.html", view=await space_view(*caller, space_id))
    return imported_answer(caller.request, outcomes, library, otherwise=f"/spaces/{space_id}")


@router.post("")
async def change(
    caller: PageCaller,
    space_id: UUID,
    settings_version: Version,
    name: Annotated[str | None, Form(max_length=10_000)] = None,
    archived: Annotated[bool | None, Form()] = None,
) -> Response:
    """Rename the space, put it aside or bring it back."""
    try:
        change = understood(SpaceChange, settings_version=settings_version, name=name, archived=archived)
        await change_space(*caller, space_id, **dict(change))
    except Refused as refused:
        return await _page(caller, space_id, refused=refused, name_typed=name)
    return RedirectResponse(f"/spaces/{space_id}", status_code=303)


@router.post("/background", openapi_extra=ONE_FILE)
async def upload(caller: PageCaller, space_id: UUID) -> Response:
    """Show a picture behind the chats."""
    try:
        await upload_background(*caller, space_id, await one_file(caller.request, max_bytes=MAX_PICTURE_BYTES))
    except Refused as refused:
        return await _page(caller, space_id, refused=refused)
    return RedirectResponse(f"/spaces/{space_id}#background", status_code=303)


@router.post("/background/choose")
async def choose(caller: PageCaller, space_id: UUID, sha256: Text = "") -> Response:
    """Show a background of one of the characters, or none."""
    try:
        await choose_background(*caller, space_id, sha256 or None)
    except Refused as refused:
        return await _page(caller, space_id, refused=refused)
    return RedirectResponse(f"/spaces/{space_id}#background", status_code=303)


@router.post("/delete")
async def delete(caller: PageCaller, space_id: UUID) -> Response:
    try:
        await delete_space(*caller, space_id)
    except Refused as refused:
        return await _page(caller, space_id, refused=refused)
    return await back_from_deleting(caller.runtime, "space", space_id, "/")


async def _page(
    caller: Caller,
    space_id: UUID,
    *,
    after: str | None = None,
    refused: Refused | None = None,
    name_typed: str | None = None,
) -> Response:
    """The space as it is now; where something was refused, with the sentence about it and the name that was typed."""
    if refused is not None and refused.code == "not_found":
        raise refused
    problem = refused.sentence if refused else ""
    view = await space_view(*caller, space_id, after=after, name_typed=name_typed, problem=problem)
    origins = await origins_view(*caller, "space", space_id)
    return fresh_page("space.html", refused, view=view, origins=origins)
