"""From rows to what the pages of exports show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal
from uuid import UUID

from tavernkit.migration.files import Application, FileKind
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Job
from tavernkit.playground.base.jobs.queries import jobs_of
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import stored_sentence
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.api.exports import export_job
from tavernkit.playground.edge.presenting.export_picker import (
    MAX_PICKED,
    PICKED_KINDS,
    ExportPicker,
    PickedKind,
    export_picker,
)
from tavernkit.playground.edge.presenting.imports import size_in_words
from tavernkit.playground.story.migration.export_report import ExportChoices
from tavernkit.playground.story.migration.exporting import EXPORT_KIND, FinishedExport, finished_export
from tavernkit.playground.story.migration.labels import APPLICATIONS, KINDS
from tavernkit.values import Value

RECENT_JOBS = 50
"""So many of the person's last jobs are looked through for exports."""

EXPORTED = ("character", "chat", "group", "world", "preset", "quick_replies", "settings", "background", "kept")
"""What can be chosen; what is of no use without another kind comes with it."""


class ExportQuery(Value, frozen=True, kw_only=True):
    """What the form says so far: `kinds` and `items` count where `what` says so. `listed` is the kind of things to
    choose from, `search` and `after` are about these."""

    application: Application = "sillytavern"
    what: Literal["all", "some", "items"] = "all"
    kinds: Sequence[FileKind] = ()
    items: Mapping[PickedKind, Sequence[UUID]] = {}
    listed: PickedKind = "character"
    search: str = ""
    after: str | None = None

    def choices(self) -> ExportChoices:
        """What is to be exported, if something is chosen."""
        chosen = sum(map(len, self.items.values()))
        if self.what == "some" and not self.kinds:
            raise Refused("invalid", _("Choose at least one kind."))
        if self.what == "items" and not chosen:
            raise Refused("invalid", _("Choose at least one item."))
        if self.what == "items" and chosen > MAX_PICKED:
            sentence = _("Choose at most {limit} items. To export more, choose kinds.", limit=MAX_PICKED)
            raise Refused("invalid", sentence)
        ids = {f"{kind}_ids": tuple(self.items.get(kind, ())) for kind in PICKED_KINDS} if self.what == "items" else {}
        only = tuple(self.kinds) if self.what == "some" else None
        return ExportChoices(application=self.application, only=only, **ids)


class ExportsView(Value, frozen=True, kw_only=True):
    """What can be exported, and the exports of late."""

    applications: Mapping[str, str]
    kinds: Mapping[str, str]
    query: ExportQuery
    picker: ExportPicker
    exports: tuple[ExportView, ...]
    problem: str = ""


class ExportView(Value, frozen=True, kw_only=True):
    """An export. `finished` is what can be downloaded, for a day; `size` is that of the archive."""

    job: Job
    application: str
    sentence: str
    is_over: bool
    finished: FinishedExport | None = None
    size: str = ""


async def exports_view(runtime: Runtime, viewer: Viewer, query: ExportQuery, *, problem: str = "") -> ExportsView:
    """The page on which an export is begun."""
    async with runtime.database.read() as session:
        jobs = await jobs_of(session, viewer, after=None, limit=RECENT_JOBS)
        picker = await export_picker(
            session, viewer, chosen=query.items, kind=query.listed, search=query.search, after=query.after
        )
    return ExportsView(
        applications=APPLICATIONS,
        kinds={kind: KINDS[kind] for kind in EXPORTED},
        query=query,
        picker=picker,
        exports=tuple(_view(job, None) for job in jobs if job.kind == EXPORT_KIND),
        problem=problem,
    )


async def export_view(runtime: Runtime, viewer: Viewer, job_id: UUID) -> ExportView:
    """How far an export is, or what came of it."""
    async with runtime.database.read() as session:
        job = await export_job(session, viewer, job_id)
    try:
        finished = await finished_export(runtime, viewer, job_id) if job.status == "succeeded" else None
    except Refused:
        finished = None
    return _view(job, finished)


def _view(job: Job, finished: FinishedExport | None) -> ExportView:
    return ExportView(
        job=job,
        application=APPLICATIONS[job.payload["choices"]["application"]],
        sentence=_sentence(job, finished),
        is_over=job.status not in ("queued", "running"),
        finished=finished,
        size="" if finished is None else size_in_words(finished.size),
    )


def _sentence(job: Job, finished: FinishedExport | None) -> str:
    match job.status:
        case "succeeded" if finished is None:
            return _("The archive was removed after a day. Export again.")
        case "succeeded":
            return _("The export is complete. The archive is kept for a day.")
        case "canceled":
            return _("The export was stopped.")
        case "failed":
            return stored_sentence(job.error) if job.error else _("The export failed.")
        case _:
            return _("You can leave this page. The export continues.")
