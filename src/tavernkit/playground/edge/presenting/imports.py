"""From rows to what the pages of imports show: the scan, the progress and the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal
from urllib.parse import urlencode
from uuid import UUID

from msgspec import convert
from sqlalchemy import ColumnElement, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from tavernkit.migration.files import FileKind
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    FolderImport,
    ImportItem,
    ImportSource,
    Lorebook,
    Persona,
    Preset,
    QuickReplySet,
    Space,
)
from tavernkit.playground.base.jobs.queries import find_job
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext, stored_sentence
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.paging import behind_number, behind_time, cursor
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.panel import ChoiceView
from tavernkit.playground.story.migration.choices import ImportChoices
from tavernkit.playground.story.migration.items import TargetKind, Verdict
from tavernkit.playground.story.migration.labels import (
    APPLICATIONS,
    BECOMES,
    KINDS,
    NEVER_IMPORTED,
    STATES,
    VERDICTS,
)
from tavernkit.playground.story.migration.passwords import LOCKED, PasswordState, password_state
from tavernkit.playground.story.migration.queries import (
    ItemFilter,
    ItemTotal,
    State,
    import_of,
    imports_page,
    item_totals,
    items_page,
    origins_of,
)
from tavernkit.playground.story.migration.report import TITLE, notes_of
from tavernkit.playground.story.migration.steps import RECEIVED, SCANNED
from tavernkit.playground.story.migration.steps import VERDICTS as COUNTED
from tavernkit.values import Value

ITEMS = 50
IMPORTS = 20
BROKEN_SHOWN = 50
MILLION = 1_000_000
WORKING = ("scanning", "importing")
REPORTING = ("importing", "paused", "done", "failed", "discarded")

CONFLICTS: Mapping[str, str] = {
    "both": _("Keep both"),
    "keep": _("Keep what is here"),
    "replace": _("Replace with the file"),
}
STATUSES: Mapping[str, str] = {
    "receiving": _("Upload not complete"),
    "scanning": _("Scanning"),
    "scanned": _("Ready to import"),
    "importing": _("Importing"),
    "paused": _("Paused"),
    "done": _("Done"),
    "failed": _("Failed"),
    "discarded": _("Discarded"),
}
ADDRESSES: Mapping[str, str] = {
    "character": "/characters/",
    "lorebook": "/lorebooks/",
    "preset": "/presets/",
    "persona": "/personas/",
    "quick_replies": "/quick-replies/",
    "space": "/spaces/",
    "conversation": "/conversations/",
}
NAMES: Mapping[str, tuple[InstrumentedAttribute[UUID], InstrumentedAttribute[str], ColumnElement[bool]]] = {
    "character": (Character.id, Character.name, Character.status == "ready"),
    "lorebook": (Lorebook.id, Lorebook.name, Lorebook.status == "ready"),
    "preset": (Preset.id, Preset.name, Preset.trashed_at.is_(None)),
    "persona": (Persona.id, Persona.name, Persona.trashed_at.is_(None)),
    "quick_replies": (QuickReplySet.id, QuickReplySet.name, QuickReplySet.trashed_at.is_(None)),
    "space": (Space.id, Space.name, Space.status != "deleting"),
    "conversation": (Conversation.id, Conversation.title, Conversation.status != "deleting"),
}
"""Of each kind of target, its id, its name, and whether it is there for its owner."""


class ItemsQuery(Value, frozen=True, kw_only=True):
    """Which files of an import are listed; what is empty is not asked for."""

    kind: FileKind | Literal[""] = ""
    state: State | Literal[""] = ""
    verdict: Verdict | Literal[""] = ""
    search: str = ""

    def filter(self) -> ItemFilter:
        return ItemFilter(
            kinds=(self.kind,) if self.kind else (),
            states=(self.state,) if self.state else (),
            verdicts=(self.verdict,) if self.verdict else (),
            text=self.search,
        )


class ImportKindView(Value, frozen=True, kw_only=True):
    """The files of one kind: how many, and how they compare with what is here."""

    kind: str
    label: str
    becomes: str
    count: int
    size: str
    states: Mapping[str, int]
    verdicts: Mapping[str, int]
    can_be_chosen: bool
    is_chosen: bool


class ItemView(Value, frozen=True, kw_only=True):
    """A file of an import. `choices` is empty where there is nothing to choose; `address` is what it became.
    `password` is whether one is needed or given, and `problem` what is wrong with it."""

    import_id: UUID
    position: int
    path: str
    title: str
    kind: str
    size: str
    verdict: str
    label: str
    notes: tuple[str, ...]
    name: str
    address: str
    choices: tuple[ChoiceView, ...]
    password: PasswordState | None
    problem: str = ""


class ItemsView(Value, frozen=True, kw_only=True):
    """A page of the files, and where the next one is."""

    import_id: UUID
    query: ItemsQuery
    kinds: Mapping[str, str]
    labels: Mapping[str, str]
    is_report: bool
    items: tuple[ItemView, ...]
    more: str


class ImportHead(Value, frozen=True, kw_only=True):
    """How far an import is: `done` of `total` steps of the scan, or files of the import. `counts` are of verdicts."""

    row: FolderImport
    sentence: str
    is_working: bool
    is_scanned: bool
    done: int
    total: int
    counts: tuple[str, ...]


class MigrationView(ImportHead, frozen=True, kw_only=True):
    """An import as its page shows it."""

    application: str
    kinds: tuple[ImportKindView, ...]
    totals: ImportKindView
    choices: ImportChoices
    secrets: Sequence[str]
    locked: Sequence[str]
    broken: Sequence[str]
    further_broken: int


class ImportLine(Value, frozen=True, kw_only=True):
    """An import in the list. `arrived` is what was sent of one whose upload is not complete."""

    id: UUID
    name: str
    status: str
    is_receiving: bool
    arrived: str
    created_at: datetime


class ImportsView(Value, frozen=True, kw_only=True):
    """The imports so far, newest first."""

    imports: tuple[ImportLine, ...]
    more: str
    problem: str = ""


class OriginView(Value, frozen=True, kw_only=True):
    """Where something was imported from; `address` is the report, or empty where that is gone."""

    source: str
    path: str
    address: str


async def imports_view(runtime: Runtime, viewer: Viewer, *, after: str | None = None, problem: str = "") -> ImportsView:
    """The person's imports."""
    async with runtime.database.read() as session:
        rows = await imports_page(session, viewer, behind_time(after), IMPORTS + 1)
    shown = rows[:IMPORTS]
    return ImportsView(
        imports=tuple(
            ImportLine(
                id=row.id,
                name=row.name,
                status=STATUSES[row.status],
                is_receiving=row.status == "receiving",
                arrived=_arrived(row),
                created_at=row.created_at,
            )
            for row in shown
        ),
        more=cursor(shown[-1].created_at.isoformat(), str(shown[-1].id)) if len(rows) > IMPORTS else "",
        problem=problem,
    )


async def import_head(runtime: Runtime, viewer: Viewer, import_id: UUID) -> ImportHead:
    """How far an import is; read again and again, so nothing is counted."""
    async with runtime.database.read() as session:
        row = await import_of(session, viewer, import_id)
        job = None if row.job_id is None else await find_job(session, row.job_id, viewer)
    verdicts = row.summary.get(COUNTED, {}) if row.status == "importing" else {}
    return ImportHead(
        row=row,
        sentence=_sentence(row),
        is_working=row.status in WORKING,
        is_scanned=SCANNED in row.summary,
        done=0 if job is None else job.done,
        total=0 if job is None else job.total,
        counts=tuple(_counted(VERDICTS[name], verdicts[name]) for name in VERDICTS if verdicts.get(name)),
    )


async def import_view(runtime: Runtime, viewer: Viewer, import_id: UUID) -> MigrationView:
    """How an import stands, and what was found."""
    head = await import_head(runtime, viewer, import_id)
    row = head.row
    async with runtime.database.read() as session:
        totals = await item_totals(session, row.id)
        source = None if row.source_id is None else await session.get(ImportSource, row.source_id)
    choices = convert(row.choices, ImportChoices)
    kinds = tuple(
        _kind_view(kind, [line for line in totals if line[0] == kind], choices)
        for kind in KINDS
        if any(line[0] == kind for line in totals)
    )
    broken = row.summary.get("broken_links", [])
    return MigrationView(
        **{name: getattr(head, name) for name in head.__struct_fields__},
        application="" if source is None else APPLICATIONS[source.application],
        kinds=kinds,
        totals=_kind_view("kept", totals, choices),
        choices=choices,
        secrets=row.summary.get("secrets", []),
        locked=row.summary.get(LOCKED, []),
        broken=broken[:BROKEN_SHOWN],
        further_broken=max(0, row.summary.get("broken_links_count", 0) - BROKEN_SHOWN),
    )


async def items_view(
    runtime: Runtime, viewer: Viewer, import_id: UUID, query: ItemsQuery, *, after: str | None = None
) -> ItemsView:
    """Some files of an import: before it begins with a choice for each, afterwards with what became of them."""
    async with runtime.database.read() as session:
        row = await import_of(session, viewer, import_id)
        rows = await items_page(session, row.id, query.filter(), behind_number(after), ITEMS + 1)
        names = await _names(session, rows)
        kinds = {line[0] for line in await item_totals(session, row.id)}
    is_report, shown = row.status in REPORTING, rows[:ITEMS]
    return ItemsView(
        import_id=row.id,
        query=query,
        kinds={kind: label for kind, label in KINDS.items() if kind in kinds},
        labels=VERDICTS if is_report else STATES,
        is_report=is_report,
        items=tuple(_item_view(item, names, can_choose=row.status == "scanned") for item in shown),
        more=_address(row.id, query, after=cursor(shown[-1].position)) if len(rows) > ITEMS else "",
    )


async def item_view(runtime: Runtime, item: ImportItem, *, problem: str = "") -> ItemView:
    """A file that somebody has chosen something for; `problem` is why that was refused."""
    async with runtime.database.read() as session:
        return _item_view(item, await _names(session, [item]), can_choose=True).with_(problem=problem)


async def origins_view(
    runtime: Runtime, viewer: Viewer, target_kind: TargetKind, target_id: UUID
) -> tuple[OriginView, ...]:
    """Where something was imported from, for the page that shows it."""
    async with runtime.database.read() as session:
        found = await origins_of(session, viewer, target_kind, target_id)
    return tuple(
        OriginView(
            source=source.name,
            path=file.path,
            address=f"/import/{file.import_id}?{urlencode({'search': file.path})}#items" if file.import_id else "",
        )
        for file, source in found
    )


def _counted(label: str, count: int) -> str:
    return _("{label}: {count}", label=label, count=count)


def size_in_words(size: int) -> str:
    """Bytes as people read them."""
    if size < MILLION:
        return _("{size} kB", size=-(-size // 1000))
    if size < 1000 * MILLION:
        return _("{size} MB", size=round(size / MILLION, 1))
    return _("{size} GB", size=round(size / MILLION / 1000, 1))


def _arrived(row: FolderImport) -> str:
    received = row.summary.get(RECEIVED, {})
    return ngettext(
        "{count} file ({size}) has arrived.",
        "{count} files ({size}) have arrived.",
        received.get("files", 0),
        size=size_in_words(received.get("bytes", 0)),
    )


def _kind_view(kind: str, totals: Sequence[ItemTotal], choices: ImportChoices) -> ImportKindView:
    states, verdicts = Counter[str](), Counter[str]()
    for _kind, state, verdict, count, _size in totals:
        states[state] += count
        if verdict is not None:
            verdicts[verdict] += count
    return ImportKindView(
        kind=kind,
        label=KINDS[kind],
        becomes=BECOMES[kind],
        count=states.total(),
        size=size_in_words(sum(line[4] for line in totals)),
        states=states,
        verdicts=verdicts,
        can_be_chosen=kind not in NEVER_IMPORTED,
        is_chosen=choices.kinds is None or kind in choices.kinds,
    )


def _item_view(item: ImportItem, names: Mapping[UUID, str], *, can_choose: bool) -> ItemView:
    name = "" if item.target_id is None else names.get(item.target_id, "")
    address = ADDRESSES.get(item.target_kind or "") if name else None
    return ItemView(
        import_id=item.import_id,
        position=item.position,
        path=item.path,
        title=item.plan.get(TITLE, ""),
        kind=KINDS[item.kind],
        size=size_in_words(item.size),
        verdict=item.verdict or "",
        label=STATES[item.state] if item.verdict is None else VERDICTS[item.verdict],
        notes=notes_of(item),
        name=shown_name(name) if address else "",
        address=f"{address}{item.target_id}" if address else "",
        choices=_choices(item) if can_choose else (),
        password=password_state(item.plan) if can_choose and item.state in ("new", "changed") else None,
    )


def _choices(item: ImportItem) -> tuple[ChoiceView, ...]:
    """What can be decided about a file alone."""
    if item.kind in NEVER_IMPORTED or item.state in ("same", "refused"):
        return ()
    offered: dict[str, str] = {"": _("Import"), "skip": _("Skip")}
    if item.state == "changed":
        offered = {"": _("As chosen above"), "skip": _("Skip"), **CONFLICTS}
    return tuple(
        ChoiceView(value=value, label=label, is_chosen=value == (item.choice or "")) for value, label in offered.items()
    )


async def _names(session: AsyncSession, items: Sequence[ImportItem]) -> Mapping[UUID, str]:
    """What those are called that the files became, as far as they are still there."""
    found: dict[UUID, str] = {}
    for kind, (id_column, name_column, is_here) in NAMES.items():
        ids = {item.target_id for item in items if item.target_kind == kind and item.target_id is not None}
        if ids:
            rows = await session.execute(select(id_column, name_column).where(id_column.in_(ids), is_here))
            found.update((id, name) for id, name in rows)
    return found


def _address(import_id: UUID, query: ItemsQuery, *, after: str) -> str:
    asked = {**{name: getattr(query, name) for name in query.__struct_fields__}, "after": after}
    return f"/import/{import_id}?{urlencode({name: value for name, value in asked.items() if value})}"


def _sentence(row: FolderImport) -> str:
    """How it stands, and what to do."""
    match row.status:
        case "receiving":
            return _("The upload is not complete. {arrived}", arrived=_arrived(row))
        case "scanning":
            return _("Nothing is imported yet. You can leave this page; the scan continues.")
        case "scanned":
            return _("Nothing is imported yet. Check what was found, then select Import.")
        case "importing":
            return _("You can leave this page. The import continues.")
        case "paused":
            return _("The import is paused. What was imported is kept.")
        case "failed":
            return stored_sentence(row.error) if row.error else _("The import failed. What was imported is kept.")
        case "discarded":
            return _("The import was discarded. What was imported before is kept.")
        case _:
            return _("The import is complete.")
