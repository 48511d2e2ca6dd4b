"""What a person chooses single things to export from: by search, among thousands, a kind at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias
from uuid import UUID

from sqlalchemy import ColumnElement, Uuid, literal, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Lorebook, Preset, Space
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext
from tavernkit.playground.base.paging import behind_name, cursor
from tavernkit.playground.base.storable import storable
from tavernkit.playground.edge.presenting.home import CastChoice, character_choice, face, faces_in, usable_characters
from tavernkit.playground.edge.views.presets import KIND_NAMES
from tavernkit.playground.story.characters.queries import SEARCH_WORDS
from tavernkit.playground.story.spaces.queries import is_in
from tavernkit.values import Value

PickedKind: TypeAlias = Literal["character", "space", "lorebook", "preset"]

PICKED_KINDS: Mapping[PickedKind, str] = {
    "character": _("Characters"),
    "space": _("Stories"),
    "lorebook": _("Lorebooks"),
    "preset": _("Presets"),
}
ITEMS_SHOWN = 60
MAX_PICKED = 100
"""So many things can be chosen on the page: a search brings all of them along in its address."""


class ExportPicker(Value, frozen=True, kw_only=True):
    """The things of one kind that a search finds, below everything that is chosen. Each choice is with its kind; `more`
    is where the list goes on."""

    kind: PickedKind
    kinds: Mapping[PickedKind, str]
    search: str
    chosen: tuple[tuple[PickedKind, CastChoice], ...]
    found: tuple[tuple[PickedKind, CastChoice], ...]
    more: str
    is_first: bool


class _Row(Value, frozen=True, kw_only=True):
    """Something that can be chosen; `key` is what it is sorted by."""

    id: UUID
    key: str
    choice: CastChoice


async def export_picker(
    session: AsyncSession,
    viewer: Viewer,
    *,
    chosen: Mapping[PickedKind, Sequence[UUID]],
    kind: PickedKind,
    search: str,
    after: str | None,
) -> ExportPicker:
    """What is chosen so far, and what else can be."""
    place = behind_name(after)
    picked: list[tuple[PickedKind, CastChoice]] = []
    for other, ids in chosen.items():
        if ids:
            rows = await _rows(session, viewer, other, only=ids)
            picked += [(other, row.choice.with_(is_chosen=True)) for row in rows]
    rows = await _rows(session, viewer, kind, but=chosen.get(kind, ()), search=search, after=place)
    shown = rows[:ITEMS_SHOWN]
    return ExportPicker(
        kind=kind,
        kinds=PICKED_KINDS,
        search=search,
        chosen=tuple(picked),
        found=tuple((kind, row.choice) for row in shown),
        more=cursor(shown[-1].key, str(shown[-1].id)) if len(rows) > ITEMS_SHOWN else "",
        is_first=place is None,
    )


async def _rows(
    session: AsyncSession,
    viewer: Viewer,
    kind: PickedKind,
    *,
    only: Sequence[UUID] | None = None,
    but: Sequence[UUID] = (),
    search: str = "",
    after: tuple[str, UUID] | None = None,
) -> list[_Row]:
    """Things of a kind by name: `only` these, or all `but` those that a search finds, a page and one more."""
    if kind == "character":
        limit = 0 if only is not None else ITEMS_SHOWN + 1
        wanted = but if only is None else only
        found = await usable_characters(session, viewer, limit=limit, even=wanted, search=search, after=after)
        is_wanted = [row for row in found if (row.id in wanted) == (only is not None)]
        return [_Row(id=row.id, key=row.name_key, choice=character_choice(row)) for row in is_wanted]
    columns, usable = _table(kind, viewer)
    id, name, about = columns
    query = select(id, name, about).where(usable)
    if only is not None:
        query = query.where(id.in_(only))
    else:
        words = storable(search).split()[:SEARCH_WORDS]
        query = query.where(id.not_in(but), *(name.icontains(word, autoescape=True) for word in words))
        query = query.limit(ITEMS_SHOWN + 1)
    if after is not None:
        query = query.where(tuple_(name, id) > tuple_(literal(after[0]), literal(after[1], Uuid())))
    rows = [(id, name, about) for id, name, about in await session.execute(query.order_by(name, id))]
    faces = await faces_in(session, [id for id, *_rest in rows]) if kind == "space" else {}
    return [
        _Row(
            id=id,
            key=name,
            choice=CastChoice(
                id=str(id),
                face=face(name, None),
                tagline=", ".join(one.name for one in faces.get(id, ())) if kind == "space" else _about(about),
            ),
        )
        for id, name, about in rows
    ]


_Columns: TypeAlias = tuple[InstrumentedAttribute[UUID], InstrumentedAttribute[str], InstrumentedAttribute[str | int]]


def _table(kind: PickedKind, viewer: Viewer) -> tuple[_Columns, ColumnElement[bool]]:
    """The id, the name and a fact of each thing of a kind, and which of them the person may export."""
    match kind:
        case "space":
            usable = is_in(viewer) & Space.status.in_(("active", "archived"))
            return (Space.id, Space.name, Space.status), usable
        case "lorebook":
            is_own = (Lorebook.owner_id == viewer.user_id) & (Lorebook.status == "ready")
            return (Lorebook.id, Lorebook.name, Lorebook.entries_count), is_own
        case _:
            is_visible = or_(Preset.owner_id == viewer.user_id, Preset.owner_id.is_(None))
            return (Preset.id, Preset.name, Preset.kind), is_visible


def _about(about: str | int) -> str:
    """How many entries a lorebook has, or what kind a preset is of."""
    if isinstance(about, int):
        return ngettext("{count} entry", "{count} entries", about)
    return KIND_NAMES[about]
