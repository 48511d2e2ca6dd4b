"""The pages of characters: the gallery, imports, and a card with its form, its versions and its end."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form, Header, Path, Query, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from markupsafe import Markup
from starlette.datastructures import FormData

from tavernkit.playground.base.database.models import Character
from tavernkit.playground.base.jobs.service import request_cancel
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.api.characters import MAX_EDIT_BYTES
from tavernkit.playground.edge.presenting.characters import (
    EditView,
    GalleryQuery,
    character_page_view,
    chats_view,
    deletion_view,
    edit_view,
    gallery_view,
    import_view,
    pictures_view,
    stories_with,
    version_page_view,
    versions_view,
)
from tavernkit.playground.edge.presenting.imports import origins_view
from tavernkit.playground.edge.web.bodies import takes
from tavernkit.playground.edge.web.forms import Text, page, refusal_of
from tavernkit.playground.edge.web.imports import ImportedItem, imported_answer, imported_chats, take_in
from tavernkit.playground.edge.web.rendering import render
from tavernkit.playground.edge.web.requests import Caller, PageCaller, Visitor, replaced
from tavernkit.playground.edge.web.streams import CONTENT_TYPE
from tavernkit.playground.edge.web.trashed import back_from_deleting
from tavernkit.playground.edge.web.uploads import file_body, one_file, received_form
from tavernkit.playground.story.characters import assets, service
from tavernkit.playground.story.characters.assets import KINDS
from tavernkit.playground.story.characters.cards import LABELS
from tavernkit.playground.story.characters.chats import import_chats_with
from tavernkit.playground.story.characters.checking import counting_providers
from tavernkit.playground.story.characters.files import MAX_ASSETS_BYTES, MAX_FILE_BYTES
from tavernkit.playground.story.characters.form import (
    EMPTY,
    CardForm,
    create_from_form,
    form_of,
    form_of_character,
    merged_with_now,
    save_form,
    typed_form,
)
from tavernkit.playground.story.characters.importing import (
    MAX_FILES,
    MAX_TOTAL_BYTES,
    Choice,
    SameName,
    answer_file,
    file_as_version,
    start_import,
)
from tavernkit.playground.story.characters.queries import Scope, Sort, check_changeable, find_character
from tavernkit.playground.story.chatfiles.importing import MAX_FILE_BYTES as MAX_CHAT_BYTES

router = APIRouter()

# Percent-encoded, a text in most scripts takes nine times its characters.
MAX_FIELD_BYTES = 10_000_000
MAX_FORM_FIELDS = 3_000
ROLES = {"": _("System (default)"), "system": _("System"), "user": _("User"), "assistant": _("Assistant")}

Words = Annotated[str, Query(max_length=200)]
After = Annotated[str | None, Query(max_length=2000)]
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]
Version = Annotated[int, Form(ge=1, le=2**31 - 1)]


@router.get("/characters")
async def gallery(
    caller: PageCaller,
    scope: Scope = "own",
    sort: Sort = "name",
    search: Words = "",
    tag: Words = "",
    after: After = None,
    turbo_frame: Annotated[str, Header()] = "",
) -> HTMLResponse:
    query = GalleryQuery(scope=scope, sort=sort, search=search.strip(), tag=tag.strip())
    is_more = after is not None and turbo_frame.startswith("more_")
    view = await gallery_view(*caller, query, after=after, tiles_alone=is_more)
    return page("characters/_more.html" if is_more else "characters/gallery.html", view=view)


@router.post("/characters/imports")
async def import_files(caller: PageCaller) -> Response:
    sent = received_form(caller.request, field="files", max_files=MAX_FILES, max_bytes=MAX_TOTAL_BYTES)
    try:
        async with sent as form:
            job = await start_import(*caller, form.files, same_name=_choice(form.fields.get("same_name")))
    except Refused as refused:
        view = await gallery_view(*caller, GalleryQuery())
        return page("characters/gallery.html", refused, view=view.with_(problem=refused.sentence))
    return RedirectResponse(f"/characters/imports/{job.id}", status_code=303)


@router.get("/characters/imports/{job_id}")
async def show_import(caller: PageCaller, job_id: UUID, only_failed: bool = False) -> HTMLResponse:
    view = await import_view(*caller, job_id, only_failed=only_failed)
    return page("characters/import.html", view=view)


@router.get("/characters/imports/{job_id}/progress")
async def import_progress(
    caller: PageCaller, job_id: UUID, after: Annotated[int, Query(ge=0, le=MAX_FILES)]
) -> HTMLResponse:
    """Turbo streams for the page of an import: the files behind those whose end it shows."""
    view = await import_view(*caller, job_id, after=after)
    streams = Markup().join(
        replaced(f"file_{file.position}", "characters/_file.html", file=file) for file in view.files
    )
    streams += replaced("import_head", "characters/_import_head.html", view=view)
    return HTMLResponse(str(streams), media_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"})


@router.post("/characters/imports/{job_id}/stop")
async def stop_import(caller: PageCaller, job_id: UUID) -> Response:
    await request_cancel(*caller, job_id)
    return RedirectResponse(f"/characters/imports/{job_id}", status_code=303)


@router.post("/characters/imports/{job_id}/files/{position}/version")
async def add_file_as_version(
    caller: PageCaller, job_id: UUID, position: Annotated[int, Path(ge=0, le=MAX_FILES)]
) -> Response:
    await file_as_version(*caller, job_id, position)
    return RedirectResponse(f"/characters/imports/{job_id}", status_code=303)


@router.post("/characters/imports/{job_id}/files/{position}/choose")
async def choose_for_file(
    caller: PageCaller,
    job_id: UUID,
    position: Annotated[int, Path(ge=0, le=MAX_FILES)],
    choice: Annotated[SameName, Form()],
) -> Response:
    await answer_file(*caller, job_id, position, choice)
    return RedirectResponse(f"/characters/imports/{job_id}#file_{position}", status_code=303)


@router.get("/characters/new")
async def new(caller: PageCaller) -> HTMLResponse:
    return await _edit_page(caller, edit_view(None))


@router.post("/characters/new")
@takes(MAX_EDIT_BYTES)
async def create(caller: PageCaller) -> Response:
    async with sent_form(caller) as sent:
        typed = typed_form(sent, form_of_character(EMPTY))
    try:
        made = await create_from_form(*caller, typed)
    except Refused as refused:
        return await _edit_page(caller, edit_view(None, typed, problem=refused.sentence), refused)
    return RedirectResponse(f"/characters/{made.id}", status_code=303)


@router.get("/characters/{character_id}")
async def show(caller: PageCaller, character_id: UUID) -> HTMLResponse:
    view = await character_page_view(*caller, character_id)
    origins = await origins_view(*caller, "character", character_id)
    return page("characters/character.html", view=view, origins=origins)


@router.post("/characters/{character_id}/stories")
async def new_story(
    caller: PageCaller, character_id: UUID, greeting: Annotated[int, Form(ge=0, le=1000)] = 0
) -> Response:
    started = await service.begin_story(*caller, character_id, greeting=greeting)
    return RedirectResponse(f"/conversations/{started.id}", status_code=303)


@router.post("/characters/{character_id}/chats", openapi_extra=file_body("file", many=True))
async def import_chats(caller: PageCaller, character_id: UUID) -> Response:
    """Make a conversation of each chat in the files, all of them in the same space with the character."""
    async with caller.runtime.database.read() as session:
        # Who may not is told so once, and not for each file.
        await find_character(session, character_id, caller.viewer)
    space_id: UUID | None = None

    def choose_space(fields: Mapping[str, str]) -> None:
        nonlocal space_id
        space_id = _space_id(fields.get("space_id", ""))

    async def import_one(data: bytes, name: str) -> ImportedItem:
        nonlocal space_id
        space_id, made = await import_chats_with(*caller, character_id, data, title=name, space_id=space_id)
        return imported_chats(name, space_id, made)

    outcomes = await take_in(caller.request, import_one, max_bytes=MAX_CHAT_BYTES, read_fields=choose_space)
    chats = render("characters/_chats.html", chats=await chats_view(*caller, character_id))
    return imported_answer(caller.request, outcomes, chats, otherwise=f"/characters/{character_id}")


@router.get("/characters/{character_id}/edit")
async def edit(caller: PageCaller, character_id: UUID) -> HTMLResponse:
    return await _edit_page(caller, edit_view(await changeable(caller, character_id)))


@router.post("/characters/{character_id}/edit")
@takes(MAX_EDIT_BYTES)
async def save(caller: PageCaller, character_id: UUID) -> Response:
    row = await changeable(caller, character_id)
    async with sent_form(caller) as sent:
        typed = typed_form(sent, form_of(row.data))
        version = _version(sent.get("version"))
    try:
        await save_form(*caller, row, typed, version=version)
    except Refused as refused:
        if refused.code == "stale":
            return await _merged_page(caller, character_id, typed, version, refused)
        return await _edit_page(caller, edit_view(row, typed, problem=refused.sentence).with_(version=version), refused)
    return RedirectResponse(f"/characters/{character_id}", status_code=303)


async def _merged_page(caller: Caller, character_id: UUID, typed: CardForm, version: int, refused: Refused) -> Response:
    """The form with what was typed, over a card that was changed in the meantime."""
    row, merged = await merged_with_now(*caller, character_id, typed, version=version)
    if merged.is_same:
        # Pictures or the lorebook were changed, which the form does not have.
        await save_form(*caller, row, typed, version=row.version)
        return RedirectResponse(f"/characters/{character_id}", status_code=303)
    problem = (
        _(
            "The card was changed in the meantime. Your text is kept, with the current text below it. "
            "Save again to overwrite it."
        )
        if merged.now
        else _("Other fields of the card were changed in the meantime. Save again to keep both changes.")
    )
    return await _edit_page(caller, edit_view(row, merged.form, now=merged.now, problem=problem), refused)


@router.post("/characters/{character_id}/tags")
async def change_tags(
    caller: PageCaller, character_id: UUID, tags: Annotated[str, Form(max_length=50_000)] = ""
) -> Response:
    await service.change_own_tags(*caller, character_id, tags.split(","))
    return RedirectResponse(f"/characters/{character_id}", status_code=303)


@router.get("/characters/{character_id}/pictures")
async def pictures(caller: PageCaller, character_id: UUID, after: After = None) -> HTMLResponse:
    return page("characters/pictures.html", view=await pictures_view(*caller, character_id, after=after), kinds=KINDS)


@router.post("/characters/{character_id}/picture")
async def change_picture(caller: PageCaller, character_id: UUID) -> Response:
    file = await one_file(caller.request, max_bytes=MAX_FILE_BYTES)
    return await _pictures(caller, character_id, service.set_avatar(*caller, character_id, file))


@router.post("/characters/{character_id}/pictures")
async def add_pictures(caller: PageCaller, character_id: UUID) -> Response:
    sent = received_form(caller.request, field="files", max_files=assets.MAX_UPLOADED, max_bytes=MAX_ASSETS_BYTES)
    async with sent as form:
        kind = form.fields.get("kind", "")
        files = [assets.NewPicture(filename=file.filename or "", data=await file.read()) for file in form.files]
    known = kind if kind in KINDS else "other"
    return await _pictures(caller, character_id, assets.add_pictures(*caller, character_id, files, kind=known))


@router.post("/characters/{character_id}/pictures/{asset_id}")
async def rename_picture(
    caller: PageCaller, character_id: UUID, asset_id: UUID, name: Text = "", kind: Text = ""
) -> Response:
    change = assets.change_asset(*caller, character_id, asset_id, name=name, kind=kind if kind in KINDS else None)
    return await _pictures(caller, character_id, change)


@router.post("/characters/{character_id}/pictures/{asset_id}/main")
async def choose_main_picture(caller: PageCaller, character_id: UUID, asset_id: UUID) -> Response:
    return await _pictures(caller, character_id, assets.use_as_picture(*caller, character_id, asset_id))


@router.post("/characters/{character_id}/pictures/{asset_id}/delete")
async def delete_picture(caller: PageCaller, character_id: UUID, asset_id: UUID) -> Response:
    return await _pictures(caller, character_id, assets.delete_asset(*caller, character_id, asset_id))


async def _pictures(caller: Caller, character_id: UUID, change: Awaitable[object]) -> Response:
    """The page of pictures after a change, or with why there was none."""
    refused = await refusal_of(change)
    if refused is None:
        return RedirectResponse(f"/characters/{character_id}/pictures", status_code=303)
    view = await pictures_view(*caller, character_id)
    return page("characters/pictures.html", refused, view=view, kinds=KINDS)


@router.post("/characters/{character_id}/duplicate")
async def duplicate(caller: PageCaller, character_id: UUID) -> Response:
    copy = await service.duplicate_character(*caller, character_id)
    return RedirectResponse(f"/characters/{copy.id}", status_code=303)


@router.get("/characters/{character_id}/versions")
async def versions(caller: PageCaller, character_id: UUID, after: After = None) -> HTMLResponse:
    view = await versions_view(*caller, character_id, after=after)
    return page("characters/versions.html", view=view)


@router.get("/characters/{character_id}/versions/{number}")
async def version(caller: PageCaller, character_id: UUID, number: Number) -> HTMLResponse:
    view = await version_page_view(*caller, character_id, number)
    return page("characters/version.html", view=view, labels=LABELS)


@router.post("/characters/{character_id}/versions/{number}/restore")
async def restore(caller: PageCaller, character_id: UUID, number: Number, version: Version) -> Response:
    try:
        await service.restore_version(*caller, character_id, version=version, number=number)
    except Refused as refused:
        if refused.code != "stale":
            raise
        problem = _("The card was changed in the meantime. The current differences are shown.")
        view = await version_page_view(*caller, character_id, number, problem=problem)
        return page("characters/version.html", refused, view=view, labels=LABELS)
    return RedirectResponse(f"/characters/{character_id}", status_code=303)


@router.get("/characters/{character_id}/delete")
async def ask_before_deleting(caller: PageCaller, character_id: UUID) -> HTMLResponse:
    view = await deletion_view(*caller, character_id)
    return page("characters/delete.html", view=view)


@router.post("/characters/{character_id}/delete")
async def delete(caller: PageCaller, character_id: UUID) -> Response:
    await service.delete_character(*caller, character_id)
    return await back_from_deleting(caller.runtime, "character", character_id, "/characters")


async def _edit_page(caller: Caller, view: EditView, refused: Refused | None = None) -> HTMLResponse:
    role = view.form.texts["depth_prompt_role"]
    roles = ROLES if role in ROLES else {**ROLES, role: _("Unknown ({value})", value=role)}
    async with caller.runtime.database.read() as session:
        models = await counting_providers(session)
    stories = () if view.row is None else await stories_with(*caller, view.row.id)
    return page("characters/edit.html", refused, view=view, labels=LABELS, roles=roles, models=models, stories=stories)


def sent_form(caller: Visitor) -> AbstractAsyncContextManager[FormData]:
    """The form of a card, as a browser sends it."""
    return caller.request.form(max_fields=MAX_FORM_FIELDS, max_part_size=MAX_FIELD_BYTES)


async def changeable(caller: Caller, character_id: UUID) -> Character:
    """The character, for who may change it."""
    async with caller.runtime.database.read() as session:
        row = await find_character(session, character_id, caller.viewer)
    check_changeable(row, caller.viewer)
    return row


def _space_id(sent: str) -> UUID | None:
    try:
        return UUID(sent) if sent else None
    except ValueError:
        raise Refused("invalid", _("There is no such space. Choose another one.")) from None


def _version(sent: object) -> int:
    if isinstance(sent, str) and sent.isdecimal() and len(sent) < 10:
        return max(int(sent), 1)
    raise Refused("invalid", _("The form does not name the version of the card. Open the form again."))


def _choice(chosen: str | None) -> Choice:
    return next((choice for choice in ("new", "version", "skip") if choice == chosen), "ask")
