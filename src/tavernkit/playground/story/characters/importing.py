"""Bringing characters in: new ones, those that are here already, and newer cards of those that are here.

Hundreds of files are received at once, and imported one by one in the background.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Literal, Protocol, TypeAlias
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import characters
from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.blobs.store import remove_unused, store
from tavernkit.playground.base.database import announce
from tavernkit.playground.base.database.models import (
    Character,
    CharacterAsset,
    CharacterVersion,
    Job,
    JobFile,
    SpaceMembership,
    User,
)
from tavernkit.playground.base.jobs.queries import find_job
from tavernkit.playground.base.jobs.service import enqueue_job
from tavernkit.playground.base.jobs.work import JobStopped, JobWork
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext, stored
from tavernkit.playground.base.realtime.bus import JOBS
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.access.access import Access, SpaceAccess
from tavernkit.playground.story.characters.cards import (
    UNNAMED,
    Change,
    changes_between,
    embedded_book,
    fill,
    fold,
    revise,
    stored_card,
)
from tavernkit.playground.story.characters.files import MAX_FILE_BYTES, SPRITES, PreparedFile, prepare, reason_of
from tavernkit.playground.story.characters.queries import assets_of, find_character
from tavernkit.playground.story.chatfiles.importing import ChatSource, PreparedChats, store_chats
from tavernkit.playground.story.lorebooks.links import CARD, book_name, link_named_book
from tavernkit.playground.story.spaces.service import space_for_chats
from tavernkit.values import Value

SameName: TypeAlias = Literal["new", "version", "skip"]
"""What a different card of the same name by the same creator becomes."""
Choice: TypeAlias = SameName | Literal["ask"]
"""The same, or to ask for each file."""

LIKELY = 20


class ImportedCharacter(Value, frozen=True, kw_only=True):
    """What became of a card file. `changes` are those of an update; `notes` say what could not be taken as it was."""

    outcome: Literal["imported", "same", "updated", "skipped", "asked"]
    character: Character
    sentence: str
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    namesake: Character | None = None
    """The character that the new one could have become a version of."""


async def import_file(
    runtime: Runtime,
    viewer: Viewer,
    file: bytes,
    *,
    character_id: UUID | None = None,
    as_new: bool = False,
    same_name: SameName = "new",
) -> ImportedCharacter:
    """Store a card file: as a newer card of the character that is named, as a new one, or as `same_name` says."""
    try:
        prepared = await asyncio.to_thread(prepare, file, now=runtime.clock())
    except TavernKitError as error:
        raise Refused("invalid", _unreadable(error)) from None
    async with runtime.database.write() as session:
        target = None
        if character_id is not None:
            target = await find_character(session, character_id, viewer, to_change=True)
        return await store_file(
            session, runtime, viewer.user_id, prepared, target=target, as_new=as_new, same_name=same_name
        )


async def store_file(
    session: AsyncSession,
    runtime: Runtime,
    owner_id: UUID,
    prepared: PreparedFile,
    *,
    target: Character | None = None,
    as_new: bool = False,
    same_name: Choice = "new",
    links_book: bool = True,
) -> ImportedCharacter:
    """Put a file into this transaction. One person's files are stored one after the other, so that none is doubled.

    A different card of the same name by the same creator becomes a version only where somebody has chosen that:
    creators publish several characters under one name. The lorebook that the card names is linked, unless the caller
    does so by the file that it means.
    """
    await session.execute(select(User.id).where(User.id == owner_id).with_for_update(key_share=True))
    if target is not None:
        return await _update(session, runtime, target, prepared, links_book=links_book)
    if as_new:
        return await _add(session, runtime, owner_id, prepared, links_book=links_book)
    known = await _made_by(session, owner_id, prepared)
    if known is not None:
        return known
    namesakes = await _namesakes(session, owner_id, prepared)
    for row in namesakes:
        if not await _changes(session, row, prepared):
            return _nothing_new(row, prepared)
    namesake = _likeliest(namesakes, prepared)
    if namesake is None:
        return await _add(session, runtime, owner_id, prepared)
    if same_name == "skip":
        return ImportedCharacter(
            outcome="skipped",
            character=namesake,
            sentence=_("Skipped: {name} already exists with a different card.", name=namesake.name),
        )
    if same_name == "ask":
        return ImportedCharacter(
            outcome="asked",
            character=namesake,
            sentence=_("{name} by the same creator exists with a different card.", name=namesake.name),
            namesake=namesake,
        )
    if same_name == "version":
        return await _update(session, runtime, namesake, prepared)
    added = await _add(session, runtime, owner_id, prepared)
    return added.with_(
        sentence=_(
            "{name} was imported as a new character. Another card with the same name and creator already exists.",
            name=added.character.name,
        ),
        namesake=namesake,
    )


async def add_as_version(
    session: AsyncSession, runtime: Runtime, row: Character, added: Character
) -> ImportedCharacter:
    """Make the card of a character that was just added the newest version of another one. Both must be locked."""
    card, file_sha256, spec_version = stored_card(added), added.file_sha256, added.spec_version
    changes = changes_between(row.data, added.data)
    unused: list[str | None] = []
    await revise(session, runtime, row, card, "imported", runtime.clock())
    row.file_sha256, row.spec_version = file_sha256, spec_version
    if added.avatar_sha256 is not None:
        unused += [row.avatar_sha256, row.thumbnail_sha256]
        row.avatar_sha256, row.thumbnail_sha256 = added.avatar_sha256, added.thumbnail_sha256
    if await assets_of(session, added.id):
        removed = delete(CharacterAsset).where(CharacterAsset.character_id == row.id).returning(CharacterAsset.sha256)
        unused += (await session.scalars(removed)).all()
        await session.execute(
            update(CharacterAsset).where(CharacterAsset.character_id == added.id).values(character_id=row.id)
        )
    await session.delete(added)
    await session.flush()
    await remove_unused(session, unused)
    return ImportedCharacter(outcome="updated", character=row, sentence=_updated_sentence(row), changes=changes)


async def _made_by(session: AsyncSession, owner_id: UUID, prepared: PreparedFile) -> ImportedCharacter | None:
    """The character that this very file made, or made an earlier version of."""
    own = (Character.owner_id == owner_id, Character.status == "ready")
    row: Character | None = await session.scalar(
        select(Character).where(*own, Character.file_sha256 == prepared.sha256).limit(1)
    )
    if row is not None:
        known = _("This file was already imported as {name}.", name=row.name)
        return ImportedCharacter(outcome="same", character=row, sentence=known)
    earlier = (
        await session.execute(
            select(Character, CharacterVersion.number)
            .join(CharacterVersion, CharacterVersion.character_id == Character.id)
            .where(*own, CharacterVersion.file_sha256 == prepared.sha256)
            .limit(1)
        )
    ).one_or_none()
    if earlier is None:
        return None
    row, number = earlier
    older = _("This file is version {number} of {name}, which has a newer version.", number=str(number), name=row.name)
    return ImportedCharacter(outcome="same", character=row, sentence=older)


async def _namesakes(session: AsyncSession, owner_id: UUID, prepared: PreparedFile) -> list[Character]:
    """The characters of the same name by the same creator."""
    card = prepared.card.character
    likely = await session.scalars(
        select(Character)
        .where(
            Character.owner_id == owner_id,
            Character.status == "ready",
            Character.name_key == fold(titled(card.name, UNNAMED))[:200],
        )
        # A copy comes after what it was made from, and a new character after the one that it may become a version of.
        .order_by(Character.file_sha256.is_(None), Character.created_at, Character.id)
        .limit(LIKELY)
        .with_for_update()
    )
    known = [(row, stored_card(row).character) for row in likely]
    return [row for row, other in known if card.name == other.name and card.creator == other.creator]


def _likeliest(namesakes: Sequence[Character], prepared: PreparedFile) -> Character | None:
    """The one that the file is most likely another card of.

    Where nobody is named as creator, something of what the card says must be the same, too: many share a name.
    """
    alike = next((row for row in namesakes if _is_alike(row, prepared)), None)
    if alike is None and prepared.card.character.creator:
        return next(iter(namesakes), None)
    return alike


def _is_alike(row: Character, prepared: PreparedFile) -> bool:
    card, known = prepared.card.character, stored_card(row).character
    return card.description == known.description or card.first_mes == known.first_mes


async def _add(
    session: AsyncSession, runtime: Runtime, owner_id: UUID, prepared: PreparedFile, *, links_book: bool = True
) -> ImportedCharacter:
    now = runtime.clock()
    row = Character(
        id=runtime.ids(),
        owner_id=owner_id,
        spec_version=int(prepared.card.spec[1]),
        file_sha256=prepared.sha256,
        created_at=now,
        updated_at=now,
    )
    fill(row, prepared.card)
    await store(session, prepared.blobs, now)
    session.add(row)
    await session.flush()
    await _replace_files(session, runtime, row, prepared)
    sentence = _("{name} was imported.", name=row.name)
    if prepared.chats is not None:
        await _add_story(session, runtime, owner_id, row, prepared.chats)
        sentence = ngettext(
            "{name} was imported, with a story of {count} chat.",
            "{name} was imported, with a story of {count} chats.",
            len(prepared.chats.files),
            name=row.name,
        )
    return ImportedCharacter(
        outcome="imported",
        character=row,
        sentence=sentence,
        notes=(*prepared.notes, *(await _link_book(session, runtime, row, before="") if links_book else ())),
    )


async def _add_story(
    session: AsyncSession, runtime: Runtime, owner_id: UUID, row: Character, chats: PreparedChats
) -> None:
    """Make a story of the chats that came in one file with a character. A new version of a character has none."""
    space, human, _speakers = await space_for_chats(session, runtime, await session.get_one(User, owner_id), row)
    source = ChatSource(
        space_id=space.id,
        title=row.name,
        user_name="",
        character_name=row.name,
        now=runtime.clock(),
    )
    access = SpaceAccess(space=space, member=human, level=Access.ADMINISTER)
    await store_chats(session, runtime, Viewer(user_id=owner_id), access, source, chats)


def _chat_notes(prepared: PreparedFile) -> tuple[str, ...]:
    """What to say where chats came with a character that is there already."""
    if prepared.chats is None:
        return ()
    return (_("The chats in the file were not imported. To add them, import the file on the page of a space."),)


async def _update(
    session: AsyncSession, runtime: Runtime, row: Character, prepared: PreparedFile, *, links_book: bool = True
) -> ImportedCharacter:
    now = runtime.clock()
    changes = await _changes(session, row, prepared)
    if not changes:
        return _nothing_new(row, prepared)
    before = book_name(row.data, *CARD)
    await store(session, prepared.blobs, now)
    await revise(session, runtime, row, prepared.card, "imported", now)
    row.file_sha256, row.spec_version = prepared.sha256, int(prepared.card.spec[1])
    await _replace_files(session, runtime, row, prepared)
    linked = await _link_book(session, runtime, row, before=before) if links_book else ()
    return ImportedCharacter(
        outcome="updated",
        character=row,
        sentence=_updated_sentence(row),
        changes=changes,
        notes=(*prepared.notes, *_chat_notes(prepared), *linked),
    )


def _nothing_new(row: Character, prepared: PreparedFile) -> ImportedCharacter:
    sentence = _("{name} already has this card.", name=row.name)
    return ImportedCharacter(
        outcome="same", character=row, sentence=sentence, notes=(*prepared.notes, *_chat_notes(prepared))
    )


def _updated_sentence(row: Character) -> str:
    return _(
        "{name} was updated to version {version}. The previous version is kept.",
        name=row.name,
        version=str(row.version),
    )


async def _changes(session: AsyncSession, row: Character, prepared: PreparedFile) -> tuple[Change, ...]:
    card_changes = changes_between(row.data, characters.write_card(prepared.card))
    return (*card_changes, *await _changed_files(session, row, prepared))


async def _link_book(session: AsyncSession, runtime: Runtime, row: Character, *, before: str) -> tuple[str, ...]:
    """Link the lorebook that the card names, unless the card before named it already; what to say about it."""
    name = book_name(row.data, *CARD)
    if row.owner_id is None or name in ("", before):
        return ()
    if await link_named_book(runtime, session, row.owner_id, name, character_id=row.id):
        return (_("The lorebook {lorebook} is linked to this character.", lorebook=name),)
    if embedded_book(row) is not None:
        return ()
    return (_("The card uses the lorebook {lorebook}, which is missing. Import it to link it.", lorebook=name),)


async def _changed_files(session: AsyncSession, row: Character, prepared: PreparedFile) -> list[Change]:
    changes: list[Change] = []
    if prepared.picture is not None and prepared.picture.png.sha256 != row.avatar_sha256:
        changes.append(Change(field="picture", before=row.avatar_sha256, after=prepared.picture.png.sha256))
    if prepared.assets:
        before = {
            asset.uri: asset.sha256 for asset in await assets_of(session, row.id) if not asset.uri.startswith(SPRITES)
        }
        after = {asset.uri: asset.blob.sha256 for asset in prepared.assets}
        if before != after:
            changes.append(Change(field="files", before=f"{len(before)} files", after=f"{len(after)} files"))
    return changes


async def _replace_files(session: AsyncSession, runtime: Runtime, row: Character, prepared: PreparedFile) -> None:
    """Take the file's pictures and assets. A file without any, such as plain JSON, leaves those that are there."""
    unused: list[str | None] = []
    if prepared.picture is not None:
        unused += [row.avatar_sha256, row.thumbnail_sha256]
        row.avatar_sha256, row.thumbnail_sha256 = prepared.picture.png.sha256, prepared.picture.thumbnail.sha256
    if prepared.assets:
        removed = await session.scalars(
            delete(CharacterAsset)
            .where(CharacterAsset.character_id == row.id, ~CharacterAsset.uri.startswith(SPRITES))
            .returning(CharacterAsset.sha256)
        )
        unused += removed.all()
        session.add_all(
            CharacterAsset(
                id=runtime.ids(),
                character_id=row.id,
                kind=asset.kind,
                name=asset.name,
                ext=asset.ext,
                uri=asset.uri,
                sha256=asset.blob.sha256,
            )
            for asset in prepared.assets
        )
    if any(unused):
        await remove_unused(session, unused)


IMPORT_KIND = "character_import"
MAX_FILES = 2000
MAX_TOTAL_BYTES = 2 * 1024 * 1024 * 1024
RECEIVING = timedelta(hours=1)
BATCH_BYTES = 8 * 1024 * 1024
OUTCOMES = ("imported", "updated", "same", "skipped", "asked", "failed")


class SentFile(Protocol):
    """A file that somebody sent, lying somewhere until it is read."""

    @property
    def filename(self) -> str | None: ...

    @property
    def size(self) -> int | None: ...

    async def read(self, size: int = -1) -> bytes: ...


async def start_import(
    runtime: Runtime, viewer: Viewer, files: Sequence[SentFile], *, same_name: Choice = "new"
) -> Job:
    """Lay the files down where any worker finds them, and queue their import.

    Not in one transaction: gigabytes would keep everybody else from writing. The job waits until all are there; if the
    application ends in between, what had arrived is imported after an hour, and the rest is reported as missing.
    """
    async with runtime.database.write() as session:
        job = await enqueue_job(
            session,
            runtime,
            kind=IMPORT_KIND,
            owner_id=viewer.user_id,
            payload={"files": len(files), "same_name": same_name},
            total=len(files),
            delay=RECEIVING,
        )
    position = 0
    while position < len(files):
        async with runtime.database.write() as session:
            size = 0
            while position < len(files) and size < BATCH_BYTES:
                size += await _lay_down(session, job.id, position, files[position])
                position += 1
    async with runtime.database.write() as session:
        job = await session.get_one(Job, job.id)
        job.run_after = await runtime.lease_clock.now(session)
        announce(session, JOBS, queued=str(job.id))
    return job


async def import_staged_files(work: JobWork) -> dict[str, Any]:
    """Import the files that are left, each in a transaction with its outcome, and count what became of all."""
    job_id, owner_id = work.claim.job_id, work.claim.owner_id
    if owner_id is None:
        raise TavernKitError(_("The import has no owner, so nothing was imported."))
    database = work.runtime.database
    last = -1
    while True:
        work.check()
        async with database.read() as session:
            file = await session.scalar(
                select(JobFile)
                .where(JobFile.job_id == job_id, JobFile.position > last, JobFile.outcome.is_(None))
                .order_by(JobFile.position)
                .limit(1)
            )
        if file is None:
            break
        await _import(work, owner_id, file)
        last = file.position
    async with database.read() as session:
        return await _counts(session, job_id, expected=work.claim.payload["files"])


async def _lay_down(session: AsyncSession, job_id: UUID, position: int, file: SentFile) -> int:
    name = titled(file.filename or "", f"file {position + 1}", limit=300)
    if (file.size or 0) > MAX_FILE_BYTES:
        outcome = _failed(
            _(
                "The file is too large: {size} bytes. The limit is {limit} bytes.",
                size=file.size,
                limit=MAX_FILE_BYTES,
            )
        )
        session.add(JobFile(job_id=job_id, position=position, name=name, outcome=outcome, data=None))
        return 0
    data = await file.read()
    row = JobFile(job_id=job_id, position=position, name=name, outcome=None, data=data)
    session.add(row)
    await session.flush()
    # The session would hold on to the bytes until it is closed.
    session.expunge(row)
    return len(data)


async def _import(work: JobWork, owner_id: UUID, file: JobFile) -> None:
    runtime = work.runtime
    try:
        prepared = await asyncio.to_thread(prepare, file.data or b"", now=runtime.clock())
    except TavernKitError as error:
        async with runtime.database.write() as session:
            await _settle(work, session, file, _failed(_unreadable(error)))
        return
    async with runtime.database.write() as session:
        # A job that was queued before there was a choice has none.
        same_name: Choice = work.claim.payload.get("same_name", "new")
        stored = await store_file(session, runtime, owner_id, prepared, same_name=same_name)
        await _settle(work, session, file, outcome_of(stored))


async def _settle(work: JobWork, session: AsyncSession, file: JobFile, outcome: dict[str, Any]) -> None:
    settled = await session.execute(
        update(JobFile)
        .where(JobFile.job_id == file.job_id, JobFile.position == file.position, JobFile.outcome.is_(None))
        # A file that somebody is asked about is still needed.
        .values(outcome=outcome, data=file.data if outcome["outcome"] == "asked" else None)
        .returning(JobFile.position)
    )
    if settled.one_or_none() is None:
        raise JobStopped("lost")
    await work.commit_step(session, file.position + 1)


async def _counts(session: AsyncSession, job_id: UUID, *, expected: int) -> dict[str, Any]:
    outcomes = await session.scalars(select(JobFile.outcome).where(JobFile.job_id == job_id))
    counts = dict.fromkeys(OUTCOMES, 0)
    for outcome in outcomes:
        counts[outcome["outcome"] if outcome else "failed"] += 1
    return {**counts, "missing": expected - sum(counts.values())}


def outcome_of(imported: ImportedCharacter) -> dict[str, Any]:
    """What is stored about a file that was imported."""
    return {
        "outcome": imported.outcome,
        "sentence": stored(imported.outcome, imported.sentence),
        "character_id": None if imported.outcome == "asked" else str(imported.character.id),
        "changed": [change.field for change in imported.changes],
        "notes": [stored("note", note) for note in imported.notes],
        "namesake_id": None if imported.namesake is None else str(imported.namesake.id),
    }


def _unreadable(error: TavernKitError) -> str:
    return _("The file cannot be read: {reason}", reason=reason_of(error))


def _failed(sentence: str) -> dict[str, Any]:
    return {
        "outcome": "failed",
        "sentence": stored("failed", sentence),
        "character_id": None,
        "changed": [],
        "notes": [],
        "namesake_id": None,
    }


async def file_as_version(runtime: Runtime, viewer: Viewer, job_id: UUID, position: int) -> None:
    """Turn the character that a file became into a new version of its namesake, as long as no story has it."""
    async with runtime.database.write() as session:
        # As every import of this person does first: no file of theirs is stored meanwhile.
        await session.execute(select(User.id).where(User.id == viewer.user_id).with_for_update(key_share=True))
        job = await find_job(session, job_id, viewer, lock=True)
        file = await session.get(JobFile, (job_id, position))
        if job is None or job.kind != IMPORT_KIND or file is None:
            raise not_found(_("file"))
        named = None if file.outcome is None else file.outcome.get("namesake_id")
        if file.outcome is None or named is None:
            return
        added_id = UUID(file.outcome["character_id"])
        row = await find_character(session, UUID(named), viewer, to_change=True)
        added = await find_character(session, added_id, viewer, to_change=True)
        is_used = select(SpaceMembership.id).where(SpaceMembership.character_id == added_id).limit(1)
        if added.version > 1 or await session.scalar(is_used) is not None:
            raise Refused(
                "conflict",
                _("{name} was edited or is in a story, so it cannot become a version.", name=added.name),
            )
        _change_outcome(job, file, await add_as_version(session, runtime, row, added))


async def answer_file(runtime: Runtime, viewer: Viewer, job_id: UUID, position: int, choice: SameName) -> None:
    """Do with a file what somebody who was asked has chosen; an answer that was given already stays."""
    async with runtime.database.read() as session:
        if await find_job(session, job_id, viewer) is None:
            raise not_found(_("file"))
        data = await session.scalar(select(JobFile.data).where(JobFile.job_id == job_id, JobFile.position == position))
    try:
        prepared = await asyncio.to_thread(prepare, data) if data else None
    except TavernKitError as error:
        raise Refused("invalid", _unreadable(error)) from None
    async with runtime.database.write() as session:
        await session.execute(select(User.id).where(User.id == viewer.user_id).with_for_update(key_share=True))
        job = await find_job(session, job_id, viewer, lock=True)
        file = await session.get(JobFile, (job_id, position))
        if job is None or job.kind != IMPORT_KIND or file is None:
            raise not_found(_("file"))
        if file.outcome is None or file.outcome["outcome"] != "asked":
            return
        if prepared is None:
            raise Refused("conflict", _("The file was kept for a week. Import it again."))
        _change_outcome(job, file, await store_file(session, runtime, viewer.user_id, prepared, same_name=choice))
        file.data = None


def _change_outcome(job: Job, file: JobFile, imported: ImportedCharacter) -> None:
    """Write down what became of a file after all, and count it anew."""
    before = file.outcome["outcome"] if file.outcome else "failed"
    file.outcome = outcome_of(imported)
    if job.result and before != imported.outcome:
        counts = {before: job.result[before] - 1, imported.outcome: job.result[imported.outcome] + 1}
        job.result = {**job.result, **counts}
