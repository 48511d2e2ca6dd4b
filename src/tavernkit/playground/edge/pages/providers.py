"""The pages of models: which there are, and for administrators how they are reached. They work without scripts."""

from __future__ import annotations

from collections.abc import Awaitable
from uuid import UUID

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from markupsafe import Markup

from tavernkit.playground.base.accounts.viewer import require_administrator
from tavernkit.playground.base.database.models import Provider
from tavernkit.playground.base.languages import translated
from tavernkit.playground.base.llm.kinds import PROVIDER_KINDS, kind_of
from tavernkit.playground.base.llm.vision import guess_sight, takes_pictures
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.presenting.provider_forms import (
    ProviderForm,
    Typed,
    dialect_choices,
    form_of,
    new_form,
    read_new,
    read_patch,
)
from tavernkit.playground.edge.views.providers import Answer, answer_of, models_answer, models_view
from tavernkit.playground.edge.web.forms import Flag, fresh_page, understood
from tavernkit.playground.edge.web.rendering import render
from tavernkit.playground.edge.web.requests import Caller, PageCaller, streamed, wants_streams
from tavernkit.playground.edge.web.streams import stream
from tavernkit.playground.edge.web.uploads import ONE_FILE, one_file
from tavernkit.playground.story.providers import service, tokenizers
from tavernkit.playground.story.providers.documents import PatchProvider
from tavernkit.playground.story.providers.queries import USUAL, provider_to_manage, usual_server
from tavernkit.prompt.tokens.estimator import known_encoding

router = APIRouter()

_KINDS = {kind.id: kind.label for kind in PROVIDER_KINDS.values() if not kind.is_built_in}


@router.get("/models")
async def models(caller: PageCaller) -> Response:
    return await _list(caller)


@router.get("/models/new")
async def new_model(caller: PageCaller, server: str = "") -> Response:
    require_administrator(caller.viewer)
    return _new_page(new_form(usual_server(server)))


@router.post("/models")
async def add_model(caller: PageCaller, form: Typed) -> Response:
    require_administrator(caller.viewer)
    try:
        added = await service.add_provider(*caller, read_new(form))
    except Refused as refused:
        return _new_page(form, refused=refused)
    return RedirectResponse(f"/models/{added.id}?added=1", status_code=303)


@router.get("/models/{provider_id}")
async def model(caller: PageCaller, provider_id: UUID, added: bool = False) -> Response:
    row = await caller.read(provider_to_manage, provider_id)
    return _edit_page(row, form_of(row), is_new=added)


@router.post("/models/{provider_id}")
async def change_model(caller: PageCaller, provider_id: UUID, form: Typed) -> Response:
    saved = await _save(caller, provider_id, form)
    return saved if isinstance(saved, Response) else RedirectResponse("/models", status_code=303)


@router.post("/models/{provider_id}/test")
async def try_model(caller: PageCaller, provider_id: UUID, form: Typed) -> Response:
    """Save what was typed, and ask the model something tiny."""
    saved = await _save(caller, provider_id, form)
    if isinstance(saved, Response):
        return saved
    trial = await service.try_connection(*caller, provider_id)
    return _answered(caller.request, saved, answer_of(saved, trial))


@router.post("/models/{provider_id}/list")
async def list_models(caller: PageCaller, provider_id: UUID, form: Typed) -> Response:
    """Save what was typed, and ask which models there are."""
    saved = await _save(caller, provider_id, form)
    if isinstance(saved, Response):
        return saved
    listed = await service.list_models(*caller, provider_id)
    return _answered(caller.request, saved, models_answer(saved, listed), names=listed.models)


@router.post("/models/{provider_id}/default")
async def make_default(caller: PageCaller, provider_id: UUID) -> Response:
    return await _back(caller, service.make_default(*caller, provider_id))


@router.post("/models/{provider_id}/switch")
async def switch_model(caller: PageCaller, provider_id: UUID, disabled: Flag) -> Response:
    """Let nobody use it, or let them again."""
    row = await caller.read(provider_to_manage, provider_id)
    patch = understood(PatchProvider, settings_version=row.settings_version, disabled=disabled)
    return await _back(caller, service.change_provider(*caller, provider_id, patch))


@router.post("/models/{provider_id}/delete")
async def delete_model(caller: PageCaller, provider_id: UUID) -> Response:
    return await _back(caller, service.delete_provider(*caller, provider_id))


@router.post("/models/{provider_id}/tokenizer", openapi_extra=ONE_FILE)
async def put_tokenizer(caller: PageCaller, provider_id: UUID) -> Response:
    """Count with the tokenizer of the model."""
    row = await caller.read(provider_to_manage, provider_id)
    try:
        file = await one_file(caller.request, max_bytes=tokenizers.MAX_FILE_BYTES)
        await tokenizers.set_tokenizer(*caller, provider_id, file)
    except Refused as refused:
        return _edit_page(row, form_of(row), refused)
    return RedirectResponse(f"/models/{provider_id}#tokenizer", status_code=303)


@router.post("/models/{provider_id}/tokenizer/remove")
async def remove_tokenizer(caller: PageCaller, provider_id: UUID) -> Response:
    await tokenizers.remove_tokenizer(*caller, provider_id)
    return RedirectResponse(f"/models/{provider_id}#tokenizer", status_code=303)


async def _save(caller: Caller, provider_id: UUID, form: ProviderForm) -> Provider | Response:
    """The provider as it is stored now; else the page that says why not, with everything that was typed but the key."""
    row = await caller.read(provider_to_manage, provider_id)
    try:
        return await service.change_provider(*caller, provider_id, read_patch(form, row))
    except Refused as refused:
        # Who has seen the sentence about somebody else's change can decide to save theirs all the same.
        return _edit_page(row, form.model_copy(update={"settings_version": row.settings_version}), refused)


async def _back(caller: Caller, change: Awaitable[object]) -> Response:
    """The list after a change, or with why there was none."""
    try:
        await change
    except Refused as refused:
        return await _list(caller, refused)
    return RedirectResponse("/models", status_code=303)


async def _list(caller: Caller, refused: Refused | None = None) -> Response:
    return fresh_page("providers/list.html", refused, view=await models_view(*caller), usual=USUAL)


def _answered(request: Request, row: Provider, answer: Answer, names: list[str] | None = None) -> Response:
    """What came back, beside the form."""
    context = {"answer": answer, "names": names or []}
    if not wants_streams(request):
        return _edit_page(row, form_of(row), **context)
    form = render("providers/_form.html", problem="", **_edit_context(row, form_of(row), **context))
    return streamed(
        stream("replace", "model_form", form)
        + stream("update", "announcer", Markup.escape(translated(answer.sentence)))
    )


def _new_page(form: ProviderForm, *, refused: Refused | None = None) -> HTMLResponse:
    known = usual_server(form.server)
    return fresh_page("providers/new.html", refused, form=form, usual=USUAL, known=known, kinds=_KINDS)


def _edit_page(row: Provider, form: ProviderForm, refused: Refused | None = None, /, **context: object) -> HTMLResponse:
    return fresh_page("providers/edit.html", refused, **_edit_context(row, form, **context))


def _edit_context(row: Provider, form: ProviderForm, **context: object) -> dict[str, object]:
    usual: dict[str, object] = {"answer": None, "names": [], "is_new": False, "usual": USUAL}
    # Whether its model is one that sees; None where no pictures can be sent at all.
    sight = guess_sight(row.model) if takes_pictures(row) and not kind_of(row).is_built_in else None
    own = {"provider": row, "kind": kind_of(row), "dialects": dialect_choices(row), "form": form, "sight": sight}
    return {**usual, **own, "encoding": known_encoding(row.model), **context}
