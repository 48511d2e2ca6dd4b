"""Pictures that chats show and that lie beside them in the folder."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import IO
from urllib.parse import unquote, urlsplit
from uuid import UUID

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import TavernKitError
from tavernkit.migration.files import FileKind, FileSource
from tavernkit.playground.base.blobs.pictures import PictureError, measure
from tavernkit.playground.base.blobs.store import NewBlob
from tavernkit.playground.base.database.models import ImportItem
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.story.chatfiles.pictures import FilePicture
from tavernkit.playground.story.migration.items import ImportJob, ItemHandler
from tavernkit.playground.story.paths.pictures import MAX_PICTURE_BYTES

_CACHE = "chat pictures"
_MOST_KNOWN = 10_000
_FOLDER = "user/"


class PictureFinder:
    """Finds the pictures that one chat names: `shown` are the paths of those that are there, `missing` those of others
    that should be."""

    def __init__(self, job: ImportJob) -> None:
        self.shown: dict[str, None] = {}
        self.missing: dict[str, None] = {}
        self._source = job.source
        self._is_wanted = job.choices.kinds is None or "chat_media" in job.choices.kinds
        # By path. Many chats name the same picture: each branch those of the chat that it was made from.
        self._known: dict[str, FilePicture | None] = job.cache.setdefault(_CACHE, {})

    def find(self, address: str) -> FilePicture | None:
        """The picture of the folder that an address names, if it is one."""
        paths = list(paths_of(address)) if self._is_wanted else []
        for path in paths:
            try:
                picture = self._read(path)
            except TavernKitError:
                continue
            if picture is not None:
                self.shown[path] = None
            return picture
        if paths:
            self.missing[paths[0]] = None
        return None

    def _read(self, path: str) -> FilePicture | None:
        """The picture; None for a file that is none. Raises TavernKitError where there is no such file."""
        if path not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[path] = _measured(self._source, path)
        return self._known[path]


def paths_of(address: str) -> Iterator[str]:
    """The paths in a folder that an address of SillyTavern may mean; none for what is elsewhere."""
    parts = urlsplit(address)
    path = parts.path.removeprefix("/")
    if not parts.scheme and not parts.netloc and path.startswith(_FOLDER):
        # A name may have a question mark or a percent sign in it, or stand for one.
        yield from dict.fromkeys((path, unquote(path), address.removeprefix("/")))


def _measured(source: FileSource, path: str) -> FilePicture | None:
    with source.open(path) as file:
        data = file.read(MAX_PICTURE_BYTES + 1)
    if len(data) > MAX_PICTURE_BYTES:
        return None
    try:
        picture = measure(data)
    except PictureError:
        return None
    sha256 = picture.blob.sha256

    def read() -> NewBlob:
        # Not kept meanwhile: a chat may show thousands of pictures.
        with source.open(path) as again:
            blob = NewBlob.of(_all_of(again))
        if blob.sha256 != sha256:
            raise TavernKitError(_("{path} was changed while it was imported. Import it again.", path=path))
        return blob

    return FilePicture(sha256=sha256, width=picture.width, height=picture.height, read=read)


def _all_of(file: IO[bytes]) -> bytes:
    return file.read(MAX_PICTURE_BYTES + 1)


async def note_shown(session: AsyncSession, job: ImportJob, paths: Collection[str], conversation_id: UUID) -> None:
    """Say in the report that these pictures are seen in a conversation; the first that shows one is named."""
    if not paths:
        return
    await session.execute(
        update(ImportItem)
        .where(
            ImportItem.import_id == job.import_id,
            ImportItem.path.in_(paths),
            ImportItem.kind == "chat_media",
            ImportItem.verdict == "kept",
        )
        .values(verdict="exact", target_kind="conversation", target_id=conversation_id),
        execution_options={"synchronize_session": False},
    )


HANDLERS: Mapping[FileKind, ItemHandler] = {}
"""None: a file that lies beside chats is kept as it is. That a chat shows it, is known when the chat is imported."""
