"""The job that imports what was scanned.

Files are read and prepared without a transaction; then several small ones are stored in one, each with its outcome and
its bytes, and behind a savepoint of its own. Whoever is killed loses what was not committed, and nothing is doubled:
an item with a verdict is not looked at again.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, cast
from uuid import UUID

from msgspec import convert
from sqlalchemy import func, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import TavernKitError
from tavernkit.migration import without_secrets
from tavernkit.migration.files import FileKind
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Character,
    FolderImport,
    ImportedFile,
    ImportItem,
    Lorebook,
    User,
)
from tavernkit.playground.base.jobs.work import JobStopped, JobWork
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import sentence_of
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.migration.choices import Conflict, ImportChoices
from tavernkit.playground.story.migration.groups import reconnect_groups
from tavernkit.playground.story.migration.items import (
    Handlers,
    ImportJob,
    Item,
    ItemHandler,
    ItemOutcome,
    LongImport,
    TargetKind,
)
from tavernkit.playground.story.migration.kept import (
    KEEPING,
    Keeping,
    KeptBytes,
    forget,
    hold,
    is_kept,
    keep,
    kept_among,
    pack,
    read_pieces,
    write_pieces,
)
from tavernkit.playground.story.migration.kinds import (
    CHATS,
    KEYS_BYTES,
    LONG_CHAT_BYTES,
    WAITING,
    WHOLE_BYTES,
    may_hold_keys,
)
from tavernkit.playground.story.migration.long_chats import import_long_chat
from tavernkit.playground.story.migration.markers import OUTDATED, marker_of, refresh_markers, touching
from tavernkit.playground.story.migration.passwords import NEEDED, WAS_OPENED, opened_bytes, password_state
from tavernkit.playground.story.migration.queries import verdict_totals
from tavernkit.playground.story.migration.registry import handler_of
from tavernkit.playground.story.migration.report import stored_notes
from tavernkit.playground.story.migration.steps import (
    UNREADABLE,
    VERDICTS,
    begun_import,
    locked_import,
    opened,
    reason,
    require_place,
    step,
)
from tavernkit.playground.story.migration.uploads import remove_upload, upload_folder
from tavernkit.values import Value

ITEMS_AT_ONCE = 64
BYTES_AT_ONCE = 1024 * 1024
"""So much is stored in one transaction, so that nobody else has to wait long; a larger file alone."""
PIECES_AT_ONCE = 8

CHANGED = _("The file was changed after the scan. Scan the folder again, then import it.")
TOO_LARGE = Keeping(_("The file is larger than {limit} bytes, so it was kept and not read.", limit=WHOLE_BYTES))
FAILED = _("An internal error occurred. The log of the server has the details.")

log = logging.getLogger(__name__)


class _Prepared(Value, frozen=True, kw_only=True):
    """An item that is ready for its transaction: with an outcome that needs no handler, or with its handler, what that
    has prepared, and the bytes that are kept. One that `waits` may have to wait on."""

    item: Item
    waits: bool = False
    outcome: ItemOutcome | None = None
    handler: ItemHandler = KEEPING
    ready: Any = None
    kept: KeptBytes | None = None


async def import_folder(
    work: JobWork, handlers: Handlers = handler_of, long_chats: LongImport = import_long_chat
) -> dict[str, Any]:
    """Import the items of an import that have no verdict yet, in the order of their ranks."""
    row = await begun_import(work)
    if row.status != "done":
        await _import_rest(work, row, handlers, long_chats)
    if row.is_uploaded:
        await asyncio.to_thread(remove_upload, upload_folder(work.runtime.settings, row.id))
    async with work.runtime.database.read() as session:
        return {VERDICTS: (await session.get_one(FolderImport, row.id)).summary[VERDICTS]}


async def _import_rest(work: JobWork, row: FolderImport, handlers: Handlers, long_chats: LongImport) -> None:
    if row.source_id is None:
        raise TavernKitError(_("The files of this import have not been scanned. Scan them first."))
    source = await asyncio.to_thread(opened, row)
    try:
        job = ImportJob(
            runtime=work.runtime,
            viewer=Viewer(user_id=row.owner_id),
            source=source,
            source_id=row.source_id,
            import_id=row.id,
            choices=convert(row.choices, ImportChoices),
            now=work.runtime.clock(),
        )
        await _Import(work, row, job, handlers, long_chats).carry_out()
    finally:
        await asyncio.to_thread(source.close)


class _Import:
    """One import while it is carried out."""

    def __init__(
        self, work: JobWork, row: FolderImport, job: ImportJob, handlers: Handlers, long_chats: LongImport
    ) -> None:
        self._work = work
        self._database = work.runtime.database
        self._row = row
        self._job = job
        self._handlers = handlers
        self._long_chats = long_chats

    async def carry_out(self) -> None:
        async with self._database.read() as session:
            dealt_with = (ImportItem.import_id == self._row.id, ImportItem.verdict.is_not(None))
            self._job.done = await session.scalar(select(func.count()).where(*dealt_with)) or 0
        while items := await self._next_items():
            self._work.check()
            if self._is_large(items[0]):
                await self._import_large(items[0])
            else:
                await self._import_some(items)
        async with step(self._work, self._row.id, self._job.done) as (session, row):
            await reconnect_groups(session, self._job)
            await refresh_markers(session, self._job)
            # A picture gets another verdict when a chat that shows it is imported.
            row.summary = {**row.summary, VERDICTS: await verdict_totals(session, row.id)}
            row.status, row.finished_at = "done", self._work.runtime.clock()

    async def _next_items(self) -> list[ImportItem]:
        """Some items that share a transaction, or a large one alone."""
        left = (ImportItem.import_id == self._row.id, ImportItem.verdict.is_(None))
        query = select(ImportItem).where(*left).order_by(ImportItem.rank, ImportItem.position)
        async with self._database.read() as session:
            found = (await session.scalars(query.limit(ITEMS_AT_ONCE))).all()
        size, items = 0, list[ImportItem]()
        for item in found:
            size += item.size if self._is_read(item) else 0
            if items and size > BYTES_AT_ONCE:
                break
            items.append(item)
        return items

    def _is_large(self, item: ImportItem) -> bool:
        """Whether an item is not read as a whole."""
        limit = LONG_CHAT_BYTES if item.kind in CHATS else WHOLE_BYTES
        return item.size > limit and self._is_read(item) and not may_hold_keys(item.kind, item.path)

    def _is_read(self, item: ImportItem) -> bool:
        """Whether the bytes of an item are needed."""
        is_same = item.state == "same" and item.choice not in ("replace", "both")
        return not self._is_skipped(item) and (not is_same or _waits(item))

    def _is_skipped(self, item: ImportItem) -> bool:
        kinds = self._job.choices.kinds
        return item.choice in ("skip", "keep") or (kinds is not None and item.kind not in kinds)

    async def _import_some(self, rows: Sequence[ImportItem]) -> None:
        """Import small items in one transaction."""
        items = await self._items(rows)
        opened = await self._opened(items)
        prepared = await asyncio.to_thread(
            lambda: [self._prepare(row, item, opened.get(item.path)) for row, item in zip(rows, items, strict=True)]
        )
        self._work.check()
        await self._store_all(prepared)

    async def _opened(self, items: Sequence[Item]) -> dict[str, bytes]:
        """The files that somebody has opened with a password, by their paths."""
        locked = [item for item in items if password_state(item.plan) is not None]
        if not locked:
            return {}
        async with self._database.read() as session:
            found = {item.path: await opened_bytes(session, item.plan) for item in locked}
        return {path: data for path, data in found.items() if data is not None}

    async def _store_all(self, prepared: Sequence[_Prepared]) -> None:
        verdicts: Counter[str] = Counter()
        done = self._job.done + len(prepared)
        async with step(self._work, self._row.id, done) as (session, row):
            # One person's files are stored one after the other, so that none is doubled.
            await session.execute(select(User.id).where(User.id == row.owner_id).with_for_update(key_share=True))
            known = await kept_among(session, [one.kept.sha256 for one in prepared if one.kept is not None])
            for one in prepared:
                verdicts[await self._store(session, one, known)] += 1
            _count(row, verdicts)
        self._job.done = done

    async def _items(self, rows: Sequence[ImportItem]) -> list[Item]:
        """The items as handlers get them."""
        paths = [row.path for row in rows]
        of_source = (ImportedFile.source_id == self._job.source_id, ImportedFile.path.in_(paths))
        async with self._database.read() as session:
            known = {file.path: file for file in await session.scalars(select(ImportedFile).where(*of_source))}
            return [await self._item(session, row, known.get(row.path)) for row in rows]

    async def _item(self, session: AsyncSession, row: ImportItem, known: ImportedFile | None) -> Item:
        is_forced = row.choice in ("replace", "both")
        state = "changed" if row.state == "same" else "new" if row.state == "duplicate" and is_forced else row.state
        item = Item(
            position=row.position,
            path=row.path,
            kind=cast(FileKind, row.kind),
            detail=row.detail,
            size=row.size,
            modified=row.modified,
            sha256=row.sha256 or "",
            state=cast(Any, state),
            plan=row.plan,
            conflict=cast(Conflict, row.choice) if is_forced else self._job.choices.conflict,
        )
        if known is None or known.target_kind is None or known.target_id is None:
            return item
        marker = await marker_of(session, cast(TargetKind, known.target_kind), known.target_id)
        if marker is None:
            return item
        return item.with_(
            target_kind=cast(TargetKind, known.target_kind),
            target_id=known.target_id,
            # Whoever wants both gets both, also where only the folder's has changed.
            is_changed_here=marker != known.marker or row.choice == "both",
        )

    def _prepare(self, row: ImportItem, item: Item, opened: bytes | None) -> _Prepared:
        """Read an item and have its handler prepare it; without a transaction, in a thread. `opened` is what counts
        instead of an encrypted file."""
        self._work.check()
        if self._is_skipped(row):
            return _Prepared(item=item, outcome=_skipped(row))
        if not self._is_read(row):
            return _Prepared(item=item, outcome=_unchanged(row, item))
        try:
            if item.size > KEYS_BYTES and may_hold_keys(item.kind, item.path):
                raise Refused("too_large", _("The file is too large to be searched for keys, so it was not read."))
            data = self._read(item)
            if password_state(item.plan) is not None and opened is None and item.state != "duplicate":
                raise Refused("invalid", NEEDED)
            clean = opened or without_secrets(item.path, item.kind, data)[0]
            handler = self._handlers(item.kind) or KEEPING
            ready = None if item.state == "duplicate" else handler.prepare(self._job, item, clean)
        except UNREADABLE as error:
            require_place(self._row)
            return _Prepared(item=item, outcome=_refused(reason(error)))
        except Refused as refused:
            return _Prepared(item=item, outcome=_refused(refused.sentence))
        except Exception:
            # Whatever is wrong with one file, the others are imported.
            log.exception("File %d of import %s could not be prepared", item.position, self._row.id)
            return _Prepared(item=item, outcome=_refused(FAILED))
        kept = KeptBytes.of(clean, sha256=item.sha256 if clean is data else None)
        return _Prepared(item=item, waits=_waits(row), handler=handler, ready=ready, kept=kept)

    def _read(self, item: Item) -> bytes:
        with self._job.source.open(item.path) as file:
            # One byte more than there should be is enough to see that it has changed.
            data = b"".join(read_pieces(file, item.size + 1))
        if len(data) != item.size or hashlib.sha256(data).hexdigest() != item.sha256:
            raise Refused("stale", CHANGED)
        return data

    async def _store(self, session: AsyncSession, one: _Prepared, known: set[str]) -> str:
        """Store an item with everything that belongs to it, or the reason why it was refused; its verdict."""
        outcome = one.outcome
        if outcome is None:
            try:
                async with session.begin_nested():
                    outcome = await self._store_rows(
                        session, one, is_known=one.kept is None or one.kept.sha256 in known
                    )
            except IntegrityError:
                log.exception("File %d of import %s could not be stored", one.item.position, self._row.id)
                outcome = _refused(_("It conflicts with something that was changed at the same time. Import it again."))
            except (DBAPIError, JobStopped):
                raise
            except TavernKitError as error:
                outcome = _refused(sentence_of(error))
            except Refused as refused:
                outcome = _refused(refused.sentence)
            except Exception:
                log.exception("File %d of import %s could not be stored", one.item.position, self._row.id)
                outcome = _refused(FAILED)
            if outcome.verdict == "refused":
                # What handlers remember may be about rows that were taken back.
                self._job.cache.clear()
                self._job.touched.clear()
        await self._settle(session, one.item, outcome)
        return outcome.verdict

    async def _store_rows(self, session: AsyncSession, one: _Prepared, *, is_known: bool) -> ItemOutcome:
        item = one.item
        if one.kept is not None:
            await keep(session, one.kept, self._work.runtime.clock(), is_known=is_known)
        if item.state == "duplicate":
            outcome, marker = await self._duplicate(session, item)
            await self._remember(session, item, outcome, marker, one.kept)
            return outcome
        item = await self._looked_at_again(session, item)
        await self._touch_parent(session, item)
        outcome = await one.handler.store(session, self._job, item, one.ready)
        if one.waits and outcome.verdict == "kept":
            outcome = ItemOutcome(verdict="unchanged")
        is_other = item.plan.get("secrets") or password_state(item.plan) is not None
        if outcome.verdict == "exact" and is_other:
            outcome = outcome.with_(verdict="converted")
        await self._conclude(session, item, outcome, one.kept)
        return outcome

    async def _looked_at_again(self, session: AsyncSession, item: Item) -> Item:
        """The item with whether its target has been changed, now that the import has come to it."""
        if item.target_kind is None or item.target_id is None:
            return item
        marker = await marker_of(session, item.target_kind, item.target_id)
        of_file = (ImportedFile.source_id == self._job.source_id, ImportedFile.path == item.path)
        imported = await session.scalar(select(ImportedFile.marker).where(*of_file))
        return item.with_(is_changed_here=item.is_changed_here or marker != imported)

    async def _touch_parent(self, session: AsyncSession, item: Item) -> None:
        """The file of a chat says which others part from it."""
        parent = item.plan.get("parent")
        if item.kind in CHATS and parent is not None:
            target_id = await self._job.target_of(session, parent)
            if target_id is not None:
                await touching(session, self._job, "conversation", target_id)

    async def _conclude(self, session: AsyncSession, item: Item, outcome: ItemOutcome, kept: KeptBytes | None) -> None:
        """Write what has become of a file, behind the rows that it became."""
        await session.flush()
        await refresh_markers(session, self._job)
        if outcome.verdict in ("refused", "skipped"):
            return
        marker = None
        # What has been changed here and stays so says something else than the file.
        says_else = outcome.merged or (outcome.verdict == "unchanged" and item.is_changed_here)
        if outcome.target_kind is not None and outcome.target_id is not None and not says_else:
            marker = await marker_of(session, outcome.target_kind, outcome.target_id)
        await self._remember(session, item, outcome, marker or OUTDATED, kept)

    async def _duplicate(self, session: AsyncSession, item: Item) -> tuple[ItemOutcome, str]:
        """What the same bytes have become before is what this file has become, too; and the marker of that."""
        row = await session.get_one(ImportItem, (self._row.id, item.position))
        kind, id = cast(TargetKind, row.target_kind), cast(UUID, row.target_id)
        marker = await marker_of(session, kind, id)
        if marker is None:
            raise Refused("stale", _("What it is a duplicate of was deleted since the scan. Scan the folder again."))
        note = _("The same file was imported before, so it was not imported again.")
        outcome = ItemOutcome(verdict="duplicate", target_kind=kind, target_id=id, notes=(note,))
        of_target = (ImportedFile.target_id == id, ImportedFile.sha256 == item.sha256)
        imported = await session.scalar(select(ImportedFile.marker).where(*of_target).limit(1))
        if imported is not None:
            return outcome, imported
        return outcome, marker if await _is_as_it_came(session, kind, id) else OUTDATED

    async def _remember(
        self, session: AsyncSession, item: Item, outcome: ItemOutcome, marker: str, kept: KeptBytes | None
    ) -> None:
        """Write what the file of this path has become."""
        insert: Any = postgresql.insert if self._database.is_postgresql else sqlite.insert
        values = {
            "kind": item.kind,
            "detail": item.detail,
            "size": item.size,
            "modified": item.modified,
            "sha256": item.sha256,
            "kept_sha256": None if kept is None else kept.sha256,
            "import_id": self._row.id,
            "target_kind": outcome.target_kind,
            "target_id": outcome.target_id,
            "marker": marker,
        }
        row = insert(ImportedFile).values(source_id=self._job.source_id, path=item.path, **values)
        place = [ImportedFile.source_id, ImportedFile.path]
        await session.execute(row.on_conflict_do_update(index_elements=place, set_=values))

    async def _settle(self, session: AsyncSession, item: Item, outcome: ItemOutcome) -> None:
        """Write the line of the report."""
        of_item = (ImportItem.import_id == self._row.id, ImportItem.position == item.position)
        await session.execute(
            update(ImportItem)
            .where(*of_item)
            .values(
                verdict=outcome.verdict,
                notes=stored_notes(
                    [*_left_out(item, outcome), *outcome.notes], "refused" if outcome.verdict == "refused" else "note"
                ),
                target_kind=outcome.target_kind,
                target_id=outcome.target_id,
            ),
            execution_options={"synchronize_session": False},
        )

    async def _import_large(self, row: ImportItem) -> None:
        """Import a file that is not read as a whole. Its bytes are kept in steps of their own; a chat is imported piece
        by piece, and anything else is not looked at."""
        (item,) = await self._items([row])
        try:
            kept = await self._keep_large(item)
            if item.kind in CHATS and item.state != "duplicate":
                await self._import_long_chat(item, kept)
                return
        except DBAPIError:
            raise
        except UNREADABLE as error:
            require_place(self._row)
            prepared = _Prepared(item=item, outcome=_refused(reason(error)))
        except Refused as refused:
            prepared = _Prepared(item=item, outcome=_refused(refused.sentence))
        else:
            prepared = _Prepared(item=item, handler=TOO_LARGE, kept=kept)
        await self._store_all([prepared])

    async def _import_long_chat(self, item: Item, kept: KeptBytes) -> None:
        done = self._job.done

        async def finish(session: AsyncSession, outcome: ItemOutcome) -> None:
            row = await locked_import(session, self._work, self._row.id)
            await self._work.commit_step(session, done + 1)
            await keep(session, kept, self._work.runtime.clock(), is_known=True)
            await self._conclude(session, item, outcome, kept)
            await self._settle(session, item, outcome)
            _count(row, Counter([outcome.verdict]))
            self._job.done = done + 1

        await self._long_chats(self._work, self._job, item, finish)
        if self._job.done == done:
            raise RuntimeError(f"nothing was said about file {item.position} of import {self._row.id}")

    async def _keep_large(self, item: Item) -> KeptBytes:
        """Keep the bytes of a large file, some pieces in each step; nothing refers to them before the last one is
        there."""
        await asyncio.to_thread(self._check_large, item)
        kept = KeptBytes(sha256=item.sha256, size=item.size, pieces=())
        async with self._database.read() as session:
            if await is_kept(session, item.sha256):
                return kept
        file = await asyncio.to_thread(self._job.source.open, item.path)
        with file:
            pieces = read_pieces(file, item.size + 1)
            position, sha256 = 0, hashlib.sha256()
            while packed := await asyncio.to_thread(_packed_pieces, pieces, sha256):
                self._work.check()
                async with step(self._work, self._row.id, self._job.done) as (session, _row):
                    await hold(session, item.sha256, item.size, self._work.runtime.clock())
                    await write_pieces(session, item.sha256, enumerate(packed, start=position))
                position += len(packed)
        if sha256.hexdigest() != item.sha256:
            async with step(self._work, self._row.id, self._job.done) as (session, _row):
                await forget(session, item.sha256)
            raise Refused("stale", CHANGED)
        return kept

    def _check_large(self, item: Item) -> None:
        """Refuse a file that is not what was scanned, before a piece of it is kept under that name."""
        sha256 = hashlib.sha256()
        with self._job.source.open(item.path) as file:
            for piece in read_pieces(file, item.size + 1):
                self._work.check()
                sha256.update(piece)
        if sha256.hexdigest() != item.sha256:
            raise Refused("stale", CHANGED)


async def _is_as_it_came(session: AsyncSession, target_kind: TargetKind, id: UUID) -> bool:
    """Whether a character or a lorebook whose file was imported alone has not been changed since."""
    model = Character if target_kind == "character" else Lorebook
    query = select(model.id).where(model.id == id, model.created_at == model.updated_at)
    return await session.scalar(query) is not None


def _waits(item: ImportItem) -> bool:
    """Whether a file that was imported before has become nothing, and what it belongs to may have come since."""
    return item.state == "same" and item.target_id is None and item.kind in WAITING and item.size <= WHOLE_BYTES


def _packed_pieces(pieces: Iterator[bytes], sha256: Any) -> list[tuple[bool, bytes]]:
    packed = []
    for piece in islice(pieces, PIECES_AT_ONCE):
        sha256.update(piece)
        packed.append(pack(piece))
    return packed


def _refused(sentence: str) -> ItemOutcome:
    return ItemOutcome(verdict="refused", notes=(sentence,))


def _skipped(row: ImportItem) -> ItemOutcome:
    notes = (_("What is here was kept."),) if row.choice == "keep" else ()
    return ItemOutcome(verdict="skipped", notes=notes)


def _unchanged(row: ImportItem, item: Item) -> ItemOutcome:
    if row.target_id is not None and item.target_id is None:
        return ItemOutcome(verdict="unchanged", notes=(_("It was imported before, and has been deleted here since."),))
    return ItemOutcome(verdict="unchanged", target_kind=item.target_kind, target_id=item.target_id)


def _left_out(item: Item, outcome: ItemOutcome) -> list[str]:
    """What is said about the secrets in a file, or about its password."""
    if password_state(item.plan) == "given" and outcome.verdict in ("exact", "converted"):
        return [WAS_OPENED]
    names = item.plan.get("secrets", ())
    if not names or outcome.verdict in ("refused", "skipped", "unchanged"):
        return []
    return [_("Keys and addresses were left out: {fields}.", fields=", ".join(names))]


def _count(row: FolderImport, verdicts: Counter[str]) -> None:
    counts = Counter(row.summary.get(VERDICTS, {}))
    counts.update(verdicts)
    row.summary = {**row.summary, VERDICTS: dict(counts)}
