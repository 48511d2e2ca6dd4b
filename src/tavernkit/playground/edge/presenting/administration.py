"""From rows to what the pages of administrators show."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import func, select

from tavernkit.playground.base.accounts.daily_limits import DailyLimits, limits_of, site_limits
from tavernkit.playground.base.accounts.queries import Listed, list_invitations, list_users
from tavernkit.playground.base.accounts.viewer import Role, Viewer, require_administrator
from tavernkit.playground.base.administration.backups import (
    BACKUP_KIND,
    BackupOrigin,
    BackupPlan,
    LastBackup,
    StoredBackup,
    last_backup,
    list_backups,
    read_plan,
)
from tavernkit.playground.base.administration.restoring import (
    BackupContents,
    RestoreOutcome,
    StagedRestore,
    check_stored,
    restore_outcome,
    staged_restore,
)
from tavernkit.playground.base.administration.storage import StorageUse, storage_use
from tavernkit.playground.base.administration.workers import BusyWorker, busy_workers
from tavernkit.playground.base.database.migrate import SchemaState, check
from tavernkit.playground.base.database.models import Invitation, Job, ModelPrice, User, UserSession
from tavernkit.playground.base.jobs.administration import JobStatus, OwnedJob, all_jobs, count_jobs
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.paging import behind_time, cursor
from tavernkit.playground.base.refused import Refused, existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.health import Health, read_health
from tavernkit.playground.edge.presenting.imports import size_in_words
from tavernkit.playground.edge.presenting.usage import DAYS
from tavernkit.playground.edge.presenting.usage import LABELS as USAGE_LABELS
from tavernkit.playground.story.background import REPEATABLE
from tavernkit.playground.story.usage.prices import list_prices, unpriced_models
from tavernkit.playground.story.usage.queries import UsageBy, UsageLine, UsageTable, usage, used_today
from tavernkit.values import Value

SHOWN = 50
TABS: Mapping[str, str] = {
    "health": _("Health"), "users": _("Users"), "invitations": _("Invitations"), "storage": _("Storage"),
    "jobs": _("Jobs"), "backups": _("Backups"), "usage": _("Usage"), "limits": _("Limits"),
}  # fmt: skip
ROLES: Mapping[Role, str] = {"member": _("Member"), "moderator": _("Moderator"), "administrator": _("Administrator")}
STATUSES: Mapping[JobStatus, str] = {
    "queued": _("Waiting"), "running": _("Running"), "succeeded": _("Complete"), "failed": _("Failed"),
    "canceled": _("Stopped"),
}  # fmt: skip
JOB_KINDS: Mapping[str, str] = {
    "character_import": _("Import of characters"),
    "chat_import": _("Import of chats"),
    "purge": _("Emptying the trash"),
    "sweep": _("Sweep"),
    "copilot_candidates": _("Suggestions"),
    "pipeline_dry_run": _("Dry run of pipelines"),
    "pipeline_run": _("Run of pipelines"),
    "what_if": _("What if"),
    "folder_scan": _("Scan of a folder"),
    "folder_import": _("Import of a folder"),
    "folder_export": _("Export"),
    "remove_space": _("Removal of a space"),
    BACKUP_KIND: _("Backup"),
}
STORED_KINDS: Mapping[str, str] = {
    "texts": _("Messages"),
    "files": _("Pictures and files"),
    "kept_imports": _("Imported files"),
    "prompts": _("Prompts that were sent"),
    "characters": _("Characters and their versions"),
    "lorebooks": _("Entries of lorebooks"),
    "events": _("Events of pages"),
    "job_files": _("Files of jobs"),
}
FOLDERS: Mapping[str, str] = {"backups": _("Backups"), "imports": _("Uploads of imports"), "exports": _("Exports")}
ORIGINS: Mapping[BackupOrigin, str] = {
    "manual": _("Made by hand"),
    "scheduled": _("Scheduled"),
    "uploaded": _("Uploaded"),
    "before-restore": _("Before a restore"),
}
USAGE_HEADINGS: Sequence[UsageBy] = ("user", "space", "conversation", "character", "model", "kind", "day")


LABELS: Mapping[str, object] = {
    "tabs": TABS,
    "roles": ROLES,
    "statuses": STATUSES,
    "job_kinds": JOB_KINDS,
    "repeatable": REPEATABLE,
    **USAGE_LABELS,
    "choices": USAGE_HEADINGS,
    "periods": DAYS,
}
"""What the templates call things."""


class UsersView(Value, frozen=True, kw_only=True):
    """Accounts, or those that a search finds."""

    users: list[User]
    search: str
    next: str | None
    is_first: bool


class UserView(Value, frozen=True, kw_only=True):
    """One account: what it has used today, and what it may use."""

    user: User
    sessions: int
    is_self: bool
    today: UsageLine
    limits: DailyLimits
    site: DailyLimits


class InvitationView(Value, frozen=True, kw_only=True):
    """An invitation; one that cannot be used any more says why."""

    row: Invitation
    is_open: bool
    state: str


class InvitationsView(Value, frozen=True, kw_only=True):
    """Invitations, newest first."""

    invitations: tuple[InvitationView, ...]
    next: str | None


class HealthView(Value, frozen=True, kw_only=True):
    """How the application stands."""

    health: Health
    database: str
    schema: SchemaState
    workers: list[BusyWorker]
    last: LastBackup | None


class StorageLine(Value, frozen=True, kw_only=True):
    """What something takes up, in words."""

    name: str
    count: int
    size: str


class StorageView(Value, frozen=True, kw_only=True):
    """What takes up room, in words."""

    use: StorageUse
    database: str
    kinds: tuple[StorageLine, ...]
    folders: tuple[StorageLine, ...]
    free: str
    total: str
    is_low: bool


class JobsView(Value, frozen=True, kw_only=True):
    """Jobs of everybody."""

    jobs: list[OwnedJob]
    status: JobStatus | None
    counts: dict[str, int]
    next: str | None


class BackupLine(Value, frozen=True, kw_only=True):
    """A backup, with its size in words."""

    backup: StoredBackup
    origin: str
    size: str


class BackupsView(Value, frozen=True, kw_only=True):
    """The backups of this server, the one that is being made, and what is restored."""

    backups: tuple[BackupLine, ...]
    plan: BackupPlan
    job: Job | None
    staged: StagedRestore | None
    outcome: RestoreOutcome | None

    @property
    def is_over(self) -> bool:
        return self.job is None or self.job.status not in ("queued", "running")

    @property
    def state(self) -> str:
        """Differs as soon as a page that shows this would look different."""
        job = self.job and (self.job.id, self.job.status, self.job.done, self.job.cancel_requested_at)
        shown = repr((job, [line.backup.name for line in self.backups]))
        return hashlib.sha256(shown.encode()).hexdigest()


class BackupView(Value, frozen=True, kw_only=True):
    """One backup that was read as a whole, or why it cannot be restored."""

    name: str
    contents: BackupContents | None
    problem: str


class UsageView(Value, frozen=True, kw_only=True):
    """What replies have used."""

    table: UsageTable
    by: UsageBy
    days: int
    prices: list[ModelPrice]
    unpriced: list[str]


class LimitsView(Value, frozen=True, kw_only=True):
    """The limits of the site, and the accounts that have their own."""

    site: DailyLimits
    users: list[User]


async def users_view(runtime: Runtime, viewer: Viewer, *, search: str = "", after: str | None = None) -> UsersView:
    """Accounts, newest first."""
    require_administrator(viewer)
    async with runtime.database.read() as session:
        listed = await list_users(session, search=search, limit=SHOWN, after=after)
    return UsersView(users=listed.items, search=search, next=listed.next, is_first=after is None)


async def user_view(runtime: Runtime, viewer: Viewer, user_id: UUID) -> UserView:
    """One account."""
    require_administrator(viewer)
    now = runtime.clock()
    async with runtime.database.read() as session:
        user = existing(await session.get(User, user_id), _("account"))
        is_open = (UserSession.revoked_at.is_(None), UserSession.expires_at > now)
        sessions = select(func.count()).select_from(UserSession).where(UserSession.user_id == user.id, *is_open)
        return UserView(
            user=user,
            sessions=await session.scalar(sessions) or 0,
            is_self=user.id == viewer.user_id,
            today=await used_today(session, user.id, now),
            limits=await limits_of(session, user.id),
            site=await site_limits(session),
        )


async def invitations_view(runtime: Runtime, viewer: Viewer, *, after: str | None = None) -> InvitationsView:
    """Invitations, also those that are over."""
    require_administrator(viewer)
    async with runtime.database.read() as session:
        listed: Listed[Invitation] = await list_invitations(session, limit=SHOWN, after=after)
    now = runtime.clock()
    return InvitationsView(invitations=tuple(_invitation(row, now) for row in listed.items), next=listed.next)


def _invitation(row: Invitation, now: datetime) -> InvitationView:
    if row.revoked_at is not None:
        return InvitationView(row=row, is_open=False, state=_("Revoked"))
    if row.uses_count >= row.max_uses:
        return InvitationView(row=row, is_open=False, state=_("Used"))
    if row.expires_at is not None and row.expires_at <= now:
        return InvitationView(row=row, is_open=False, state=_("Expired"))
    return InvitationView(row=row, is_open=True, state=_("Valid"))


async def health_view(runtime: Runtime, viewer: Viewer) -> HealthView:
    """How the application stands."""
    require_administrator(viewer)
    schema = await check(runtime.settings.resolved_database_url)
    async with runtime.database.read() as session:
        workers, last = await busy_workers(session, runtime), await last_backup(session)
    return HealthView(
        health=await read_health(runtime),
        database="PostgreSQL" if runtime.database.is_postgresql else "SQLite",
        schema=schema,
        workers=workers,
        last=last,
    )


async def storage_view(runtime: Runtime, viewer: Viewer) -> StorageView:
    """What takes up room."""
    use = await storage_use(runtime, viewer)
    return StorageView(
        use=use,
        database=size_in_words(use.database),
        kinds=tuple(
            StorageLine(name=STORED_KINDS[kind.kind], count=kind.rows, size=size_in_words(kind.size))
            for kind in use.kinds
        ),
        folders=tuple(
            StorageLine(name=FOLDERS[one.folder], count=one.files, size=size_in_words(one.size)) for one in use.folders
        ),
        free=size_in_words(use.disk_free),
        total=size_in_words(use.disk_total),
        # A backup needs room beside the database.
        is_low=use.disk_free < 2 * use.database,
    )


async def jobs_view(
    runtime: Runtime, viewer: Viewer, *, status: JobStatus | None = None, after: str | None = None
) -> JobsView:
    """Jobs of everybody, newest first."""
    async with runtime.database.read() as session:
        jobs = await all_jobs(session, viewer, status=status, after=behind_time(after), limit=SHOWN + 1)
        counts = await count_jobs(session)
    last = jobs[SHOWN - 1].job if len(jobs) > SHOWN else None
    following = None if last is None else cursor(last.created_at.isoformat(), str(last.id))
    return JobsView(jobs=jobs[:SHOWN], status=status, counts=counts, next=following)


async def backups_view(runtime: Runtime, viewer: Viewer) -> BackupsView:
    """The backups of this server."""
    backups = await list_backups(runtime, viewer)
    async with runtime.database.read() as session:
        newest = select(Job).where(Job.kind == BACKUP_KIND).order_by(Job.created_at.desc(), Job.id.desc()).limit(1)
        job, plan = await session.scalar(newest), await read_plan(session)
    return BackupsView(
        backups=tuple(
            BackupLine(backup=one, origin=ORIGINS[one.origin], size=size_in_words(one.size)) for one in backups
        ),
        plan=plan,
        job=job,
        staged=await staged_restore(runtime.settings),
        outcome=await restore_outcome(runtime.settings),
    )


async def backup_view(runtime: Runtime, viewer: Viewer, name: str) -> BackupView:
    """One backup, after it was read as a whole."""
    try:
        contents = await check_stored(runtime, viewer, name)
    except Refused as refused:
        if refused.code != "invalid":
            raise
        return BackupView(name=name, contents=None, problem=refused.sentence)
    return BackupView(name=name, contents=contents, problem="")


async def usage_view(runtime: Runtime, viewer: Viewer, *, by: UsageBy, days: int) -> UsageView:
    """What replies have used."""
    async with runtime.database.read() as session:
        table = await usage(session, viewer, runtime.clock(), by=by, days=days)
        prices, unpriced = await list_prices(session), await unpriced_models(session)
    return UsageView(table=table, by=by, days=days, prices=prices, unpriced=unpriced)


async def limits_view(runtime: Runtime, viewer: Viewer) -> LimitsView:
    """What accounts may use in a day."""
    require_administrator(viewer)
    own = User.daily_tokens.is_not(None) | User.daily_cost.is_not(None)
    async with runtime.database.read() as session:
        users = await session.scalars(select(User).where(own).order_by(User.name, User.id).limit(SHOWN))
        return LimitsView(site=await site_limits(session), users=list(users))
