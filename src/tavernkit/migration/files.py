"""What is imported: files of another application, by their path below the folder of one user."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import IO, Literal, Protocol, TypeAlias

from tavernkit.values import Value

Application: TypeAlias = Literal["sillytavern", "risuai"]

FileKind: TypeAlias = Literal[
    "world",
    "preset",
    "quick_replies",
    "background",
    "character",
    "sprite",
    "persona_picture",
    "settings",
    "chat_media",
    "chat",
    "group",
    "group_chat",
    "kept",
    "derived",
    "secret",
    "extension",
    "risuai_root",
    "risuai_asset",
    "risuai_module",
    "risuai_preset",
    "risuai_persona",
    "risuai_character",
    "risuai_chat",
]
"""What a file is. `kept` has no counterpart here and is written back, `derived` is made anew by the application and is
kept all the same, `secret` and `extension` are never read. Those of RisuAI are parts of its database, each as a JSON
file."""


class SourceFile(Value, frozen=True, kw_only=True):
    """A file that can be read. The path has slashes, is spelt as the source spells it, and begins below the folder of
    the user (`characters/Anna.png`). `detail` says more about the kind, such as which kind of preset. `title` is what
    the application calls it, where the path does not say that."""

    path: str
    size: int
    modified: datetime | None
    kind: FileKind
    detail: str = ""
    title: str = ""


class RefusedFile(Value, frozen=True, kw_only=True):
    """A file that is not read, and why: a link that leaves the folder, an unsafe name, a bomb."""

    path: str
    sentence: str


class FileSource(Protocol):
    """One user's folder of an application, or an archive or backup of it. Nothing in it is ever written."""

    @property
    def application(self) -> Application: ...

    @property
    def name(self) -> str:
        """What people call it: the folder's or the file's name."""

    def files(self) -> Iterator[SourceFile | RefusedFile]:
        """Every file, once, in a fixed order. Reads no more than names and sizes need."""

    def open(self, path: str) -> IO[bytes]:
        """The bytes of a file, to be read piece by piece. Raises TavernKitError where they cannot be read."""

    def close(self) -> None: ...
