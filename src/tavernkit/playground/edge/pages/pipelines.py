"""The pages about pipelines: the list with the examples, and one profile in its editor."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from markupsafe import Markup
from pydantic import BaseModel, Field

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext, translated
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.api.requests import After
from tavernkit.playground.edge.presenting.pipelines import (
    ConflictView,
    ProfileView,
    conflict_view,
    profile_view,
    profiles_view,
)
from tavernkit.playground.edge.web.forms import Text, Version, one_newline, page, saved_streams, understood
from tavernkit.playground.edge.web.imports import ImportedItem, imported_answer, take_in
from tavernkit.playground.edge.web.rendering import render
from tavernkit.playground.edge.web.requests import PageCaller, Visitor, answer, replaced, streamed, wants_streams
from tavernkit.playground.edge.web.streams import stream
from tavernkit.playground.edge.web.trashed import back_from_deleting
from tavernkit.playground.edge.web.uploads import file_body
from tavernkit.playground.story.pipelines import service
from tavernkit.playground.story.pipelines.checking import check_text
from tavernkit.playground.story.pipelines.choosing import choose_profile, chosen_at, forget_choice
from tavernkit.playground.story.pipelines.documents import AddExample, Choose, NewProfile, PatchProfile, ProfilePlace
from tavernkit.values import Json

router = APIRouter()

NoId = Literal[""]
Context = Annotated[UUID | NoId, Form()]
"""The conversation that the page was opened from."""

STARTER: dict[str, Json] = {
    "pipelines": [
        {
            "id": "notes",
            "name": "Notes",
            "permissions": ["artifact_write"],
            "steps": [
                {
                    "id": "note",
                    "name": "Note down what was said last",
                    "hook": "after",
                    "kind": "template",
                    "template": "{{ char }}: {{ reply | truncate: 200 }}",
                    "artifacts": [{"tag": "note", "visibility": "ui_only", "uiSurface": "panel:note"}],
                }
            ],
        }
    ]
}
"""What a new profile begins with: something that runs."""


class SwitchOffForm(BaseModel):
    """Where a profile is to be followed no longer, and the conversation that the page was opened from."""

    conversation_id: UUID | NoId = ""
    character_id: UUID | NoId = ""
    space_id: UUID | NoId = ""
    conversation: UUID | NoId = ""


class ProfileForm(BaseModel):
    """A profile as it is typed in the editor."""

    name: str = ""
    description: str = ""
    content: str = ""

    def given(self) -> dict[str, str]:
        return {name: one_newline(getattr(self, name)) for name in ProfileForm.model_fields}


class SeenProfileForm(ProfileForm):
    """What is to be saved, and the version that it was typed from."""

    name: str
    content: str
    settings_version: int = Field(ge=0, le=2**31 - 1)


@router.get("/pipelines")
async def profiles(
    caller: PageCaller, conversation: Annotated[UUID | None, Query()] = None, after: After = None
) -> HTMLResponse:
    view = await profiles_view(*caller, conversation_id=conversation, after=after)
    return page("pipelines/index.html", view=view, typed="")


@router.post("/pipelines")
async def create(caller: PageCaller, name: Text) -> Response:
    try:
        new = understood(NewProfile, name=name, content=STARTER)
        profile, _version = await service.create_profile(*caller, new)
    except Refused as refused:
        view = await profiles_view(*caller)
        return page("pipelines/index.html", refused, view=view, typed=name)
    return RedirectResponse(f"/pipelines/{profile.id}", status_code=303)


@router.post("/pipelines/import", openapi_extra=file_body("file", many=True))
async def import_files(caller: PageCaller) -> Response:
    async def import_one(data: bytes, name: str) -> ImportedItem:
        row, report = await service.import_profile(*caller, data, name=name)
        return ImportedItem(name=row.name, address=f"/pipelines/{row.id}", report=report)

    outcomes = await take_in(caller.request, import_one, max_bytes=service.MAX_FILE_BYTES)
    library = render("pipelines/_library.html", view=await profiles_view(*caller))
    return imported_answer(caller.request, outcomes, library, otherwise="/pipelines")


@router.post("/pipelines/examples")
async def switch_on_example(caller: PageCaller, example: Text, conversation: Context = "") -> Response:
    """Follow an example with one click: everywhere, or in the conversation that the page was opened from."""
    place = ProfilePlace(conversation_id=conversation or None)
    try:
        profile = await service.switch_on_example(*caller, example, place)
    except Refused as refused:
        return await _switched(caller, conversation, refused=refused, at=example)
    return await _switched(caller, conversation, sentence=_switched_on_sentence(profile.name, conversation))


@router.post("/pipelines/examples/add")
async def add_example(
    caller: PageCaller,
    example: Text,
    profile_id: Annotated[UUID, Form()],
    settings_version: Version,
    conversation: Context = "",
) -> Response:
    """Follow an example beside what is followed already, in all of it or in that conversation."""
    try:
        followed = {"profile_id": profile_id, "settings_version": settings_version}
        new = understood(AddExample, example=example, conversation_id=conversation or None, **followed)
        profile, _version = await service.add_example(*caller, new)
    except Refused as refused:
        if refused.code == "not_found":
            raise
        return await _switched(caller, conversation, refused=refused, at=example)
    return await _switched(caller, conversation, sentence=_switched_on_sentence(profile.name, conversation))


@router.get("/pipelines/{profile_id}")
async def show(caller: PageCaller, profile_id: UUID) -> Response:
    return _editor(await profile_view(*caller, profile_id))


@router.post("/pipelines/{profile_id}")
async def change(caller: PageCaller, profile_id: UUID, form: Annotated[SeenProfileForm, Form()]) -> Response:
    """Save what was typed, if nothing is wrong with it."""
    given = form.given()
    checked = await check_text(given["content"], caller.runtime.functions)
    view = await profile_view(*caller, profile_id, given=given, checked=checked)
    if checked.errors and view.may_change:
        sentence = ngettext(
            "Not saved: the profile has {count} error. See below the text.",
            "Not saved: the profile has {count} errors. See below the text.",
            len(checked.errors),
        )
        return _refused(caller.request, view, Refused("invalid", sentence))
    fields = {**given, "content": dict(checked.content or {})}
    try:
        patch = understood(PatchProfile, settings_version=form.settings_version, **fields)
        profile, _version = await service.edit_profile(*caller, profile_id, patch)
    except Refused as refused:
        now = refused.current if refused.code == "stale" else None
        conflict = conflict_view(now, given) if isinstance(now, dict) else None
        return _refused(caller.request, view, refused, conflict)
    shown = await profile_view(*caller, profile_id, given=given, checked=checked)
    streams = saved_streams("settings_version", profile.settings_version, profile.updated_at) + _checked(shown)
    streams += stream("update", "profile_title", render("pipelines/_title.html", profile=shown))
    return answer(caller.request, streams, otherwise=f"/pipelines/{profile_id}")


@router.post("/pipelines/{profile_id}/check")
async def check(caller: PageCaller, profile_id: UUID, form: Annotated[ProfileForm, Form()]) -> Response:
    """Nothing is changed, so there is nowhere to redirect to: without scripts, the editor comes with the outcome."""
    given = form.given()
    checked = await check_text(given["content"], caller.runtime.functions)
    view = await profile_view(*caller, profile_id, given=given, checked=checked)
    if wants_streams(caller.request):
        return answer(caller.request, _checked(view), otherwise=f"/pipelines/{profile_id}")
    return _editor(view, is_unsaved=True)


@router.post("/pipelines/{profile_id}/duplicate")
async def duplicate(caller: PageCaller, profile_id: UUID) -> Response:
    copy = await service.duplicate_profile(*caller, profile_id)
    return RedirectResponse(f"/pipelines/{copy.id}", status_code=303)


@router.post("/pipelines/{profile_id}/delete")
async def delete(caller: PageCaller, profile_id: UUID) -> Response:
    view = await profile_view(*caller, profile_id)
    try:
        await service.delete_profile(*caller, profile_id)
    except Refused as refused:
        return _refused(caller.request, view, refused)
    return await back_from_deleting(caller.runtime, "pipeline_profile", profile_id, "/pipelines")


@router.post("/pipelines/{profile_id}/on")
async def switch_on(caller: PageCaller, profile_id: UUID, conversation: Context = "") -> Response:
    profile = await profile_view(*caller, profile_id)
    new = Choose(profile_id=profile_id, conversation_id=conversation or None)
    try:
        await choose_profile(*caller, new)
    except Refused as refused:
        return await _switched(caller, conversation, profile_id, refused=refused)
    sentence = _switched_on_sentence(profile.title, conversation)
    return await _switched(caller, conversation, profile_id, sentence=sentence)


@router.post("/pipelines/{profile_id}/off")
async def switch_off(caller: PageCaller, profile_id: UUID, form: Annotated[SwitchOffForm, Form()]) -> Response:
    """Follow the profile no longer at a place, if it is what is followed there."""
    profile = await profile_view(*caller, profile_id)
    try:
        place = understood(ProfilePlace, **{name: getattr(form, name) or None for name in ProfilePlace.model_fields})
        choice = await chosen_at(*caller, place)
        if choice is not None and choice.profile_id == profile_id:
            await forget_choice(*caller, place)
    except Refused as refused:
        return await _switched(caller, form.conversation, profile_id, refused=refused)
    sentence = _("{name} is disabled there.", name=profile.title)
    return await _switched(caller, form.conversation, profile_id, sentence=sentence)


def _switched_on_sentence(name: str, conversation: UUID | NoId) -> str:
    if conversation:
        return _("{name} is enabled in this conversation.", name=name)
    return _("{name} is enabled everywhere.", name=name)


async def _switched(
    caller: Visitor,
    conversation: UUID | NoId,
    profile_id: UUID | None = None,
    *,
    refused: Refused | None = None,
    at: str = "",
    sentence: str = "",
) -> Response:
    """The list as it is now, and in the editor the places; or the sentence beside the profile that was refused."""
    problem = refused.sentence if refused else ""
    view = await profiles_view(
        *caller, conversation_id=conversation or None, problem=problem, at=at or str(profile_id or "")
    )
    if not wants_streams(caller.request):
        if refused is not None:
            return page("pipelines/index.html", refused, view=view, typed="")
        return RedirectResponse(f"/pipelines{view.target.query}", status_code=303)
    streams = replaced("library", "pipelines/_library.html", morph=True, view=view)
    if profile_id is not None:
        profile = await profile_view(*caller, profile_id)
        streams += replaced("followed", "pipelines/_followed.html", morph=True, profile=profile, problem=problem)
    if refused is None:
        streams += stream("update", "announcer", Markup.escape(translated(sentence)))
    return streamed(streams, refused.status if refused else 200)


def _checked(view: ProfileView) -> Markup:
    """What is known about the text in the editor, without touching the text."""
    return (
        stream("update", "profile_summary", Markup.escape(translated(view.checked.summary)), morph=True)
        + replaced("profile_problems", "pipelines/_problems.html", morph=True, profile=view)
        + replaced("profile_outline", "pipelines/_outline.html", morph=True, profile=view)
    )


def _refused(request: Request, view: ProfileView, refused: Refused, conflict: ConflictView | None = None) -> Response:
    """Why nothing was saved. With scripts nothing in the editor is drawn anew, so the cursor stays where it is."""
    if not wants_streams(request):
        return _editor(view, refused, conflict, is_unsaved=True)
    sentence = render("pipelines/_refused.html", profile=view, problem=refused.sentence, conflict=conflict)
    streams = stream("update", "problem", sentence) + _checked(view)
    if conflict is not None:
        # Who has seen what is there now, and saves again, means it.
        streams += saved_streams("settings_version", view.row.settings_version)
    return streamed(streams, refused.status)


def _editor(
    view: ProfileView, refused: Refused | None = None, conflict: ConflictView | None = None, *, is_unsaved: bool = False
) -> HTMLResponse:
    return page("pipelines/profile.html", refused, profile=view, conflict=conflict, is_unsaved=is_unsaved)
