"""What the pages about lorebooks show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from anyio import to_thread

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Lorebook, LorebookEntry
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.paging import behind_name, behind_number, cursor
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable
from tavernkit.playground.edge.presenting.lorebook_entry_form import (
    LABELS,
    LOGICS,
    POSITIONS,
    ROLES,
    EntryForm,
    entry_form,
)
from tavernkit.playground.story.lorebooks.entry_fields import decode_book
from tavernkit.playground.story.lorebooks.queries import all_entries, entries_page, lorebook_of, lorebooks_page
from tavernkit.prompt.tokens import default_estimator
from tavernkit.sillytavern.world_info.trial import LoreTest, run_test
from tavernkit.values import Value

BOOKS_PER_PAGE = 100
ENTRIES_PER_PAGE = 100
TEST_CONTEXT = 8192
NAMELESS = "Without a name"


class LorebooksView(Value, frozen=True, kw_only=True):
    """The list of books. `next` is where the next page begins."""

    books: Sequence[Lorebook]
    is_first: bool
    next: str | None


class EntryRow(Value, frozen=True, kw_only=True):
    """An entry in the table."""

    row: LorebookEntry
    name: str
    keys: tuple[str, ...]
    place: str
    order: str
    tokens: int


class LorebookView(Value, frozen=True, kw_only=True):
    """A book with a page of its entries. `tokens` is known when all of them are on the page."""

    book: Lorebook
    entries: tuple[EntryRow, ...]
    search: str
    is_first: bool
    next: str | None
    tokens: int | None


class LoreTestView(Value, frozen=True, kw_only=True):
    """A text that was tried out on a book, what came of it, and where its entries are."""

    text: str
    test: LoreTest | None = None
    addresses: Mapping[str, str] = {}


async def lorebooks_view(runtime: Runtime, viewer: Viewer, after: str | None = None) -> LorebooksView:
    """A page of the person's books."""
    async with runtime.database.read() as session:
        rows = await lorebooks_page(session, viewer, behind=behind_name(after), limit=BOOKS_PER_PAGE + 1)
    shown = rows[:BOOKS_PER_PAGE]
    return LorebooksView(
        books=shown,
        is_first=after is None,
        next=cursor(shown[-1].name, str(shown[-1].id)) if len(rows) > BOOKS_PER_PAGE else None,
    )


async def lorebook_view(
    runtime: Runtime, viewer: Viewer, lorebook_id: UUID, *, after: str | None = None, search: str = ""
) -> LorebookView:
    """A book and a page of its entries."""
    search = search.replace("\x00", "").strip()
    async with runtime.database.read() as session:
        book = await lorebook_of(session, viewer, lorebook_id)
        rows = await entries_page(
            session, book.id, behind=behind_number(after), limit=ENTRIES_PER_PAGE + 1, search=search
        )
    shown = rows[:ENTRIES_PER_PAGE]
    entries = await to_thread.run_sync(lambda: tuple(map(entry_row, shown)))
    is_whole = after is None and not search and len(rows) <= ENTRIES_PER_PAGE
    return LorebookView(
        book=book,
        entries=entries,
        search=search,
        is_first=after is None,
        next=cursor(shown[-1].position) if len(rows) > ENTRIES_PER_PAGE else None,
        tokens=sum(entry.tokens for entry in entries) if is_whole else None,
    )


def entry_row(row: LorebookEntry) -> EntryRow:
    """An entry for the table; the tokens of its text are estimated."""
    form = entry_form(row.data)
    keys = [key for key in form.keys.split("\n") if key]
    return EntryRow(
        row=row,
        name=shown_name(storable(row.comment) or ", ".join(keys[:3]) or NAMELESS),
        keys=tuple(keys),
        place=_place(form),
        order=form.order,
        tokens=default_estimator().estimate(form.content),
    )


async def lore_test_view(runtime: Runtime, viewer: Viewer, lorebook_id: UUID, text: str) -> LoreTestView:
    """Which entries of a book a text wakes up, and why the others stay silent."""
    async with runtime.database.read() as session:
        book = await lorebook_of(session, viewer, lorebook_id)
        if not text.strip():
            return LoreTestView(text=text)
        rows = await all_entries(session, book.id)
    return await to_thread.run_sync(_lore_test, book, rows, text)


def differences(mine: EntryForm, theirs: EntryForm) -> tuple[tuple[str, str], ...]:
    """The fields in which what is there now is not what somebody wants to save: what they are called, what is there."""
    named = {"logic": LOGICS, "position": POSITIONS, "role": ROLES}
    return tuple(
        (LABELS[name], named.get(name, {}).get(now, _said(name, now)))
        for name, now in theirs.tidy()
        if now != getattr(mine.tidy(), name)
    )


def _lore_test(book: Lorebook, rows: Sequence[LorebookEntry], text: str) -> LoreTestView:
    decoded = decode_book(book.data, [row.data for row in rows], name=book.name)
    addresses = {
        entry.id: f"/lorebooks/{book.id}/entries/{row.id}" for entry, row in zip(decoded.entries, rows, strict=True)
    }
    test = run_test([decoded], text, context=TEST_CONTEXT, seed=0)
    # First those that came near, then those whose keys are simply not there.
    silent = sorted(test.silent, key=lambda one: one.reason in ("no_key", "no_keys"))
    shown = test.with_(
        fired=tuple(one.with_(name=_named(one.name), why=storable(one.why)) for one in test.fired),
        silent=tuple(one.with_(name=_named(one.name), why=storable(one.why)) for one in silent),
    )
    return LoreTestView(text=text, test=shown, addresses=addresses)


def _named(name: str) -> str:
    return shown_name(storable(name) or NAMELESS)


def _place(form: EntryForm) -> str:
    if form.position == "4":
        return f"Depth {form.depth}"
    return POSITIONS.get(form.position, f"Position {form.position}")


def _said(name: str, value: str) -> str:
    if name in ("constant", "enabled", "exclude_recursion", "prevent_recursion"):
        return "Yes" if value else "No"
    return value or "Nothing"
