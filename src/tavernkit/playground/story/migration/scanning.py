"""The job that looks through the files of an import: what each is, and how it compares with what is here.

Nothing of the person's library is written. The files are listed and hashed, then the source is recognised, then each
file is compared with what was imported before, then the chats of each folder are put into trees. All of it happens in
steps: whoever takes the job over goes on behind the last one.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import posixpath
import unicodedata
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.migration import ChatDigest, ChatPlace, chat_trees, digest_chat, without_secrets
from tavernkit.migration.files import FileKind, FileSource, RefusedFile, SourceFile
from tavernkit.playground.base.database.bulk import insert_rows
from tavernkit.playground.base.database.models import (
    FolderImport,
    ImportedFile,
    ImportItem,
    ImportSource,
)
from tavernkit.playground.base.jobs.work import JobWork
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.storable import storable, titled
from tavernkit.playground.story.migration.comparing import count_gone, known_elsewhere, likeliest_source
from tavernkit.playground.story.migration.group_files import GroupFile, read_group_file
from tavernkit.playground.story.migration.kept import read_pieces
from tavernkit.playground.story.migration.kinds import (
    CHATS,
    KEYS_BYTES,
    MAY_HOLD_KEYS,
    NEVER_READ,
    RANKS,
    may_hold_keys,
)
from tavernkit.playground.story.migration.passwords import LOCKED, MARK, is_locked
from tavernkit.playground.story.migration.queries import item_totals
from tavernkit.playground.story.migration.report import TITLE, stored_notes
from tavernkit.playground.story.migration.steps import (
    LISTED,
    SCANNED,
    UNREADABLE,
    VERDICTS,
    begun_import,
    opened,
    reason,
    step,
)
from tavernkit.values import Value

FILES_AT_ONCE = 200
BYTES_AT_ONCE = 64 * 1024 * 1024
COMPARED_AT_ONCE = 1000
MOST_NAMED = 1000
"""So many broken links and secrets are listed; all of them are counted."""

MAX_PATH_BYTES = 2000
"""What an index of PostgreSQL holds."""
MAX_TITLE = 200
GROUP_BYTES = 1024 * 1024

MAX_DEPTH = 90
"""Of branches: deeper ones come after all others of their kind, and before the next kind."""


class _Found(Value, frozen=True, kw_only=True):
    """A file of the source and what reading it gave; `sha256` is None for one that is not read."""

    path: str
    kind: FileKind
    detail: str = ""
    title: str = ""
    size: int = 0
    modified: Any = None
    sha256: str | None = None
    secrets: tuple[str, ...] = ()
    is_locked: bool = False
    refusal: str | None = None


async def scan_folder(work: JobWork) -> dict[str, Any]:
    """Scan the files of an import, from where the scan has come to."""
    row = await begun_import(work)
    if row.status == "scanned":
        found: dict[str, Any] = row.summary[SCANNED]
        return found
    source = await asyncio.to_thread(opened, row)
    try:
        return await _Scan(work, row, source).carry_out()
    finally:
        await asyncio.to_thread(source.close)


class _Scan:
    """One scan, and how far it has come: `done` counts every file when it is listed and again when it is compared, and
    every chat when it is put into a tree."""

    def __init__(self, work: JobWork, row: FolderImport, source: FileSource) -> None:
        self._work = work
        self._database = work.runtime.database
        self._import_id = row.id
        self._owner_id = row.owner_id
        self._source = source
        self._done = work.claim.done
        self._count: int = row.summary.get(LISTED, 0)
        self._source_id = row.source_id

    async def carry_out(self) -> dict[str, Any]:
        if self._source_id is None or self._done == 0:
            await self._list()
        source_id = await self._recognise()
        await self._compare(source_id)
        await self._plan()
        return await self._finish()

    def _count_files(self) -> int:
        count = 0
        for _file in self._source.files():
            self._work.check()
            count += 1
        return count

    async def _forget_earlier(self) -> None:
        """Remove the items of a scan before this one."""
        self._done = 0
        first = select(ImportItem.position).where(ImportItem.import_id == self._import_id).limit(COMPARED_AT_ONCE)
        while True:
            async with self._database.read() as session:
                positions = (await session.scalars(first)).all()
            if not positions and self._source_id is None:
                return
            async with step(self._work, self._import_id, 0) as (session, row):
                row.source_id = self._source_id = None
                of_them = (ImportItem.import_id == self._import_id, ImportItem.position.in_(positions))
                await session.execute(delete(ImportItem).where(*of_them))

    async def _list(self) -> None:
        """Write an item for every file."""
        self._count = await asyncio.to_thread(self._count_files)
        files = await self._remaining_files()
        while found := await asyncio.to_thread(self._read_some, files):
            self._work.check()
            done = self._done + len(found)
            async with step(self._work, self._import_id, done, 2 * self._count) as (session, _row):
                named = await self._with_free_names(session, found)
                rows = [self._item(self._done + number, one) for number, one in enumerate(named, start=1)]
                await insert_rows(session, ImportItem, rows)
            self._done = done
        # Others may have come or gone since they were counted.
        self._count = self._done

    async def _remaining_files(self) -> Iterator[SourceFile | RefusedFile]:
        """The files behind the last one that has an item; all of them, where the source is not what it was then."""
        files = iter(self._source.files())
        last = await asyncio.to_thread(_last_of, files, self._done)
        async with self._database.read() as session:
            item = await session.get(ImportItem, (self._import_id, self._done))
        if last is not None and item is not None and storable(last.path) == item.path:
            return files
        await self._forget_earlier()
        return iter(self._source.files())

    def _read_some(self, files: Iterator[SourceFile | RefusedFile]) -> list[_Found]:
        found: list[_Found] = []
        size = 0
        for file in islice(files, FILES_AT_ONCE):
            found.append(self._read(file))
            size += found[-1].size
            if size >= BYTES_AT_ONCE:
                break
        return found

    def _read(self, file: SourceFile | RefusedFile) -> _Found:
        self._work.check()
        path = storable(file.path)
        if len(path.encode()) > MAX_PATH_BYTES:
            path = f"{path[: MAX_PATH_BYTES // 8]}… {hashlib.sha256(path.encode()).hexdigest()[:16]}"
        if isinstance(file, RefusedFile):
            return _Found(path=path, kind="kept", refusal=file.sentence)
        found = _Found(
            path=path, kind=file.kind, detail=file.detail, title=file.title, size=file.size, modified=file.modified
        )
        if file.kind in NEVER_READ:
            return found.with_(refusal=_never_read(file))
        if path != file.path:
            return found.with_(refusal=_("Its name cannot be stored. Rename it, then import it again."))
        try:
            return self._hashed(found)
        except UNREADABLE as error:
            return found.with_(refusal=reason(error))

    def _hashed(self, found: _Found) -> _Found:
        sha256, size, data = hashlib.sha256(), 0, bytearray()
        is_looked_at = may_hold_keys(found.kind, found.path) and found.size <= KEYS_BYTES
        is_marked, end = False, b""
        with self._source.open(found.path) as file:
            for piece in read_pieces(file):
                self._work.check()
                sha256.update(piece)
                size += len(piece)
                if is_looked_at and size <= KEYS_BYTES:
                    data += piece
                if found.kind == "character" and not is_marked:
                    is_marked, end = MARK in end + piece, piece[-len(MARK) :]
        secrets = without_secrets(found.path, found.kind, bytes(data))[1] if is_looked_at else ()
        return found.with_(
            sha256=sha256.hexdigest(),
            size=size,
            secrets=secrets,
            is_locked=is_marked and is_locked(self._source, found.path),
        )

    async def _with_free_names(self, session: AsyncSession, found: Sequence[_Found]) -> list[_Found]:
        """An archive may have a name twice: the second is refused, under a name of its own."""
        names = [one.path for one in found]
        query = select(ImportItem.path).where(ImportItem.import_id == self._import_id, ImportItem.path.in_(names))
        taken = set(await session.scalars(query))
        free: list[_Found] = []
        for number, one in enumerate(found, start=self._done + 1):
            if one.path in taken:
                twice = one.refusal or _("The source has another file of this name, which is imported.")
                one = one.with_(path=f"{one.path} ({number})", refusal=twice)
            taken.add(one.path)
            free.append(one)
        return free

    def _item(self, position: int, found: _Found) -> dict[str, Any]:
        is_refused = found.refusal is not None
        return {
            "import_id": self._import_id,
            "position": position,
            "path": found.path,
            "kind": found.kind,
            "detail": storable(found.detail)[:100],
            "rank": RANKS[found.kind],
            "size": found.size,
            "modified": found.modified,
            "sha256": None if is_refused else found.sha256,
            "state": "refused" if is_refused else "new",
            "verdict": "refused" if is_refused else None,
            "plan": _found_out(found),
            "notes": stored_notes([found.refusal], "refused") if found.refusal is not None else {},
        }

    async def _recognise(self) -> UUID:
        """Which of the person's sources this is, or a new one."""
        async with self._database.read() as session:
            row = await session.get_one(FolderImport, self._import_id)
            if row.source_id is not None:
                return row.source_id
            known = await likeliest_source(session, row, self._source.application)
        now = self._work.runtime.clock()
        async with step(self._work, self._import_id, self._done) as (session, row):
            if known is None:
                known = self._work.runtime.ids()
                session.add(
                    ImportSource(
                        id=known,
                        owner_id=self._owner_id,
                        application=self._source.application,
                        # What was sent lies in a folder of ours.
                        name=row.name if row.is_uploaded else titled(self._source.name, row.name, limit=300),
                        created_at=now,
                        updated_at=now,
                    )
                )
                await session.flush()
            row.source_id = known
            row.summary = {**row.summary, LISTED: self._count}
        return known

    async def _compare(self, source_id: UUID) -> None:
        """Say of each file whether it is new, the same, changed, or known from elsewhere."""
        async with self._database.read() as session:
            taken = set(await session.scalars(self._duplicates()))
        while self._done < 2 * self._count:
            self._work.check()
            first = self._done - self._count
            last = min(first + COMPARED_AT_ONCE, self._count)
            async with step(self._work, self._import_id, self._count + last) as (session, _row):
                between = ImportItem.position.between(first + 1, last)
                items = (
                    await session.scalars(select(ImportItem).where(ImportItem.import_id == self._import_id, between))
                ).all()
                await self._compare_some(session, source_id, [item for item in items if item.state != "refused"], taken)
            self._done = self._count + last

    def _duplicates(self) -> Any:
        return select(ImportItem.target_id).where(
            ImportItem.import_id == self._import_id, ImportItem.state == "duplicate"
        )

    async def _compare_some(
        self, session: AsyncSession, source_id: UUID, items: Sequence[ImportItem], taken: set[UUID | None]
    ) -> None:
        paths = [item.path for item in items]
        query = select(ImportedFile).where(ImportedFile.source_id == source_id, ImportedFile.path.in_(paths))
        known = {file.path: file for file in await session.scalars(query)}
        new: list[ImportItem] = []
        for item in items:
            file = known.get(item.path)
            # A chat of a character that was not imported is kept, until that is.
            is_waiting = file is not None and file.kind == "risuai_chat" and file.target_id is None
            if file is None or is_waiting:
                new.append(item)
                continue
            item.state = "same" if file.sha256 == item.sha256 else "changed"
            item.target_kind, item.target_id = file.target_kind, file.target_id
        for item, kind, id in await known_elsewhere(session, self._owner_id, source_id, new, taken):
            item.state, item.target_kind, item.target_id = "duplicate", kind, id

    async def _plan(self) -> None:
        """Put the chats of each folder into trees, folder by folder, unless all of them are the same as before."""
        first = 2 * self._count
        async with self._database.read() as session:
            of_chats = (ImportItem.import_id == self._import_id, ImportItem.kind.in_(CHATS))
            rows = await session.execute(
                select(ImportItem.path, ImportItem.position, ImportItem.kind, ImportItem.state).where(*of_chats)
            )
            folders: defaultdict[str, list[tuple[str, int, str, str]]] = defaultdict(list)
            for path, position, kind, state in rows:
                folders[posixpath.dirname(path)].append((path, position, kind, state))
        total = first + sum(map(len, folders.values()))
        reached = first
        for folder in sorted(folders):
            chats = sorted(folders[folder])
            reached += len(chats)
            if reached <= self._done:
                continue
            readable = [chat for chat in chats if chat[3] != "refused"]
            planned: list[dict[str, Any]] = []
            if any(state != "same" for *_rest, state in readable):
                planned = await asyncio.to_thread(self._plan_folder, readable)
            self._work.check()
            async with step(self._work, self._import_id, reached, total) as (session, _row):
                if planned:
                    await session.execute(update(ImportItem), planned)
            self._done = reached

    def _plan_folder(self, chats: Sequence[tuple[str, int, str, str]]) -> list[dict[str, Any]]:
        trees = chat_trees(list(self._digests(path for path, *_rest in chats)))
        return [
            {"import_id": self._import_id, "position": position, "plan": _plan_of(place), "rank": _rank(kind, place)}
            for path, position, kind, _state in chats
            if (place := trees.get(path)) is not None and place.parent is not None
        ]

    def _digests(self, paths: Iterable[str]) -> Iterator[tuple[str, ChatDigest]]:
        for path in paths:
            self._work.check()
            try:
                with self._source.open(path) as file:
                    yield path, digest_chat(file)
            except UNREADABLE:
                # It stands alone; the import says what is wrong with it.
                continue

    async def _finish(self) -> dict[str, Any]:
        async with self._database.read() as session:
            totals = await item_totals(session, self._import_id)
            of_import = ImportItem.import_id == self._import_id
            secret = select(ImportItem.path).where(of_import, ImportItem.kind == "secret")
            skipped = list(await session.scalars(secret.order_by(ImportItem.position).limit(MOST_NAMED)))
            holding = select(ImportItem.path, ImportItem.plan).where(of_import, ImportItem.kind.in_(MAY_HOLD_KEYS))
            for path, plan in await session.execute(holding.order_by(ImportItem.position)):
                skipped += [f"{path}: {name}" for name in plan.get("secrets", ())]
            cards = (of_import, ImportItem.kind == "character", ImportItem.state.in_(("new", "changed")))
            found_cards = await session.execute(
                select(ImportItem.path, ImportItem.plan).where(*cards).order_by(ImportItem.position)
            )
            locked = [path for path, plan in found_cards if LOCKED in plan]
            links = await asyncio.to_thread(self._broken_links, await _paths_by_kind(session, self._import_id))
            gone = await count_gone(session, self._import_id)
        states, verdicts = Counter[str](), Counter[str]()
        for _kind, state, verdict, count, _size in totals:
            states[state] += count
            if verdict is not None:
                verdicts[verdict] += count
        found = {
            "files": sum(count for *_rest, count, _size in totals),
            "bytes": sum(size for *_rest, size in totals),
            "states": dict(states),
        }
        async with step(self._work, self._import_id, self._done) as (_session, row):
            row.status = "scanned"
            row.summary = {
                **row.summary,
                SCANNED: found,
                VERDICTS: dict(verdicts),
                "secrets": skipped[:MOST_NAMED],
                LOCKED: locked[:MOST_NAMED],
                "broken_links": links[:MOST_NAMED],
                "broken_links_count": len(links),
                "gone": gone,
            }
        return found

    def _broken_links(self, paths: Mapping[str, Collection[str]]) -> list[str]:
        """What files name that is not in the source: `who → what`."""
        cards = {_folded(path.removeprefix("characters/")) for path in paths["character"]}
        stems = {name.replace(".png", "", 1) for name in cards}
        members = cards | stems
        broken = [
            f"{folder}/ → characters/{posixpath.basename(folder)}.png"
            for folder in sorted({posixpath.dirname(path) for path in paths["chat"]} - {"chats"})
            if _folded(posixpath.basename(folder)) not in stems
        ]
        chats = {posixpath.basename(path) for path in paths["group_chat"]}
        owned: set[str] = set()
        for path in sorted(paths["group"]):
            group = self._group(path)
            if group is None:
                continue
            owned.update(f"{name}.jsonl" for name in group.chats)
            broken += [f"{path} → group chats/{name}.jsonl" for name in group.listed if f"{name}.jsonl" not in chats]
            # The oldest groups have the names of their members, newer ones the files.
            broken += [f"{path} → characters/{name}" for name in group.members if _folded(name) not in members]
        return broken + [f"group chats/{name} → groups/" for name in sorted(chats - owned)]

    def _group(self, path: str) -> GroupFile | None:
        try:
            with self._source.open(path) as file:
                group = json.loads(file.read(GROUP_BYTES))
        except (*UNREADABLE, ValueError, RecursionError):
            return None
        return read_group_file(group, path) if isinstance(group, dict) else None


def _found_out(found: _Found) -> dict[str, Any]:
    """What the plan of an item begins with."""
    known = {
        "secrets": list(found.secrets),
        LOCKED: found.is_locked,
        TITLE: titled(found.title, "", limit=MAX_TITLE) if found.title else "",
    }
    return {key: value for key, value in known.items() if value}


def _never_read(file: SourceFile) -> str:
    """Why a file is not read; of an extension, where it is from."""
    if file.kind == "extension" and file.detail:
        return _(
            "It belongs to an extension, which is a program, so it was not read. It is from {address}.",
            address=file.detail,
        )
    return NEVER_READ[file.kind]


def _last_of(files: Iterator[SourceFile | RefusedFile], count: int) -> SourceFile | RefusedFile | None:
    """Go past so many files; the last of them."""
    passed = deque(islice(files, count), maxlen=1)
    return passed[0] if passed else None


def _plan_of(place: ChatPlace) -> dict[str, Any]:
    return {
        "parent": place.parent,
        "fork": place.fork,
        "certain": place.certain,
        "kind": place.kind,
        "depth": place.depth,
    }


def _rank(kind: str, place: ChatPlace) -> int:
    return RANKS[kind] + min(place.depth, MAX_DEPTH)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


async def _paths_by_kind(session: AsyncSession, import_id: UUID) -> Mapping[str, Collection[str]]:
    wanted = ("character", "chat", "group", "group_chat")
    query = select(ImportItem.kind, ImportItem.path).where(
        ImportItem.import_id == import_id, ImportItem.kind.in_(wanted), ImportItem.state != "refused"
    )
    paths: dict[str, list[str]] = {kind: [] for kind in wanted}
    for kind, path in await session.execute(query):
        paths[kind].append(path)
    return paths
