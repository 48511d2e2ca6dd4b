"""What the import of one kind of file gives and gets."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.migration.files import FileKind, FileSource
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import ImportedFile
from tavernkit.playground.base.jobs.work import JobWork
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.migration.choices import Conflict, ImportChoices
from tavernkit.values import Value

TargetKind: TypeAlias = Literal[
    "character", "lorebook", "preset", "persona", "quick_replies", "space", "conversation", "settings"
]
"""What an item may become here; its id is that of the row. `settings` are the person's own, and have the user's id."""

Verdict: TypeAlias = Literal["exact", "converted", "kept", "refused", "duplicate", "unchanged", "skipped"]


class Item(Value, frozen=True, kw_only=True):
    """A file that is to be imported, as the scan left it. `target_id` is what an earlier import of the same source made
    of this path, where that is still there; `state` says whether the file has changed since, and `is_changed_here`
    whether the target has. `conflict` is what happens where both have."""

    position: int
    path: str
    kind: FileKind
    detail: str
    size: int
    modified: datetime | None
    sha256: str
    state: Literal["new", "changed", "duplicate"]
    plan: dict[str, Any]
    conflict: Conflict
    target_kind: TargetKind | None = None
    target_id: UUID | None = None
    is_changed_here: bool = False


class ItemOutcome(Value, frozen=True, kw_only=True):
    """What became of an item. `notes` are sentences; `marker` is filled in by who calls the handler. A target that is
    `merged` has more in it than the file, so that an export writes it anew: its marker is that of no target."""

    verdict: Verdict
    target_kind: TargetKind | None = None
    target_id: UUID | None = None
    notes: tuple[str, ...] = ()
    merged: bool = False


@dataclass(eq=False)
class ImportJob:
    """One import while it is carried out. `cache` is for handlers: what they have looked up, by keys of their own; it
    is emptied whenever rows are taken back. `touched` is kept by `markers.touching`. `done` items are dealt with."""

    runtime: Runtime
    viewer: Viewer
    source: FileSource
    source_id: UUID
    import_id: UUID
    choices: ImportChoices
    now: datetime
    cache: dict[Any, Any] = field(default_factory=dict)
    touched: dict[tuple[TargetKind, UUID], str] = field(default_factory=dict)
    done: int = 0

    async def target_of(self, session: AsyncSession, path: str) -> UUID | None:
        """What the file at this path became, in this import or an earlier one of the same source."""
        found: UUID | None = await session.scalar(
            select(ImportedFile.target_id).where(ImportedFile.source_id == self.source_id, ImportedFile.path == path)
        )
        return found


class ItemHandler(Protocol):
    """Imports files of one kind, in two steps: what takes time and touches no database, then one transaction."""

    def prepare(self, job: ImportJob, item: Item, data: bytes) -> Any:
        """Read the bytes, in a thread. A TavernKitError or Refused is the reason why the item is refused."""

    async def store(self, session: AsyncSession, job: ImportJob, item: Item, prepared: Any) -> ItemOutcome:
        """Write rows into this transaction, which also stores the item's outcome. Commits nothing itself."""


Handlers: TypeAlias = Callable[[FileKind], ItemHandler | None]


Finish: TypeAlias = Callable[[AsyncSession, ItemOutcome], Awaitable[None]]
"""Writes the outcome of an item into the transaction with its last rows. Nothing is written to the item before it."""


class LongImport(Protocol):
    """Imports a file that is too large to be read as a whole, in transactions of its own.

    Each is one of `steps.step(work, job.import_id, job.done)`, and the last one ends with `finish`. A TavernKitError or
    Refused is the reason why the item is refused. Whoever is killed in between leaves an item without an outcome, for
    which this is called once more.
    """

    async def __call__(self, work: JobWork, job: ImportJob, item: Item, finish: Finish) -> None: ...
