"""Personas with their pictures: a ZIP archive of SillyTavern's backup and its folder of pictures, out and in."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from pathlib import PurePosixPath
from uuid import UUID

from anyio import to_thread
from sqlalchemy import select

from tavernkit.characters.ingest.archive import Archive
from tavernkit.characters.limits import CardLimits
from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.blobs.media_types import media_type_of
from tavernkit.playground.base.database.models import Blob, Persona
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import sentence_of
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.personas.queries import all_personas
from tavernkit.playground.story.personas.service import (
    MAX_IMPORT_BYTES,
    MAX_PICTURE_BYTES,
    export_personas,
    import_personas,
    import_picture,
)
from tavernkit.reading import ImportReport, Note
from tavernkit.text.js_json import to_json
from tavernkit.values import Value

BACKUP = "personas.json"
FOLDER = "User Avatars"
"""What SillyTavern calls the folder of the pictures."""
MAX_PICTURES = 1_000
_PICTURES = {".png", ".jpg", ".jpeg", ".webp", ".gif"}
_LIMITS = CardLimits(
    archive_entries=20_000, archive_entry_bytes=MAX_PICTURE_BYTES, archive_total_bytes=2 * MAX_IMPORT_BYTES
)
_EPOCH = (1980, 1, 1, 0, 0, 0)


class ImportedPersonas(Value, frozen=True, kw_only=True):
    """What a file brought: personas that are new or known now, and how many were there already."""

    rows: Sequence[Persona]
    known: int
    report: ImportReport


async def import_file(runtime: Runtime, viewer: Viewer, data: bytes, *, name: str) -> ImportedPersonas:
    """A backup, a picture for the persona of its file name, or an archive of both."""
    if media_type_of(data).startswith("image/"):
        row, is_new = await import_picture(runtime, viewer, data, name=name)
        return ImportedPersonas(rows=[row], known=0 if is_new else 1, report=ImportReport(format="picture"))
    if data.startswith(b"PK"):
        return await _import_archive(runtime, viewer, data)
    rows, known, report = await import_personas(runtime, viewer, data)
    return ImportedPersonas(rows=rows, known=known, report=report)


async def export_archive(runtime: Runtime, viewer: Viewer) -> bytes:
    """All personas as SillyTavern's backup, and their pictures under the names that it gives them."""
    backup = await export_personas(runtime, viewer)
    names = backup["personas"]
    async with runtime.database.read() as session:
        rows = await all_personas(session, viewer.user_id)
        wanted = {row.avatar_sha256 for row in rows if row.avatar_sha256 is not None}
        found = await session.execute(select(Blob.sha256, Blob.data).where(Blob.sha256.in_(wanted)))
        pictures = {row.sha256: row.data for row in found}
    avatars = names if isinstance(names, dict) else {}

    def write() -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            text = to_json(backup, indent=4).encode("utf-8", "replace")
            archive.writestr(zipfile.ZipInfo(BACKUP, _EPOCH), text, zipfile.ZIP_DEFLATED)
            # A persona that was made in between has no name in the backup yet, and no picture in the archive.
            for avatar, row in zip(avatars, rows, strict=False):
                if row.avatar_sha256 in pictures and PurePosixPath(avatar).name == avatar:
                    archive.writestr(zipfile.ZipInfo(f"{FOLDER}/{avatar}", _EPOCH), pictures[row.avatar_sha256])
        return buffer.getvalue()

    return await to_thread.run_sync(write)


async def _import_archive(runtime: Runtime, viewer: Viewer, data: bytes) -> ImportedPersonas:
    try:
        archive = await to_thread.run_sync(Archive, data, _LIMITS)
        backup = next((name for name in archive.names if name in (BACKUP, "settings.json")), None)
        backup = backup or next((name for name in archive.names if name.endswith(".json") and "/" not in name), None)
        pictures = [name for name in archive.names if _is_picture(name)]
        if len(pictures) > MAX_PICTURES:
            raise Refused(
                "too_long",
                _(
                    "The archive has {count} pictures. The limit is {limit}; split it.",
                    count=len(pictures),
                    limit=MAX_PICTURES,
                ),
            )
        if backup is None and not pictures:
            raise Refused("invalid", _("The archive has no personas and no pictures of personas."))
        rows: dict[UUID, Persona] = {}
        known, report = 0, ImportReport(format="personas")
        if backup is not None:
            read, known, report = await import_personas(runtime, viewer, await to_thread.run_sync(archive.read, backup))
            rows = {row.id: row for row in read}
        notes = list(report.notes)
        for name in pictures:
            try:
                stem = PurePosixPath(name).stem
                picture = await to_thread.run_sync(archive.read, name)
                row, _is_new = await import_picture(runtime, viewer, picture, name=stem)
                rows[row.id] = row
            except Refused as refused:
                notes.append(Note(path=name, outcome="ignored", message=refused.sentence))
    except TavernKitError as error:
        raise Refused("invalid", _("The file cannot be read: {reason}", reason=sentence_of(error))) from None
    return ImportedPersonas(rows=list(rows.values()), known=known, report=report.with_(notes=tuple(notes)))


def _is_picture(name: str) -> bool:
    """Whether a file of an archive is the picture of a persona: in the folder of those, or in none."""
    path = PurePosixPath(name)
    return path.suffix.lower() in _PICTURES and path.parent.name in (FOLDER, "")
