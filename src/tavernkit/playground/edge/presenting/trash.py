"""From rows to what the pages of the trash and of retention show."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode
from uuid import UUID

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Message
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.paging import behind_time, cursor, moment
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.imports import size_in_words
from tavernkit.playground.story.retention import RetentionPeriods, read_retention
from tavernkit.playground.story.sweeping.queries import Category, LastSweep, RetentionFigure, read_retention_state
from tavernkit.playground.story.trash.queries import TrashedItem, TrashKind
from tavernkit.playground.story.trash.service import read_trash
from tavernkit.values import Value

KINDS: Mapping[TrashKind, str] = {
    "space": _("Space"),
    "conversation": _("Conversation"),
    "message": _("Message"),
    "character": _("Character"),
    "lorebook": _("Lorebook"),
    "preset": _("Preset"),
    "persona": _("Persona"),
    "quick_reply_set": _("Quick replies"),
    "pipeline_profile": _("Pipeline profile"),
}
ADDRESSES: Mapping[TrashKind, str] = {"quick_reply_set": "/quick-replies/", "pipeline_profile": "/pipelines/"}
"""Where the page of something is that is not under the plural of its kind."""
ITEMS_PER_PAGE = 50

FIELDS: Mapping[str, tuple[Category, str, str]] = {
    "trash_days": ("trash", _("Trash"), _("Days until what was deleted is removed for good; 0 removes it at once.")),
    "prompt_days": (
        "prompts",
        _("Prompts of runs"),
        _("Days; empty keeps them. Older runs have no prompt to inspect."),
    ),
    "stream_days": (
        "streams",
        _("Recorded replies"),
        _("Days; empty keeps them. What providers sent, in stories that record replies."),
    ),
    "event_days": ("events", _("Events"), _("Days. A page that missed older events is refreshed as a whole.")),
    "job_days": ("jobs", _("Ended jobs"), _("Days; empty keeps them. Imports keep their reports.")),
    "version_days": ("versions", _("Earlier versions of cards"), _("Days; empty keeps them.")),
}
"""By the field of the form: which figure stands beside it, its label, and what it means."""

REMOVED: Mapping[str, str] = {
    "spaces": _("Spaces"),
    "conversations": _("Conversations"),
    "messages": _("Messages"),
    "characters": _("Characters"),
    "lorebooks": _("Lorebooks"),
    "presets": _("Presets"),
    "personas": _("Personas"),
    "quick_reply_sets": _("Quick replies"),
    "pipeline_profiles": _("Pipeline profiles"),
    "prompts": _("Prompts of runs"),
    "streams": _("Recorded replies"),
    "prompt_blocks": _("Texts of prompts"),
    "versions": _("Earlier versions of cards"),
    "jobs": _("Ended jobs"),
    "job_files": _("Files of ended jobs"),
    "texts": _("Texts that nothing refers to"),
    "events": _("Events"),
    "unsent_pictures": _("Pictures that were not sent"),
    "imports": _("Files of ended imports"),
    "imported_files": _("Records of imported files"),
    "kept_files": _("Kept files of imports"),
    "blobs": _("Stored files that nothing refers to"),
}


class TrashView(Value, frozen=True, kw_only=True):
    """A page of the trash. `older` is the address where it goes on, or empty."""

    items: tuple[TrashedItem, ...]
    kind: str
    kinds: Mapping[TrashKind, str]
    days: int
    older: str
    is_first: bool
    is_administrator: bool


class RetentionRow(Value, frozen=True, kw_only=True):
    """A period in the form, and how much there is of what it is about."""

    name: str
    label: str
    help: str
    value: str
    figure: RetentionFigure
    freed_size: str


class RetentionView(Value, frozen=True, kw_only=True):
    """The form of the periods. `removed` are the lines of the last sweep's report."""

    rows: tuple[RetentionRow, ...]
    last_sweep: LastSweep | None
    removed: tuple[tuple[str, int], ...]


async def trash_view(runtime: Runtime, viewer: Viewer, *, kind: TrashKind | None, after: str | None) -> TrashView:
    """What is in the person's trash, what was deleted last first."""
    found = await read_trash(runtime, viewer, kind=kind, after=behind_time(after), limit=ITEMS_PER_PAGE + 1)
    async with runtime.database.read() as session:
        days = (await read_retention(session)).trash_days
    shown = tuple(item.model_copy(update={"name": shown_name(item.name)}) for item in found[:ITEMS_PER_PAGE])
    older = ""
    if len(found) > ITEMS_PER_PAGE:
        place = cursor(moment(shown[-1].trashed_at), str(shown[-1].id))
        older = "/trash?" + urlencode({**({"kind": kind} if kind else {}), "after": place})
    return TrashView(
        items=shown,
        kind=kind or "",
        kinds=KINDS,
        days=days,
        older=older,
        is_first=after is None,
        is_administrator=viewer.is_administrator,
    )


async def address_of(runtime: Runtime, kind: TrashKind, id: UUID) -> str:
    """The page of something that was restored."""
    if kind == "message":
        async with runtime.database.read() as session:
            message = await session.get_one(Message, id)
        return f"/conversations/{message.conversation_id}#message_{id}"
    return ADDRESSES.get(kind, f"/{kind}s/") + str(id)


async def retention_view(
    runtime: Runtime,
    viewer: Viewer,
    *,
    retention: RetentionPeriods | None = None,
    typed: Mapping[str, str] | None = None,
) -> RetentionView:
    """The periods that hold, or these, with what a sweep would free; what was typed stays in the form."""
    state = await read_retention_state(runtime, viewer, retention)
    held, figures = state.retention.model_dump(), {figure.category: figure for figure in state.figures}
    values = {name: "" if held[name] is None else str(held[name]) for name in FIELDS}
    rows = tuple(
        RetentionRow(
            name=name,
            label=label,
            help=help,
            value=(typed or values).get(name, ""),
            figure=figures[category],
            freed_size=size_in_words(figures[category].freed_bytes) if figures[category].freed_bytes else "",
        )
        for name, (category, label, help) in FIELDS.items()
    )
    removed = {} if state.last_sweep is None else state.last_sweep.removed
    lines = tuple((REMOVED[name], count) for name, count in removed.items() if count)
    return RetentionView(rows=rows, last_sweep=state.last_sweep, removed=lines)
