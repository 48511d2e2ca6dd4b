"""The pages about accounts: signing in, signing up, and one's own account. All of them work without scripts."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from tavernkit.playground.base.accounts.api_keys import create_api_key, revoke_api_key
from tavernkit.playground.base.accounts.names import LONGEST_EMAIL, LONGEST_NAME
from tavernkit.playground.base.accounts.password_resets import use_password_reset
from tavernkit.playground.base.accounts.profile import (
    LONGEST_ZONE,
    change_password,
    set_language,
    set_time_zone,
    update_profile,
)
from tavernkit.playground.base.accounts.sessions import SignedIn, revoke_other_sessions, revoke_session, sign_out
from tavernkit.playground.base.accounts.signing_in import sign_in
from tavernkit.playground.base.accounts.signing_up import needs_setup, set_up, sign_up
from tavernkit.playground.base.accounts.viewer import Viewer, require_person
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.passwords import LONGEST_PASSWORD, SHORTEST_PASSWORD
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.views.accounts import account_context
from tavernkit.playground.edge.web.authentication import COOKIE, drop_cookie, give_cookies, visit_of
from tavernkit.playground.edge.web.forms import Text, fresh_page
from tavernkit.playground.edge.web.requests import AppRuntime, Caller, PageCaller

router = APIRouter(include_in_schema=False)

Short = Annotated[str, Form(max_length=max(LONGEST_EMAIL, LONGEST_NAME))]
Password = Annotated[str, Form(max_length=LONGEST_PASSWORD)]
Code = Annotated[str, Query(max_length=100)]


@router.get("/sign-in")
async def sign_in_page(runtime: AppRuntime, next: str = "/") -> Response:
    if await needs_setup(runtime):
        return RedirectResponse("/setup", status_code=303)
    return fresh_page("sign_in.html", next=_inside(next), login="")


@router.post("/sign-in")
async def sign_in_here(
    request: Request, runtime: AppRuntime, login: Short, password: Password, next: Text = "/"
) -> Response:
    visit, previous = visit_of(request), request.cookies.get(COOKIE)
    try:
        signed_in = await sign_in(runtime, login=login, password=password, visit=visit, previous=previous)
    except Refused as refused:
        return fresh_page("sign_in.html", refused, next=_inside(next), login=login)
    response = RedirectResponse(_inside(next), status_code=303)
    give_cookies(request, response, signed_in)
    return response


@router.post("/sign-out")
async def sign_out_here(request: Request, runtime: AppRuntime) -> Response:
    token = request.cookies.get(COOKIE)
    if token:
        await sign_out(runtime, token)
    response = RedirectResponse("/sign-in", status_code=303)
    drop_cookie(response)
    return response


@router.get("/setup")
async def setup_page(runtime: AppRuntime, code: Code = "") -> Response:
    if not await needs_setup(runtime):
        return RedirectResponse("/sign-in", status_code=303)
    return _setup_form({"code": code, "name": "", "email": ""})


@router.post("/setup")
async def set_up_here(
    request: Request, runtime: AppRuntime, code: Short, name: Short, password: Password, email: Short = ""
) -> Response:
    visit = visit_of(request)
    try:
        signed_in = await set_up(runtime, code=code, name=name, email=email, password=password, visit=visit)
    except Refused as refused:
        return _setup_form({"code": code, "name": name, "email": email}, refused)
    return _entered(request, signed_in)


@router.get("/reset-password")
async def reset_password_page(code: Code = "") -> HTMLResponse:
    return _reset_form(code)


@router.post("/reset-password")
async def reset_password_here(request: Request, runtime: AppRuntime, code: Short, password: Password) -> Response:
    try:
        signed_in = await use_password_reset(runtime, code=code, password=password, visit=visit_of(request))
    except Refused as refused:
        return _reset_form(code, refused)
    return _entered(request, signed_in)


@router.get("/sign-up")
async def sign_up_page(code: Code = "", next: str = "/") -> HTMLResponse:
    return _sign_up_form({"code": code, "name": "", "email": ""}, next=next)


@router.post("/sign-up")
async def sign_up_here(
    request: Request,
    runtime: AppRuntime,
    code: Short,
    name: Short,
    password: Password,
    email: Short = "",
    next: Text = "/",
) -> Response:
    visit = visit_of(request)
    try:
        signed_in = await sign_up(runtime, code=code, name=name, email=email, password=password, visit=visit)
    except Refused as refused:
        return _sign_up_form({"code": code, "name": name, "email": email}, refused, next=next)
    return _entered(request, signed_in, _inside(next))


@router.get("/account")
async def account(caller: PageCaller) -> Response:
    return await _account(caller)


@router.post("/account")
async def change_account(caller: PageCaller, name: Short, email: Short = "") -> Response:
    return await _account_after(caller, update_profile(*caller, name=name, email=email), _("Saved."))


@router.post("/account/time_zone")
async def change_time_zone(caller: PageCaller, time_zone: Annotated[str, Form(max_length=LONGEST_ZONE)]) -> Response:
    await set_time_zone(*caller, time_zone)
    return Response(status_code=204)


@router.post("/account/language")
async def change_language(caller: PageCaller, language: Annotated[str, Form(max_length=16)] = "") -> Response:
    try:
        await set_language(*caller, language)
    except Refused as refused:
        return await _account(caller, refused)
    return RedirectResponse("/account", status_code=303)


@router.post("/account/password")
async def change_my_password(caller: PageCaller, new_password: Password, current_password: Password = "") -> Response:
    visit = visit_of(caller.request)
    try:
        signed_in = await change_password(*caller, current=current_password, new=new_password, visit=visit)
    except Refused as refused:
        return await _account(caller, refused)
    now = Viewer(user_id=caller.viewer.user_id, role=caller.viewer.role, via="session", session_id=signed_in.session.id)
    response = await _account(
        Caller(caller.runtime, now), notice=_("The password is set. All other sessions are signed out.")
    )
    give_cookies(caller.request, response, signed_in)
    return response


@router.post("/account/sessions/end-others")
async def end_other_sessions(caller: PageCaller) -> Response:
    ending = revoke_other_sessions(*caller)
    return await _account_after(caller, ending, _("All other sessions are signed out."))


@router.post("/account/sessions/{session_id}/end")
async def end_session(caller: PageCaller, session_id: UUID) -> Response:
    ending = revoke_session(*caller, session_id)
    if session_id != caller.viewer.session_id:
        return await _account_after(caller, ending, _("The session is signed out."))
    await ending
    response = RedirectResponse("/sign-in", status_code=303)
    drop_cookie(response)
    return response


@router.post("/account/keys")
async def make_key(caller: PageCaller, name: Short) -> Response:
    try:
        made = await create_api_key(*caller, name=name)
    except Refused as refused:
        return await _account(caller, refused)
    return await _account(caller, secret=made.key, secret_name=_("New API key"))


@router.post("/account/keys/{key_id}/revoke")
async def end_key(caller: PageCaller, key_id: UUID) -> Response:
    return await _account_after(caller, revoke_api_key(*caller, key_id), _("The API key is revoked."))


async def _account_after(caller: Caller, action: Awaitable[object], notice: str) -> Response:
    """The account page, behind something that was done or refused."""
    try:
        await action
    except Refused as refused:
        return await _account(caller, refused)
    return await _account(caller, notice=notice)


async def _account(
    caller: Caller, refused: Refused | None = None, *, notice: str = "", secret: str = "", secret_name: str = ""
) -> Response:
    require_person(caller.viewer)
    news = {"notice": notice, "secret": secret, "secret_name": secret_name}
    return fresh_page("account.html", refused, shortest=SHORTEST_PASSWORD, **news, **await account_context(*caller))


def _entered(request: Request, signed_in: SignedIn, next: str = "/") -> Response:
    """The first page, or the one they came from, for somebody who has just got a session."""
    response = RedirectResponse(next, status_code=303)
    give_cookies(request, response, signed_in)
    return response


def _setup_form(given: dict[str, str], refused: Refused | None = None) -> HTMLResponse:
    return fresh_page("setup.html", refused, given=given, shortest=SHORTEST_PASSWORD)


def _reset_form(code: str, refused: Refused | None = None) -> HTMLResponse:
    return fresh_page("reset_password.html", refused, code=code, shortest=SHORTEST_PASSWORD)


def _sign_up_form(given: dict[str, str], refused: Refused | None = None, *, next: str) -> HTMLResponse:
    return fresh_page("sign_up.html", refused, given=given, next=_inside(next), shortest=SHORTEST_PASSWORD)


def _inside(path: str) -> str:
    """A place on this server, where nobody is led elsewhere by a link that begins here."""
    is_inside = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable() and "\\" not in path
    return path if is_inside else "/"
