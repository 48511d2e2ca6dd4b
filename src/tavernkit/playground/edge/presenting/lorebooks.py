"""What the pages about lorebooks show: the list, and a book with a page of its entries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, Literal
from urllib.parse import urlencode
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Lorebook, LorebookEntry
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.paging import behind_name, behind_number, cursor
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import presentable, storable
from tavernkit.playground.edge.presenting.lore_entry import AS_SET, POSITIONS, entry_name
from tavernkit.playground.edge.presenting.panel import ChoiceView
from tavernkit.playground.edge.web.forms import one_newline, understood
from tavernkit.playground.story.access.access import may_edit
from tavernkit.playground.story.lorebooks.documents import BulkAction, BulkChange, EntryFilter, PatchLorebook
from tavernkit.playground.story.lorebooks.queries import (
    NO_FILTER,
    Activation,
    EntryTotals,
    entries_page,
    entry_totals,
    last_activations,
    lorebook_of,
    lorebooks_page,
    usable_lorebook,
)
from tavernkit.playground.story.lorebooks.service import count_tokens
from tavernkit.prompt.tokens import default_estimator
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.values import Value

BOOKS_PER_PAGE = 100
BOOKS_TO_CHOOSE = 500
ENTRIES_PER_PAGE = 100


class EntryRow(Value, frozen=True, kw_only=True):
    """An entry in the table; `activated` is the newest prompt that it was in."""

    row: LorebookEntry
    name: str
    keys: tuple[str, ...]
    place: str
    order: str
    tokens: int
    activated: Activation | None = None


class LorebookView(Value, frozen=True, kw_only=True):
    """A book with a page of its entries: of those that the filter finds, and whose totals are `found`.

    `others` are the books that entries can be moved to. `asked` is the filter as the query of an address.
    """

    book: Lorebook
    entries: tuple[EntryRow, ...]
    wanted: EntryFilter
    asked: str
    totals: EntryTotals
    found: EntryTotals
    others: tuple[ChoiceView, ...]
    is_first: bool
    next: str | None

    @property
    def address(self) -> str:
        """The first page of what the filter finds."""
        return f"/lorebooks/{self.book.id}{'?' if self.asked else ''}{self.asked}"

    @property
    def next_address(self) -> str:
        return (
            f"/lorebooks/{self.book.id}?{self.asked}{'&' if self.asked else ''}{urlencode({'after': self.next or ''})}"
        )


class BookForm(BaseModel):
    """What a book says about itself, as texts in boxes."""

    model_config = ConfigDict(frozen=True)

    name: str = ""
    description: str = ""
    scan_depth: str = ""
    token_budget: str = ""
    recursive_scanning: str = ""
    extensions: str = ""

    def tidy(self) -> BookForm:
        """The same with line breaks as they are stored."""
        return BookForm(**{name: one_newline(value) for name, value in self})


BOOK_LABELS: Final = {
    "name": _("Name"),
    "description": _("Description"),
    "scan_depth": _("Scan depth"),
    "token_budget": _("Token budget"),
    "recursive_scanning": _("Recursive scanning"),
    "extensions": _("Extensions (JSON)"),
}


def book_form(book: Lorebook) -> BookForm:
    """A book as the boxes show it."""
    fields = presentable(book.data.get("fields", {}))
    said = LooseObject(fields, ReportBuilder())
    depth, budget = said.optional_integer("scan_depth"), said.optional_integer("token_budget")
    recursive, extensions = said.optional_flag("recursive_scanning"), fields.get("extensions")
    return BookForm(
        name=book.name,
        description=book.description,
        scan_depth="" if depth is None else str(depth),
        token_budget="" if budget is None else str(budget),
        recursive_scanning="" if recursive is None else str(recursive).lower(),
        extensions=json.dumps(extensions, indent=2, ensure_ascii=False) if extensions else "",
    ).tidy()


def book_patch(form: BookForm, version: int) -> PatchLorebook:
    """What the boxes say, as a service takes it."""
    form = form.tidy()
    if form.recursive_scanning not in AS_SET:
        label = BOOK_LABELS["recursive_scanning"]
        raise Refused("invalid", _("Choose a value of “{label}” from the list.", label=label))
    try:
        extensions = json.loads(form.extensions) if form.extensions.strip() else None
    except (ValueError, RecursionError) as error:
        label, reason = BOOK_LABELS["extensions"], str(error)
        raise Refused("invalid", _("“{label}” is not valid JSON: {reason}.", label=label, reason=reason)) from None
    numbers = {name: getattr(form, name).strip() or None for name in ("scan_depth", "token_budget")}
    flags = {"": None, "true": True, "false": False}
    return understood(
        PatchLorebook,
        settings_version=version,
        name=form.name,
        description=form.description,
        **numbers,
        recursive_scanning=flags[form.recursive_scanning],
        extensions=extensions,
    )


def book_differences(mine: BookForm, theirs: BookForm) -> tuple[tuple[str, str], ...]:
    """What the book says now that is not what somebody wants to save."""
    mine = mine.tidy()
    return tuple(
        (BOOK_LABELS[name], AS_SET[now] if name == "recursive_scanning" else now or _("Empty"))
        for name, now in theirs
        if now != getattr(mine, name)
    )


class BulkForm(BaseModel):
    """What is to be done with the selected entries; `all` with all that the filter of the table finds."""

    action: BulkAction
    ids: list[UUID] = Field(default=[], max_length=ENTRIES_PER_PAGE)
    all: str = ""
    target: UUID | Literal[""] = ""
    to: str = ""
    position: str = ""
    order: str = ""
    depth: str = ""


def bulk_change(form: BulkForm, wanted: EntryFilter) -> BulkChange:
    """The change that a form asks for."""
    if not form.all and not form.ids:
        raise Refused("invalid", _("Select entries first."))
    return understood(
        BulkChange,
        action=form.action,
        ids=None if form.all else form.ids,
        **wanted.model_dump(),
        lorebook_id=form.target or None,
        to=form.to.strip() or None,
        set_position=form.position or None,
        set_order=form.order.strip() or None,
        set_depth=form.depth.strip() or None,
    )


def bulk_sentence(action: BulkAction, count: int) -> str:
    """What was done with so many entries."""
    match action:
        case "enable":
            return ngettext("{count} entry enabled.", "{count} entries enabled.", count)
        case "disable":
            return ngettext("{count} entry disabled.", "{count} entries disabled.", count)
        case "copy":
            return ngettext("{count} entry copied.", "{count} entries copied.", count)
        case "move" | "place":
            return ngettext("{count} entry moved.", "{count} entries moved.", count)
        case "delete":
            return ngettext("{count} entry deleted.", "{count} entries deleted.", count)
        case "set":
            return ngettext("{count} entry changed.", "{count} entries changed.", count)


async def lorebooks_view(runtime: Runtime, viewer: Viewer, after: str | None = None) -> Mapping[str, object]:
    """A page of the person's books."""
    async with runtime.database.read() as session:
        rows = await lorebooks_page(session, viewer, behind=behind_name(after), limit=BOOKS_PER_PAGE + 1)
        shared = await lorebooks_page(session, viewer, behind=None, limit=BOOKS_TO_CHOOSE, scope="shared")
    shown = rows[:BOOKS_PER_PAGE]
    return {
        "books": shown,
        "shared": shared,
        "is_first": after is None,
        "next": cursor(shown[-1].name, str(shown[-1].id)) if len(rows) > BOOKS_PER_PAGE else None,
        "user_id": viewer.user_id,
    }


async def shared_lorebook_view(
    runtime: Runtime, viewer: Viewer, lorebook_id: UUID, *, after: str | None = None
) -> Mapping[str, object] | None:
    """A book that others share, with a page of its entries: what each is called, its keys and its text. None for one of
    the person's own."""
    async with runtime.database.read() as session:
        book = await usable_lorebook(session, viewer, lorebook_id)
        if may_edit(book, viewer):
            return None
        rows = await entries_page(session, book.id, behind=behind_number(after), limit=ENTRIES_PER_PAGE + 1)
    shown = rows[:ENTRIES_PER_PAGE]
    return {
        "book": book,
        "entries": tuple((entry_row(row), storable(str(row.data.get("content") or ""))) for row in shown),
        "next": cursor(shown[-1].position) if len(rows) > ENTRIES_PER_PAGE else None,
    }


async def lorebook_view(
    runtime: Runtime,
    viewer: Viewer,
    lorebook_id: UUID,
    *,
    after: str | None = None,
    wanted: EntryFilter = NO_FILTER,
) -> LorebookView:
    """A book and a page of its entries."""
    async with runtime.database.read() as session:
        book = await lorebook_of(session, viewer, lorebook_id)
        totals = await entry_totals(session, book.id)
        rows = await entries_page(
            session, book.id, behind=behind_number(after), limit=ENTRIES_PER_PAGE + 1, wanted=wanted
        )
        shown = rows[:ENTRIES_PER_PAGE]
        if wanted == NO_FILTER:
            found = totals
        elif after is None and len(rows) == len(shown):
            # All of them are here, so that a search of all entries is saved.
            found = EntryTotals(entries=len(rows), tokens=sum(row.tokens or 0 for row in rows), uncounted=0)
        else:
            found = await entry_totals(session, book.id, wanted)
        activations = await last_activations(session, viewer, book, shown)
        books = await lorebooks_page(session, viewer, behind=None, limit=BOOKS_TO_CHOOSE)
    if totals.uncounted:
        await count_tokens(runtime, viewer, lorebook_id)
        return await lorebook_view(runtime, viewer, lorebook_id, after=after, wanted=wanted)
    return LorebookView(
        book=book,
        entries=tuple(entry_row(row, activations.get(row.id)) for row in shown),
        wanted=wanted,
        asked=filter_query(wanted),
        totals=totals,
        found=found,
        others=tuple(
            ChoiceView(value=str(other.id), label=shown_name(other.name)) for other in books if other.id != book.id
        ),
        is_first=after is None,
        next=cursor(shown[-1].position) if len(rows) > ENTRIES_PER_PAGE else None,
    )


def filter_query(wanted: EntryFilter) -> str:
    """A filter as the query of an address; empty where it finds everything."""
    asked = wanted.model_dump(exclude_defaults=True)
    return urlencode({name: str(value).lower() if isinstance(value, bool) else value for name, value in asked.items()})


def filter_of(search: str, enabled: str, constant: str, position: str) -> EntryFilter:
    """The filter that a form asks for; what no list of it offers finds everything."""
    flags = {"true": True, "false": False}
    return EntryFilter(
        search=storable(search).strip()[:200],
        enabled=flags.get(enabled),
        constant=flags.get(constant),
        position=int(position) if position in POSITIONS else None,
    )


def entry_row(row: LorebookEntry, activated: Activation | None = None) -> EntryRow:
    """An entry for the table."""
    named = ("key", "order", "depth", "content")
    entry = LooseObject({name: presentable(row.data[name]) for name in named if name in row.data}, ReportBuilder())
    keys = entry.texts("key")
    is_at_depth = row.insertion_position == 4
    return EntryRow(
        row=row,
        name=entry_name(row.comment, keys),
        keys=keys,
        place=_("Depth {depth}", depth=entry.integer("depth", default=4))
        if is_at_depth
        else POSITIONS.get(str(row.insertion_position), _("Position {number}", number=row.insertion_position)),
        order=str(entry.integer("order", default=100)),
        tokens=default_estimator().estimate(entry.text("content")) if row.tokens is None else row.tokens,
        activated=activated,
    )
