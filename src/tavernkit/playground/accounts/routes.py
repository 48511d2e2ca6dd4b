"""The pages about accounts: signing in, signing up, and one's own account. All of them work without scripts."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from tavernkit.playground.accounts.api_keys import create_api_key, revoke_api_key
from tavernkit.playground.accounts.cookies import drop_cookie, give_cookies
from tavernkit.playground.accounts.invitations import create_invitation, revoke_invitation
from tavernkit.playground.accounts.names import LONGEST_EMAIL, LONGEST_NAME
from tavernkit.playground.accounts.passwords import LONGEST_PASSWORD, SHORTEST_PASSWORD
from tavernkit.playground.accounts.profile import change_password, update_profile
from tavernkit.playground.accounts.proof import COOKIE, visit_of
from tavernkit.playground.accounts.sessions import revoke_other_sessions, revoke_session, sign_out
from tavernkit.playground.accounts.signing_in import sign_in
from tavernkit.playground.accounts.signing_up import sign_up
from tavernkit.playground.accounts.time_zones import LONGEST_ZONE, set_time_zone
from tavernkit.playground.accounts.tries import TooManyTries
from tavernkit.playground.accounts.viewer import Role, Viewer, person
from tavernkit.playground.accounts.views import account_view
from tavernkit.playground.outcome import Refused
from tavernkit.playground.runtime import Runtime
from tavernkit.playground.web.rendering import render
from tavernkit.playground.web.requests import Looking, Played, refusal

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

Short = Annotated[str, Form(max_length=max(LONGEST_EMAIL, LONGEST_NAME))]
Password = Annotated[str, Form(max_length=LONGEST_PASSWORD)]
# A page that shows who one is, or what must not be seen twice, is nothing for a cache.
_UNCACHED = {"Cache-Control": "no-store"}


@router.get("/sign-in")
async def sign_in_page(next: str = "/") -> HTMLResponse:
    return _page("sign_in.html", next=_inside(next), login="", error="")


@router.post("/sign-in")
async def sign_in_here(
    request: Request, runtime: Played, login: Short, password: Password, next: Annotated[str, Form()] = "/"
) -> Response:
    outcome = await sign_in(
        runtime, login=login, password=password, visit=visit_of(request), previous=request.cookies.get(COOKIE)
    )
    if isinstance(outcome, Refused):
        return _page("sign_in.html", outcome, next=_inside(next), login=login, error=outcome.sentence)
    response = RedirectResponse(_inside(next), status_code=303)
    give_cookies(request, response, outcome)
    return response


@router.post("/sign-out")
async def sign_out_here(request: Request, runtime: Played) -> Response:
    token = request.cookies.get(COOKIE)
    if token:
        await sign_out(runtime, token)
    response = RedirectResponse("/sign-in", status_code=303)
    drop_cookie(response)
    return response


@router.get("/sign-up")
async def sign_up_page() -> HTMLResponse:
    return _sign_up_form({"code": "", "name": "", "email": ""})


@router.post("/sign-up")
async def sign_up_here(
    request: Request,
    runtime: Played,
    code: Short,
    name: Short,
    password: Password,
    email: Short = "",
) -> Response:
    visit = visit_of(request)
    outcome = await sign_up(runtime, code=code, name=name, email=email, password=password, visit=visit)
    if isinstance(outcome, Refused):
        return _sign_up_form({"code": code, "name": name, "email": email}, outcome)
    response = RedirectResponse("/", status_code=303)
    give_cookies(request, response, outcome)
    return response


@router.get("/account")
async def account(request: Request, runtime: Played, viewer: Looking) -> Response:
    return await _account(request, runtime, viewer)


@router.post("/account")
async def change_account(
    request: Request, runtime: Played, viewer: Looking, name: Short, email: Short = ""
) -> Response:
    outcome = await update_profile(runtime, viewer, name=name, email=email)
    return await _account(request, runtime, viewer, outcome, notice="Saved.")


@router.post("/account/time_zone")
async def change_time_zone(
    request: Request,
    runtime: Played,
    viewer: Looking,
    time_zone: Annotated[str, Form(max_length=LONGEST_ZONE)],
) -> Response:
    outcome = await set_time_zone(runtime, viewer, time_zone)
    return Response(status_code=204) if outcome is None else refusal(request, outcome)


@router.post("/account/password")
async def change_my_password(
    request: Request, runtime: Played, viewer: Looking, new_password: Password, current_password: Password = ""
) -> Response:
    visit = visit_of(request)
    outcome = await change_password(runtime, viewer, current=current_password, new=new_password, visit=visit)
    if isinstance(outcome, Refused):
        return await _account(request, runtime, viewer, outcome)
    signed_in = Viewer(user_id=viewer.user_id, role=viewer.role, via="session", session_id=outcome.session.id)
    response = await _account(request, runtime, signed_in, notice="The password is set. Other browsers are signed out.")
    give_cookies(request, response, outcome)
    return response


@router.post("/account/sessions/end-others")
async def end_other_sessions(request: Request, runtime: Played, viewer: Looking) -> Response:
    outcome = await revoke_other_sessions(runtime, viewer)
    return await _account(request, runtime, viewer, outcome, notice="All other browsers are signed out.")


@router.post("/account/sessions/{session_id}/end")
async def end_session(request: Request, runtime: Played, viewer: Looking, session_id: UUID) -> Response:
    outcome = await revoke_session(runtime, viewer, session_id)
    if not isinstance(outcome, Refused) and session_id == viewer.session_id:
        response = RedirectResponse("/sign-in", status_code=303)
        drop_cookie(response)
        return response
    return await _account(request, runtime, viewer, outcome, notice="That browser is signed out.")


@router.post("/account/keys")
async def make_key(request: Request, runtime: Played, viewer: Looking, name: Short) -> Response:
    outcome = await create_api_key(runtime, viewer, name=name)
    if isinstance(outcome, Refused):
        return await _account(request, runtime, viewer, outcome)
    return await _account(request, runtime, viewer, secret=outcome.key, secret_name="Your new key")


@router.post("/account/keys/{key_id}/revoke")
async def end_key(request: Request, runtime: Played, viewer: Looking, key_id: UUID) -> Response:
    outcome = await revoke_api_key(runtime, viewer, key_id)
    return await _account(request, runtime, viewer, outcome, notice="The key is revoked.")


@router.post("/account/invitations")
async def invite(
    request: Request,
    runtime: Played,
    viewer: Looking,
    note: Annotated[str, Form(max_length=500)] = "",
    role: Annotated[Role, Form()] = "member",
    max_uses: Annotated[int, Form()] = 1,
    days: Annotated[int, Form()] = 7,
) -> Response:
    outcome = await create_invitation(runtime, viewer, role=role, note=note, max_uses=max_uses, days=days)
    if isinstance(outcome, Refused):
        return await _account(request, runtime, viewer, outcome)
    return await _account(request, runtime, viewer, secret=outcome.code, secret_name="The invitation code")


@router.post("/account/invitations/{invitation_id}/revoke")
async def end_invitation(request: Request, runtime: Played, viewer: Looking, invitation_id: UUID) -> Response:
    outcome = await revoke_invitation(runtime, viewer, invitation_id)
    return await _account(request, runtime, viewer, outcome, notice="The invitation is taken back.")


async def _account(
    request: Request,
    runtime: Runtime,
    viewer: Viewer,
    outcome: object = None,
    *,
    notice: str = "",
    secret: str = "",
    secret_name: str = "",
) -> Response:
    """The account page, with what became of what was asked for."""
    refused = outcome if isinstance(outcome, Refused) else None
    view = person(viewer) or await account_view(runtime, viewer)
    if isinstance(view, Refused):
        return refusal(request, view)
    view = view.with_(
        notice="" if refused else notice,
        error=refused.sentence if refused else "",
        secret=secret,
        secret_name=secret_name,
    )
    return _page("account.html", refused, view=view, shortest=SHORTEST_PASSWORD)


def _sign_up_form(given: dict[str, str], refused: Refused | None = None) -> HTMLResponse:
    error = refused.sentence if refused else ""
    return _page("sign_up.html", refused, given=given, error=error, shortest=SHORTEST_PASSWORD)


def _page(template: str, refused: Refused | None = None, **context: object) -> HTMLResponse:
    headers = dict(_UNCACHED)
    if isinstance(refused, TooManyTries):
        headers["Retry-After"] = str(refused.retry_after)
    return HTMLResponse(str(render(template, **context)), refused.status if refused else 200, headers)


def _inside(path: str) -> str:
    """A place on this server, where nobody is led elsewhere by a link that begins here."""
    is_inside = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable() and "\\" not in path
    return path if is_inside else "/"
