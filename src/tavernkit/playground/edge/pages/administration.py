"""The pages of administrators: health, users, invitations, storage, jobs, backups, usage and limits."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Form, Path, Query, Request, Response
from fastapi.responses import RedirectResponse

from tavernkit.playground.base.accounts.daily_limits import (
    DailyLimits,
    change_site_limits,
    change_user_limits,
)
from tavernkit.playground.base.accounts.invitations import create_invitation, revoke_invitation
from tavernkit.playground.base.accounts.password_resets import create_password_reset
from tavernkit.playground.base.accounts.users import change_user, sign_out_everywhere
from tavernkit.playground.base.accounts.viewer import Role, require_administrator
from tavernkit.playground.base.administration.backups import BackupPlan, begin_backup, change_plan, remove_backup
from tavernkit.playground.base.administration.restoring import stage_restore, unstage_restore
from tavernkit.playground.base.jobs.administration import JobStatus, cancel_any_job, repeat_job
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.api.administration import taken_backup
from tavernkit.playground.edge.api.usage import MOST_DAYS
from tavernkit.playground.edge.pages.usage import (
    MOST_PRICE_BYTES,
    read_prices,
    typed_dollars,
    typed_price,
    typed_tokens,
)
from tavernkit.playground.edge.presenting.administration import (
    LABELS,
    backup_view,
    backups_view,
    health_view,
    invitations_view,
    jobs_view,
    limits_view,
    storage_view,
    usage_view,
    user_view,
    users_view,
)
from tavernkit.playground.edge.web.forms import Text, fresh_page
from tavernkit.playground.edge.web.requests import PageCaller, replaced, streamed
from tavernkit.playground.edge.web.uploads import ONE_FILE, one_file
from tavernkit.playground.story.background import REPEATABLE
from tavernkit.playground.story.usage.prices import LONGEST_MODEL, remove_price, set_price, set_prices
from tavernkit.playground.story.usage.queries import UsageBy

router = APIRouter(prefix="/admin")

After = Annotated[str | None, Query(max_length=2000)]
Search = Annotated[str, Query(max_length=200)]
BackupName = Annotated[str, Path(max_length=100)]
Model = Annotated[str, Form(max_length=LONGEST_MODEL)]


@router.get("")
async def show_health(caller: PageCaller) -> Response:
    return _page("health", view=await health_view(*caller))


@router.get("/users")
async def show_users(caller: PageCaller, search: Search = "", after: After = None) -> Response:
    return _page("users", view=await users_view(*caller, search=search.strip(), after=after))


@router.get("/users/{user_id}")
async def show_user(caller: PageCaller, user_id: UUID) -> Response:
    return await _user(caller, user_id)


@router.post("/users/{user_id}/role")
async def set_role(caller: PageCaller, user_id: UUID, role: Annotated[Role, Form()]) -> Response:
    await change_user(*caller, user_id, role=role)
    return _to(f"users/{user_id}")


@router.post("/users/{user_id}/status")
async def set_status(
    caller: PageCaller, user_id: UUID, status: Annotated[Literal["active", "inactive"], Form()]
) -> Response:
    await change_user(*caller, user_id, status=status)
    return _to(f"users/{user_id}")


@router.post("/users/{user_id}/sign-out")
async def end_sessions(caller: PageCaller, user_id: UUID) -> Response:
    await sign_out_everywhere(*caller, user_id)
    return _to(f"users/{user_id}")


@router.post("/users/{user_id}/reset")
async def reset_password(caller: PageCaller, user_id: UUID) -> Response:
    """The code is shown on the answer, and nowhere else."""
    try:
        made = await create_password_reset(*caller, user_id)
    except Refused as refused:
        if refused.code != "conflict":
            raise
        return await _user(caller, user_id, refused)
    return await _user(caller, user_id, secret=made.code, link=_link(caller.request, "reset-password", made.code))


@router.post("/users/{user_id}/limits")
async def set_user_limits(caller: PageCaller, user_id: UUID, tokens: Text = "", cost: Text = "") -> Response:
    await change_user_limits(
        *caller, user_id, tokens=typed_tokens(tokens, _("Tokens per day")), cost=typed_dollars(cost)
    )
    return _to(f"users/{user_id}")


@router.get("/invitations")
async def show_invitations(caller: PageCaller, after: After = None) -> Response:
    return await _invitations(caller, after=after)


@router.post("/invitations")
async def invite(
    caller: PageCaller,
    note: Annotated[str, Form(max_length=500)] = "",
    role: Annotated[Role, Form()] = "member",
    max_uses: Annotated[int, Form()] = 1,
    days: Annotated[int, Form()] = 7,
) -> Response:
    """The code is shown on the answer, and nowhere else."""
    try:
        made = await create_invitation(*caller, role=role, note=note, max_uses=max_uses, days=days)
    except Refused as refused:
        if refused.code == "forbidden":
            raise
        return await _invitations(caller, refused)
    return await _invitations(caller, secret=made.code, link=_link(caller.request, "sign-up", made.code))


@router.post("/invitations/{invitation_id}/revoke")
async def end_invitation(caller: PageCaller, invitation_id: UUID) -> Response:
    await revoke_invitation(*caller, invitation_id)
    return _to("invitations")


@router.get("/storage")
async def show_storage(caller: PageCaller) -> Response:
    return _page("storage", view=await storage_view(*caller))


@router.get("/jobs")
async def show_jobs(caller: PageCaller, status: JobStatus | None = None, after: After = None) -> Response:
    return _page("jobs", view=await jobs_view(*caller, status=status, after=after))


@router.post("/jobs/{job_id}/cancel")
async def cancel_job(caller: PageCaller, job_id: UUID) -> Response:
    await cancel_any_job(*caller, job_id)
    return _to("jobs")


@router.post("/jobs/{job_id}/retry")
async def retry_job(caller: PageCaller, job_id: UUID) -> Response:
    await repeat_job(*caller, job_id, repeatable=REPEATABLE)
    return _to("jobs")


@router.get("/backups")
async def show_backups(caller: PageCaller) -> Response:
    return _page("backups", view=await backups_view(*caller))


@router.get("/backups/progress")
async def backup_progress(caller: PageCaller, after: Annotated[str, Query(max_length=100)] = "") -> Response:
    """A Turbo stream for the page of backups; nothing, if it shows all of this."""
    view = await backups_view(*caller)
    if view.state == after:
        return Response(status_code=204)
    response = streamed(replaced("import_head", "admin/_backups.html", view=view))
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/backups")
async def make_backup(caller: PageCaller) -> Response:
    await begin_backup(*caller)
    return _to("backups")


@router.post("/backups/plan")
async def set_plan(caller: PageCaller, every_hours: Annotated[int, Form()], keep: Annotated[int, Form()]) -> Response:
    await change_plan(*caller, BackupPlan(every_hours=every_hours, keep=keep))
    return _to("backups")


@router.post("/backups/upload")
async def upload_backup(caller: PageCaller) -> Response:
    taken = await taken_backup(caller.request, caller)
    return _to(f"backups/{taken.name}")


@router.post("/backups/keep-current")
async def keep_current(caller: PageCaller) -> Response:
    """Restore nothing at the next start."""
    await unstage_restore(*caller)
    return _to("backups")


@router.get("/backups/{backup}")
async def show_backup(caller: PageCaller, backup: BackupName) -> Response:
    return _page("backups", "backup", view=await backup_view(*caller, backup))


@router.post("/backups/{backup}/restore")
async def restore_backup(caller: PageCaller, backup: BackupName) -> Response:
    await stage_restore(*caller, backup)
    return _to("backups")


@router.post("/backups/{backup}/delete")
async def delete_backup(caller: PageCaller, backup: BackupName) -> Response:
    await remove_backup(*caller, backup)
    return _to("backups")


@router.get("/usage")
async def show_usage(
    caller: PageCaller, by: UsageBy = "user", days: Annotated[int, Query(ge=1, le=MOST_DAYS)] = 30
) -> Response:
    return _page("usage", view=await usage_view(*caller, by=by, days=days))


@router.post("/prices")
async def put_price(
    caller: PageCaller,
    model: Model,
    prompt_price: Text,
    completion_price: Text,
    cached_price: Text = "",
    cache_write_price: Text = "",
) -> Response:
    price = typed_price(model, prompt_price, completion_price, cached_price, cache_write_price)
    await set_price(*caller, price)
    return _to("usage#prices")


@router.post("/prices/remove")
async def delete_price(caller: PageCaller, model: Model) -> Response:
    await remove_price(*caller, model)
    return _to("usage#prices")


@router.post("/prices/import", openapi_extra=ONE_FILE)
async def import_prices(caller: PageCaller) -> Response:
    require_administrator(caller.viewer)
    await set_prices(*caller, read_prices(await one_file(caller.request, max_bytes=MOST_PRICE_BYTES)))
    return _to("usage#prices")


@router.get("/limits")
async def show_limits(caller: PageCaller) -> Response:
    return _page("limits", view=await limits_view(*caller))


@router.post("/limits")
async def set_limits(caller: PageCaller, tokens: Text = "", cost: Text = "") -> Response:
    await change_site_limits(
        *caller, DailyLimits(tokens=typed_tokens(tokens, _("Tokens per day")) or 0, cost=typed_dollars(cost) or 0)
    )
    return _to("limits")


def _page(tab: str, template: str = "", refused: Refused | None = None, /, **context: object) -> Response:
    return fresh_page(f"admin/{template or tab}.html", refused, tab=tab, **LABELS, **context)


def _to(place: str) -> Response:
    return RedirectResponse(f"/admin/{place}", status_code=303)


async def _user(
    caller: PageCaller, user_id: UUID, refused: Refused | None = None, *, secret: str = "", link: str = ""
) -> Response:
    return _page("users", "user", refused, view=await user_view(*caller, user_id), secret=secret, link=link)


async def _invitations(
    caller: PageCaller, refused: Refused | None = None, *, after: str | None = None, secret: str = "", link: str = ""
) -> Response:
    view = await invitations_view(*caller, after=after)
    return _page("invitations", "", refused, view=view, secret=secret, link=link)


def _link(request: Request, page: str, code: str) -> str:
    return f"{request.base_url}{page}?code={code}"
