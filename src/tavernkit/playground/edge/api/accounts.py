"""Accounts over the API: oneself, sessions, keys, invitations, other people."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field, SecretStr

from tavernkit.playground.base.accounts.api_keys import LONGEST_KEY_NAME, create_api_key, revoke_api_key
from tavernkit.playground.base.accounts.appearance import (
    Appearance,
    AppearancePatch,
    appearance_in,
    change_appearance,
)
from tavernkit.playground.base.accounts.invitations import (
    LONGEST_NOTE,
    LONGEST_STAY,
    MOST_USES,
    create_invitation,
    revoke_invitation,
)
from tavernkit.playground.base.accounts.names import LONGEST_EMAIL, LONGEST_NAME
from tavernkit.playground.base.accounts.password_resets import create_password_reset, use_password_reset
from tavernkit.playground.base.accounts.profile import change_password, update_profile
from tavernkit.playground.base.accounts.queries import list_api_keys, list_invitations, list_sessions, list_users
from tavernkit.playground.base.accounts.sessions import revoke_other_sessions, revoke_session
from tavernkit.playground.base.accounts.shortcuts import ShortcutsPatch, bindings_of, change_shortcuts
from tavernkit.playground.base.accounts.signing_in import sign_in
from tavernkit.playground.base.accounts.signing_up import sign_up
from tavernkit.playground.base.accounts.users import change_user, sign_out_everywhere
from tavernkit.playground.base.accounts.viewer import Role, require_administrator, require_person
from tavernkit.playground.base.database.models import User
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.passwords import LONGEST_PASSWORD
from tavernkit.playground.base.refused import existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.schemas import Document, StrictModel
from tavernkit.playground.edge.api.requests import After, ApiCaller, Limit, Page, documented
from tavernkit.playground.edge.web.authentication import COOKIE, drop_cookie, give_cookies, visit_of
from tavernkit.playground.edge.web.requests import AppRuntime, Caller


class SignInIn(StrictModel):
    """A name or an e-mail address, and the password."""

    login: str = Field(max_length=LONGEST_EMAIL, description="The e-mail address or the name of the account.")
    password: SecretStr = Field(max_length=LONGEST_PASSWORD)


class SignUpIn(StrictModel):
    """A new account."""

    code: str = Field(max_length=100, description="The invitation.")
    name: str = Field(max_length=LONGEST_NAME)
    email: str | None = Field(default=None, max_length=LONGEST_EMAIL)
    password: SecretStr = Field(max_length=LONGEST_PASSWORD)


class MePatch(StrictModel):
    """What to change about oneself; what is left out stays."""

    name: str | None = Field(default=None, max_length=LONGEST_NAME)
    email: str | None = Field(default=None, max_length=LONGEST_EMAIL, description="An empty text takes it away.")


class PasswordIn(StrictModel):
    """A new password, and the present one, unless there is none."""

    current_password: SecretStr = Field(default=SecretStr(""), max_length=LONGEST_PASSWORD)
    new_password: SecretStr = Field(max_length=LONGEST_PASSWORD)


class ApiKeyIn(StrictModel):
    """A key to be made."""

    name: str = Field(max_length=LONGEST_KEY_NAME, description="What the key is for.")


class InvitationIn(StrictModel):
    """An invitation to be made."""

    role: Role = "member"
    note: str = Field(default="", max_length=LONGEST_NOTE, description="For whom it is; only administrators see it.")
    max_uses: int = Field(default=1, ge=1, le=MOST_USES, description="How many people can sign up with it.")
    days: int | None = Field(
        default=7, ge=1, le=LONGEST_STAY, description="How long it can be used; null is without end."
    )


class UserPatch(StrictModel):
    """What to change about somebody; what is left out stays."""

    role: Role | None = None
    status: Literal["active", "inactive"] | None = None


class PasswordResetIn(StrictModel):
    """A code of an administrator, and the new password."""

    code: str = Field(max_length=100)
    password: SecretStr = Field(max_length=LONGEST_PASSWORD)


class PasswordResetOut(Document):
    """A code that sets a new password."""

    code: str = Field(description="The code. It is shown here and never again.")
    expires_at: datetime


class UserOut(Document):
    """An account, as administrators see it."""

    id: UUID
    name: str
    email: str | None
    role: Role
    status: Literal["active", "inactive"]
    created_at: datetime


class MeOut(UserOut):
    """One's own account."""

    has_password: bool = Field(description="False as long as nobody needs to sign in on this machine.")
    via: Literal["local", "session", "api_key"] = Field(description="How this request has proved who asks.")
    prompt_tokens_total: int
    completion_tokens_total: int


class ShortcutsOut(BaseModel):
    """The keys of one's account."""

    keys: dict[str, str] = Field(description="The key of every shortcut by its id; an empty text is no key.")


class SessionOut(Document):
    """A browser that is signed in."""

    id: UUID
    address: str
    agent: str
    created_at: datetime
    last_active_at: datetime
    expires_at: datetime
    is_current: bool = False


class RevokedOut(BaseModel):
    """How many were ended."""

    revoked: int


class ApiKeyOut(Document):
    """A key, which can be recognised by its beginning."""

    id: UUID
    name: str
    prefix: str
    created_at: datetime
    last_used_at: datetime | None


class NewApiKeyOut(ApiKeyOut):
    """A key that was just made."""

    key: str = Field(description="The key itself. It is shown here and never again.")


class InvitationOut(Document):
    """An invitation, without its code."""

    id: UUID
    created_by_id: UUID
    role: Role
    note: str
    max_uses: int
    uses_count: int
    expires_at: datetime | None
    revoked_at: datetime | None
    created_at: datetime


class NewInvitationOut(InvitationOut):
    """An invitation that was just made."""

    code: str = Field(description="The code to sign up with. It is shown here and never again.")


router = APIRouter(tags=["accounts"])


@router.get("/me", responses=documented())
async def show_me(caller: ApiCaller) -> MeOut:
    """Who asks."""
    return await _me(caller)


@router.patch("/me", responses=documented(409))
async def change_me(caller: ApiCaller, body: MePatch) -> MeOut:
    """Change one's own name or address."""
    await update_profile(*caller, **dict(body))
    return await _me(caller)


@router.get("/me/appearance", responses=documented())
async def show_my_appearance(caller: ApiCaller) -> Appearance:
    """How pages look for one's account."""
    return appearance_in((await _user(caller.runtime, caller.viewer.user_id)).appearance)


@router.patch("/me/appearance", responses=documented(409))
async def change_my_appearance(caller: ApiCaller, body: AppearancePatch) -> Appearance:
    """Change how pages look for one's account, on every device."""
    return await change_appearance(*caller, body)


@router.get("/me/shortcuts", responses=documented())
async def show_my_shortcuts(caller: ApiCaller) -> ShortcutsOut:
    """The keys of all keyboard shortcuts."""
    return ShortcutsOut(keys=bindings_of((await _user(caller.runtime, caller.viewer.user_id)).shortcuts or {}))


@router.patch("/me/shortcuts", responses=documented(409))
async def change_my_shortcuts(caller: ApiCaller, body: ShortcutsPatch) -> ShortcutsOut:
    """Give keyboard shortcuts other keys. One key cannot do two things in one place."""
    return ShortcutsOut(keys=await change_shortcuts(*caller, body))


@router.post("/me/password", status_code=204, responses=documented(429))
async def change_my_password(request: Request, caller: ApiCaller, body: PasswordIn) -> Response:
    """Set a password. All sessions end; the answer's cookie is a new one."""
    current, new = body.current_password.get_secret_value(), body.new_password.get_secret_value()
    signed_in = await change_password(*caller, current=current, new=new, visit=visit_of(request))
    response = Response(status_code=204)
    give_cookies(request, response, signed_in)
    return response


@router.post("/sessions", status_code=201, responses=documented(429))
async def open_my_session(request: Request, response: Response, runtime: AppRuntime, body: SignInIn) -> SessionOut:
    """Sign in; the answer's cookie is what proves it from then on."""
    signed_in = await sign_in(
        runtime,
        login=body.login,
        password=body.password.get_secret_value(),
        visit=visit_of(request),
        previous=request.cookies.get(COOKIE),
    )
    give_cookies(request, response, signed_in)
    return SessionOut.of_row(signed_in.session, is_current=True)


@router.get("/sessions", responses=documented())
async def show_sessions(caller: ApiCaller, limit: Limit = 50, after: After = None) -> Page[SessionOut]:
    """Where one is signed in."""
    require_person(caller.viewer)
    listed = await caller.read(list_sessions, caller.runtime.clock(), limit=limit, after=after)
    items = [SessionOut.of_row(row, is_current=row.id == caller.viewer.session_id) for row in listed.items]
    return Page(items=items, next=listed.next)


@router.delete("/sessions", responses=documented())
async def end_other_sessions(caller: ApiCaller) -> RevokedOut:
    """Sign out everywhere else."""
    return RevokedOut(revoked=await revoke_other_sessions(*caller))


@router.delete("/sessions/{session_id}", status_code=204, responses=documented())
async def end_session(caller: ApiCaller, session_id: UUID) -> Response:
    """Sign out in one place."""
    row = await revoke_session(*caller, session_id)
    response = Response(status_code=204)
    if row.id == caller.viewer.session_id:
        drop_cookie(response)
    return response


@router.get("/api_keys", responses=documented())
async def show_api_keys(caller: ApiCaller, limit: Limit = 50, after: After = None) -> Page[ApiKeyOut]:
    """One's own keys."""
    require_person(caller.viewer)
    listed = await caller.read(list_api_keys, limit=limit, after=after)
    return Page(items=[ApiKeyOut.of_row(row) for row in listed.items], next=listed.next)


@router.post("/api_keys", status_code=201, responses=documented(409))
async def make_api_key(caller: ApiCaller, body: ApiKeyIn) -> NewApiKeyOut:
    """Make a key for a program."""
    made = await create_api_key(*caller, name=body.name)
    return NewApiKeyOut.of_row(made.row, key=made.key)


@router.delete("/api_keys/{key_id}", status_code=204, responses=documented())
async def end_api_key(caller: ApiCaller, key_id: UUID) -> None:
    """Make a key worthless."""
    await revoke_api_key(*caller, key_id)


@router.get("/invitations", responses=documented())
async def show_invitations(caller: ApiCaller, limit: Limit = 50, after: After = None) -> Page[InvitationOut]:
    """All invitations; for administrators."""
    require_administrator(caller.viewer)
    async with caller.runtime.database.read() as session:
        listed = await list_invitations(session, limit=limit, after=after)
    return Page(items=[InvitationOut.of_row(row) for row in listed.items], next=listed.next)


@router.post("/invitations", status_code=201, responses=documented(409))
async def make_invitation(caller: ApiCaller, body: InvitationIn) -> NewInvitationOut:
    """Invite somebody; for administrators."""
    made = await create_invitation(*caller, **dict(body))
    return NewInvitationOut.of_row(made.row, code=made.code)


@router.delete("/invitations/{invitation_id}", status_code=204, responses=documented())
async def end_invitation(caller: ApiCaller, invitation_id: UUID) -> None:
    """Take an invitation back; for administrators."""
    await revoke_invitation(*caller, invitation_id)


@router.post("/users", status_code=201, responses=documented(409, 429))
async def make_user(request: Request, response: Response, runtime: AppRuntime, body: SignUpIn) -> UserOut:
    """Sign up with an invitation; the answer's cookie is a session."""
    fields = {**dict(body), "password": body.password.get_secret_value()}
    signed_in = await sign_up(runtime, **fields, visit=visit_of(request))
    give_cookies(request, response, signed_in)
    return UserOut.of_row(await _user(runtime, signed_in.session.user_id))


@router.get("/users", responses=documented())
async def show_users(
    caller: ApiCaller,
    search: Annotated[str, Query(max_length=200, description="A part of the name or the e-mail address.")] = "",
    limit: Limit = 50,
    after: After = None,
) -> Page[UserOut]:
    """All accounts; for administrators."""
    require_administrator(caller.viewer)
    async with caller.runtime.database.read() as session:
        listed = await list_users(session, search=search, limit=limit, after=after)
    return Page(items=[UserOut.of_row(row) for row in listed.items], next=listed.next)


@router.get("/users/{user_id}", responses=documented())
async def show_user(caller: ApiCaller, user_id: UUID) -> UserOut:
    """An account; for administrators."""
    require_administrator(caller.viewer)
    return UserOut.of_row(await _user(caller.runtime, user_id))


@router.patch("/users/{user_id}", responses=documented(409))
async def change_one_user(caller: ApiCaller, user_id: UUID, body: UserPatch) -> UserOut:
    """Give somebody another role, or close or open their account; for administrators."""
    return UserOut.of_row(await change_user(*caller, user_id, **dict(body)))


@router.delete("/users/{user_id}/sessions", responses=documented())
async def end_sessions_of(caller: ApiCaller, user_id: UUID) -> RevokedOut:
    """Sign somebody out everywhere; for administrators."""
    return RevokedOut(revoked=await sign_out_everywhere(*caller, user_id))


@router.post("/users/{user_id}/password_reset", status_code=201, responses=documented(409))
async def make_password_reset(caller: ApiCaller, user_id: UUID) -> PasswordResetOut:
    """Make a code with which somebody sets a new password, once; for administrators."""
    return PasswordResetOut.of_row(await create_password_reset(*caller, user_id))


@router.post("/password_resets", status_code=201, responses=documented(429))
async def reset_my_password(
    request: Request, response: Response, runtime: AppRuntime, body: PasswordResetIn
) -> SessionOut:
    """Set a new password with a code of an administrator. All sessions end; the answer's cookie is a new one."""
    password = body.password.get_secret_value()
    signed_in = await use_password_reset(runtime, code=body.code, password=password, visit=visit_of(request))
    give_cookies(request, response, signed_in)
    return SessionOut.of_row(signed_in.session, is_current=True)


async def _me(caller: Caller) -> MeOut:
    user = await _user(caller.runtime, caller.viewer.user_id)
    return MeOut.of_row(user, has_password=user.password_hash is not None, via=caller.viewer.via)


async def _user(runtime: Runtime, user_id: UUID) -> User:
    async with runtime.database.read() as session:
        return existing(await session.get(User, user_id), _("account"))
