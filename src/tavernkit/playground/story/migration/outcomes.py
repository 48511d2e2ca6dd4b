"""What handlers of files have in common: what is done with an item, and what is said about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Literal, TypeAlias
from uuid import UUID

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import listed, ngettext
from tavernkit.playground.base.storable import storable
from tavernkit.playground.story.migration.items import Item, ItemOutcome, TargetKind
from tavernkit.reading import ImportReport

MAX_NOTES = 20
MAX_NOTE_CHARACTERS = 500

Step: TypeAlias = Literal["add", "replace", "keep"]


def step_for(item: Item) -> Step:
    """Whether a file becomes something new, replaces what an earlier import made of it, or leaves that as it is."""
    if item.target_id is None:
        return "add"
    if not item.is_changed_here or item.conflict == "replace":
        return "replace"
    return "keep" if item.conflict == "keep" else "add"


def kept_here(item: Item) -> ItemOutcome:
    """The outcome of an item that was changed on both sides, of which the side here stays."""
    return ItemOutcome(
        verdict="skipped",
        target_kind=item.target_kind,
        target_id=item.target_id,
        notes=(_("Changed here and in the folder. The version here was kept."),),
    )


def imported(
    item: Item,
    target_kind: TargetKind,
    target_id: UUID,
    *,
    converted: Iterable[str] = (),
    notes: Iterable[str] = (),
) -> ItemOutcome:
    """The outcome of an item that became something; `converted` says what of it is not as it was in the file."""
    told = list(converted)
    if len(told) > MAX_NOTES:
        told[MAX_NOTES - 1 :] = [ngettext("and {count} more", "and {count} more", len(told) - MAX_NOTES + 1)]
    both = step_for(item) == "add" and item.target_id is not None
    beside = [_("Changed here and in the folder. The file was imported beside the version here.")] if both else []
    return ItemOutcome(
        verdict="converted" if told else "exact",
        target_kind=target_kind,
        target_id=target_id,
        notes=(*told, *beside, *notes),
    )


def notes_of(report: ImportReport) -> list[str]:
    """What of a file could not be taken as it was."""
    return [
        storable(f"{note.path}: {note.message}")[:MAX_NOTE_CHARACTERS]
        for note in report.notes
        if note.outcome != "exact"
    ]


def some(names: Sequence[str], most: int = 5) -> str:
    """The first of these names, for a sentence."""
    shown = [storable(name)[:100] for name in names[:most]]
    return listed([*shown, "…"] if len(names) > most else shown)


def stem_of(path: str) -> str:
    """The name of a file without its ending."""
    return PurePosixPath(path).stem
