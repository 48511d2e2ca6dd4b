"""The pages about how pages look and which keys they have, for one account."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from markupsafe import Markup
from pydantic import Field

from tavernkit.playground.base.accounts.appearance import (
    Appearance,
    appearance_in,
    change_appearance,
    reset_appearance,
)
from tavernkit.playground.base.accounts.shortcuts import (
    LONGEST_KEY,
    ShortcutsPatch,
    change_shortcuts,
    reset_shortcuts,
)
from tavernkit.playground.base.accounts.viewer import require_person
from tavernkit.playground.base.database.models import User
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.views.preferences import CHOICES, AppearanceForm, differences
from tavernkit.playground.edge.web.forms import filled_in, fresh_page, saved_streams
from tavernkit.playground.edge.web.requests import (
    Caller,
    PageCaller,
    Visitor,
    answer,
    replaced,
    streamed,
    wants_streams,
)

router = APIRouter()

ShortcutId = Annotated[str, Form(max_length=LONGEST_KEY)]


class SeenAppearanceForm(AppearanceForm):
    """The form, and the version that it was filled in from."""

    version: int = Field(ge=0, le=2**31 - 1)


@router.get("/appearance")
async def appearance(caller: PageCaller) -> HTMLResponse:
    require_person(caller.viewer)
    return await _appearance_page(caller)


@router.post("/appearance")
async def save_appearance(caller: PageCaller, given: Annotated[SeenAppearanceForm, Form()]) -> Response:
    form = AppearanceForm(**given.model_dump(exclude={"version"}))
    try:
        changed = await change_appearance(*caller, form.patch(given.version))
    except Refused as refused:
        return await _refused_page(caller, form, refused)
    streams = saved_streams("version", changed.version, caller.runtime.clock()) + _noted(changed)
    streams += replaced("problem", "_appearance_problem.html", problem="", differences=())
    return answer(caller.request, streams, otherwise="/appearance")


@router.post("/appearance/reset")
async def forget_appearance(caller: PageCaller) -> Response:
    await reset_appearance(*caller)
    return RedirectResponse("/appearance", status_code=303)


@router.get("/keys")
async def keys(caller: PageCaller) -> HTMLResponse:
    require_person(caller.viewer)
    return fresh_page("keys.html")


@router.post("/keys")
async def change_key(
    caller: PageCaller, id: ShortcutId, key: Annotated[str, Form(max_length=LONGEST_KEY)] = ""
) -> Response:
    """Give a shortcut another key, or none."""
    await change_shortcuts(*caller, ShortcutsPatch(keys={id: key}))
    return RedirectResponse(f"/keys#{id}", status_code=303)


@router.post("/keys/reset")
async def reset_keys(caller: PageCaller, id: ShortcutId = "") -> Response:
    """Give a shortcut its default key again, or all of them."""
    if not id:
        await reset_shortcuts(*caller)
        return RedirectResponse("/keys", status_code=303)
    await change_shortcuts(*caller, ShortcutsPatch(keys={id: None}))
    return RedirectResponse(f"/keys#{id}", status_code=303)


async def _appearance_page(caller: Caller) -> HTMLResponse:
    current = await _current(caller)
    form = filled_in(AppearanceForm, current)
    return fresh_page("appearance.html", form=form, version=current.version, choices=CHOICES, differences=())


async def _refused_page(caller: Visitor, form: AppearanceForm, refused: Refused) -> Response:
    """Why nothing was saved, beside what was chosen; saving again overwrites what is there now."""
    current = await _current(caller)
    changed = differences(form, filled_in(AppearanceForm, current)) if refused.code == "stale" else ()
    if not wants_streams(caller.request):
        context = {"form": form, "version": current.version, "choices": CHOICES, "differences": changed}
        return fresh_page("appearance.html", refused, **context)
    # As streams: a page with another version than the present one would be loaded anew, without what was chosen.
    streams = replaced("problem", "_appearance_problem.html", problem=refused.sentence, differences=changed)
    return streamed(streams + saved_streams("version", current.version) + _noted(current), refused.status)


async def _current(caller: Caller) -> Appearance:
    async with caller.runtime.database.read() as session:
        return appearance_in((await session.get_one(User, caller.viewer.user_id)).appearance)


def _noted(appearance: Appearance) -> Markup:
    """Has the document know its version, so that the next visit does not load it anew."""
    return replaced("appearance_version", "_appearance_version.html", look=appearance)
