"""Parts of RisuAI's database as an import finds them, and what they have become."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import ParseError, TavernKitError
from tavernkit.migration.risuai.parts import ROOT, listed_path, part_path
from tavernkit.playground.base.blobs.store import MAX_BLOB_BYTES
from tavernkit.playground.story.migration.items import ImportJob
from tavernkit.reading import LooseObject, ReportBuilder, parse_json
from tavernkit.values import Json, JsonObject

MAX_BYTES = 256 * 1024 * 1024
MAX_VALUES = 20_000_000
_PARTS = "parts of RisuAI"
_MOST_KEPT = 64


def read_part(data: bytes, what: str) -> dict[str, Json]:
    """The object that a part is. Raises ParseError."""
    found = parse_json(data, what=what, max_bytes=MAX_BYTES, max_values=MAX_VALUES)
    if not isinstance(found, dict):
        raise ParseError(f"{what} must be a JSON object.")
    return found


def part_at(job: ImportJob, path: str) -> dict[str, Json]:
    """Another part of the same source, without fields where it is not there. The last ones are remembered.

    Takes a while, so not to be called in the event loop.
    """
    known: dict[str, dict[str, Json]] = job.cache.setdefault(_PARTS, {})
    if path not in known:
        try:
            with job.source.open(path) as file:
                found = read_part(file.read(MAX_BYTES), path)
        except TavernKitError:
            found = {}
        if len(known) >= _MOST_KEPT:
            known.clear()
        known[path] = found
    return known[path]


def loose(fields: Mapping[str, Json]) -> LooseObject:
    """A part, or what is in one, to be read field by field."""
    return LooseObject(fields, ReportBuilder())


def asset_bytes(job: ImportJob, path: str) -> bytes | None:
    """The bytes of a file, or one more than can be stored; None where it is not there."""
    try:
        with job.source.open(path) as file:
            return file.read(MAX_BLOB_BYTES + 1)
    except TavernKitError:
        return None


async def selected_target(
    session: AsyncSession, job: ImportJob, root: JsonObject, list_name: str, index_name: str
) -> UUID | None:
    """What the part of a list has become that the database has selected by its place."""
    names, index = root.get(list_name), root.get(index_name)
    if not isinstance(names, list) or not isinstance(index, int) or not 0 <= index < len(names):
        return None
    name = names[index]
    return await job.target_of(session, listed_path(ROOT, list_name, name)) if isinstance(name, str) else None


async def target_with_id(session: AsyncSession, job: ImportJob, list_name: str, id: str) -> UUID | None:
    """What the part of a list of the database that has this id has become."""
    return await job.target_of(session, part_path(list_name, id))


async def targets_with_ids(session: AsyncSession, job: ImportJob, list_name: str, ids: Iterable[str]) -> list[UUID]:
    """The same for several; those that became nothing are left out."""
    found = [await target_with_id(session, job, list_name, id) for id in dict.fromkeys(ids)]
    return [id for id in found if id is not None]
