"""What a person chooses before an import."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tavernkit.migration.files import FileKind
from tavernkit.values import Value

Conflict: TypeAlias = Literal["keep", "replace", "both"]
"""What happens to an item that was changed both here and in the folder."""


class ImportChoices(Value, frozen=True, kw_only=True):
    """Which kinds of files are imported (None: all), what happens to an item that was changed both here and in the
    folder, and whether regex scripts are switched on."""

    kinds: tuple[FileKind, ...] | None = None
    conflict: Conflict = "both"
    enable_scripts: bool = False
