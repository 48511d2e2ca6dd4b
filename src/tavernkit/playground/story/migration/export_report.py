"""What an export is asked for, and what became of each file in it."""

from __future__ import annotations

from collections import Counter
from typing import Literal, TypeAlias
from uuid import UUID

from tavernkit.migration.files import Application, FileKind
from tavernkit.values import Json, Value

ExportVerdict: TypeAlias = Literal["exact", "converted", "left_out"]
"""`exact` has the bytes that were imported, `converted` was written anew from what is here."""

ALONG: dict[FileKind, frozenset[FileKind]] = {
    "character": frozenset({"sprite"}),
    "chat": frozenset({"chat_media"}),
    "group": frozenset({"group_chat", "chat_media"}),
    "group_chat": frozenset({"group", "chat_media"}),
    "settings": frozenset({"persona_picture"}),
}
"""What is exported with a kind, because it is of no use without."""


class ExportChoices(Value, frozen=True, kw_only=True):
    """For which application, and what: `only` some kinds of files; or a selection of characters, with their chats and
    books, of spaces, lorebooks and presets. A selection leaves out everything else, such as settings."""

    application: Application = "sillytavern"
    only: tuple[FileKind, ...] | None = None
    character_ids: tuple[UUID, ...] = ()
    space_ids: tuple[UUID, ...] = ()
    lorebook_ids: tuple[UUID, ...] = ()
    preset_ids: tuple[UUID, ...] = ()

    @property
    def is_selection(self) -> bool:
        return bool(self.character_ids or self.space_ids or self.lorebook_ids or self.preset_ids)

    def wants(self, kind: str) -> bool:
        """Whether files of this kind are exported."""
        return self.only is None or any(kind == one or kind in ALONG.get(one, ()) for one in self.only)


class ExportLine(Value, frozen=True, kw_only=True):
    """A file, and what became of it. What has no file of its own, such as an artifact, has a path of the kind
    `tavernkit/…`, where nothing is written."""

    path: str
    kind: str
    verdict: ExportVerdict
    notes: tuple[str, ...] = ()
    size: int = 0


class ExportReport(Value, frozen=True, kw_only=True):
    """What was exported. `source` is what the folder or backup is called that the export builds upon."""

    application: Application
    source: str | None
    lines: tuple[ExportLine, ...]

    @property
    def totals(self) -> dict[ExportVerdict, int]:
        """How many files there are of each verdict."""
        counted = Counter(line.verdict for line in self.lines)
        return {verdict: counted[verdict] for verdict in ("exact", "converted", "left_out")}

    @property
    def size(self) -> int:
        return sum(line.size for line in self.lines)

    def document(self) -> dict[str, Json]:
        """The report as JSON."""
        return {
            "application": self.application,
            "source": self.source,
            "totals": self.totals,
            "size": self.size,
            "lines": self.lines,
        }
