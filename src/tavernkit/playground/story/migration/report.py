"""What became of every file of an import, one line each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any
from uuid import UUID

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import ImportItem
from tavernkit.playground.base.languages import stored, stored_sentence
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.migration.queries import ItemFilter, import_of, items_page
from tavernkit.values import Value

PAGE = 500
NOTES, TITLE = "notes", "title"
MAX_NOTES = 200
"""A damaged file may have as many notes as lines: the first of them say what is wrong with it."""


class ReportLine(Value, frozen=True, kw_only=True):
    """A file, and what became of it; `verdict` is None where the import has not come to it. `notes` are sentences.
    `title` is what the application calls it, where its path does not say that."""

    position: int
    path: str
    title: str
    kind: str
    detail: str
    size: int
    sha256: str | None
    state: str
    verdict: str | None
    notes: tuple[str, ...]
    target_kind: str | None
    target_id: UUID | None


def stored_notes(sentences: Iterable[str], code: str = "note") -> dict[str, Any]:
    """Sentences as an item keeps them."""
    kept = [stored(code, sentence) for sentence in sentences]
    return {NOTES: kept[:MAX_NOTES]} if kept else {}


def notes_of(item: ImportItem) -> tuple[str, ...]:
    """The sentences of an item."""
    return tuple(stored_sentence(note) for note in item.notes.get(NOTES, ()))


async def report_lines(runtime: Runtime, viewer: Viewer, import_id: UUID) -> AsyncIterator[ReportLine]:
    """The whole report, in the order of the source."""
    async with runtime.database.read() as session:
        await import_of(session, viewer, import_id)
    after = 0
    while True:
        async with runtime.database.read() as session:
            items = await items_page(session, import_id, ItemFilter(), after, PAGE)
        for item in items:
            yield ReportLine(
                position=item.position,
                path=item.path,
                title=item.plan.get(TITLE, ""),
                kind=item.kind,
                detail=item.detail,
                size=item.size,
                sha256=item.sha256,
                state=item.state,
                verdict=item.verdict,
                notes=notes_of(item),
                target_kind=item.target_kind,
                target_id=item.target_id,
            )
        if len(items) < PAGE:
            return
        after = items[-1].position
