"""Pictures of a folder: sprites become emotions of characters; backgrounds are kept until something shows them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from uuid import UUID

from anyio import to_thread
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.migration.files import FileKind
from tavernkit.playground.base.blobs.pictures import PictureError, read_upload
from tavernkit.playground.base.blobs.store import NewBlob, remove_unused, store
from tavernkit.playground.base.database.models import Blob, Character, CharacterAsset, ImportedFile
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import sentence_of
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.access.personas import character_key
from tavernkit.playground.story.characters.assets import MAX_PICTURES
from tavernkit.playground.story.characters.files import MAX_ASSETS_BYTES, SPRITES, read_asset
from tavernkit.playground.story.migration.items import ImportJob, Item, ItemHandler, ItemOutcome
from tavernkit.playground.story.migration.kept import kept_bytes
from tavernkit.playground.story.paths.pictures import EMOTION

BACKGROUNDS = "backgrounds"


class SpriteHandler:
    """Imports the pictures in the folder of a character as its emotions. Characters of one name share the folder.

    The cards stay as they are: SillyTavern finds sprites by their folder alone.
    """

    def prepare(self, job: ImportJob, item: Item, data: bytes) -> tuple[NewBlob, str] | str:
        try:
            return read_asset(data)
        except PictureError as error:
            return sentence_of(error)

    async def store(
        self, session: AsyncSession, job: ImportJob, item: Item, prepared: tuple[NewBlob, str] | str
    ) -> ItemOutcome:
        _top, folder, *inside = PurePosixPath(item.path).parts
        if isinstance(prepared, str):
            return ItemOutcome(verdict="kept", notes=(prepared,))
        if len(inside) != 1:
            return ItemOutcome(verdict="kept", notes=(_("Only one set of expressions per character is used here."),))
        characters = (await _characters_by_folder(session, job)).get(folder, ())
        if not characters:
            note = _("No character of this folder is called “{name}”.", name=folder)
            return ItemOutcome(verdict="kept", notes=(note,))
        blob, ext = prepared
        label = expression_of(inside[0])
        await store(session, [blob], job.now)
        shown = [
            await _show(session, job, character_id, f"{SPRITES}{folder}/{inside[0]}", label, ext, blob)
            for character_id in characters
        ]
        if not any(shown):
            note = _("A character can have at most {limit} pictures.", limit=MAX_PICTURES)
            return ItemOutcome(verdict="kept", notes=(note,))
        return ItemOutcome(verdict="exact", target_kind="character", target_id=characters[0])


class BackgroundHandler:
    """Keeps backgrounds; one that a chat or the settings choose is stored as a picture then."""

    def prepare(self, job: ImportJob, item: Item, data: bytes) -> None:
        """Nothing is read before it is used."""

    async def store(self, session: AsyncSession, job: ImportJob, item: Item, prepared: None) -> ItemOutcome:
        return ItemOutcome(verdict="kept", notes=(_("It is shown behind the chats that chose it."),))


HANDLERS: Mapping[FileKind, ItemHandler] = {"sprite": SpriteHandler(), "background": BackgroundHandler()}


async def background_blob(session: AsyncSession, job: ImportJob, name: str) -> str | None:
    """The hash of a background of this source as a stored picture, by the name of its file; None where there is no such
    picture. What refers to it must be written in the same transaction."""
    known: dict[str, NewBlob | None] = job.cache.setdefault(BACKGROUNDS, {})
    if name not in known:
        known.clear()  # Many chats in a row have the same one, and pictures are large.
        known[name] = await read_background(session, job.source_id, name)
    blob = known[name]
    if blob is None:
        return None
    await store(session, [blob], job.now)
    return blob.sha256


async def read_background(session: AsyncSession, source_id: UUID, name: str) -> NewBlob | None:
    """A background of a source as it is stored once something shows it; None where there is no such picture."""
    query = select(ImportedFile.kept_sha256).where(
        ImportedFile.source_id == source_id, ImportedFile.path == f"{BACKGROUNDS}/{name}"
    )
    sha256 = await session.scalar(query)
    return None if sha256 is None else await to_thread.run_sync(_read, await kept_bytes(session, sha256))


def expression_of(name: str) -> str:
    """What SillyTavern takes the name of a sprite's file for: several may show one expression."""
    return titled(name.partition(".")[0].partition("-")[0], "unnamed", limit=180)


def _read(data: bytes) -> NewBlob | None:
    try:
        return read_upload(data).blob
    except PictureError:
        return None


async def _characters_by_folder(session: AsyncSession, job: ImportJob) -> Mapping[str, Sequence[UUID]]:
    """The characters of this source by what folders of their sprites can be called: by their names and their files."""
    if "sprite folders" not in job.cache:
        rows = await session.execute(
            select(ImportedFile.path, Character.id, Character.name)
            .join(Character, Character.id == ImportedFile.target_id)
            .where(
                ImportedFile.source_id == job.source_id,
                ImportedFile.target_kind == "character",
                ImportedFile.kind == "character",
                Character.status == "ready",
            )
            .order_by(ImportedFile.path)
        )
        found: defaultdict[str, list[UUID]] = defaultdict(list)
        for path, id, name in rows:
            file = PurePosixPath(path)
            for folder in {name, PurePosixPath(character_key(name)).stem, file.stem}:
                found[folder].append(id)
        job.cache["sprite folders"] = dict(found)
    folders: Mapping[str, Sequence[UUID]] = job.cache["sprite folders"]
    return folders


async def _show(
    session: AsyncSession, job: ImportJob, character_id: UUID, uri: str, label: str, ext: str, blob: NewBlob
) -> bool:
    """Give a character a picture of an emotion, as far as there is room; one that was imported before is replaced, and
    one that the character has already, as from its card, is not added."""
    rows = (
        await session.execute(
            select(CharacterAsset, Blob.size)
            .join(Blob, Blob.sha256 == CharacterAsset.sha256)
            .where(CharacterAsset.character_id == character_id, CharacterAsset.kind == EMOTION)
        )
    ).all()
    known = next((asset for asset, _size in rows if asset.uri == uri), None)
    if known is not None:
        before, known.sha256, known.ext = known.sha256, blob.sha256, ext
        await remove_unused(session, [before])
        return True
    if any(asset.sha256 == blob.sha256 and expression_of(asset.name) == label for asset, _size in rows):
        return True
    if len(rows) >= MAX_PICTURES or sum(size for _asset, size in rows) + len(blob.data) > MAX_ASSETS_BYTES:
        return False
    taken = {asset.name for asset, _size in rows}
    name, number = label, 1
    while name in taken:
        number += 1
        name = f"{label}-{number}"
    session.add(
        CharacterAsset(
            id=job.runtime.ids(),
            character_id=character_id,
            kind=EMOTION,
            name=name,
            ext=ext,
            uri=uri,
            sha256=blob.sha256,
        )
    )
    await session.flush()
    return True
