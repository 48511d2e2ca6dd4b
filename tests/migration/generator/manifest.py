"""What was written: one record per file with what must become of it, the links between files, and the planted keys."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tavernkit.migration.files import FileKind
from tavernkit.values import Value

_FIRST_SECOND = 1_700_000_000
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Expected(NamedTuple):
    """The verdicts that are right for a file, and whether an unedited export must have the same bytes."""

    verdicts: tuple[str, ...]
    is_exact: bool


EXACT = Expected(("exact",), True)
READ = Expected(("exact", "converted"), True)
COPY = Expected(("duplicate", "exact"), True)
BLANKED = Expected(("converted",), False)
KEPT = Expected(("kept",), True)
READ_OR_KEPT = Expected(("exact", "converted", "kept"), True)
KEPT_BLANKED = Expected(("kept", "converted"), False)
REFUSED = Expected(("refused",), False)
EMPTY = Expected(("exact", "converted", "kept", "refused"), False)


class WrittenFile(NamedTuple):
    """One file by its path below the user's folder. `modified` is in seconds."""

    path: str
    kind: FileKind
    expected: Expected
    sha256: str
    size: int
    modified: int


class WrittenLink(NamedTuple):
    """Something in the file `source` that names another file. `target` is None where there is no such file."""

    kind: str
    source: str
    name: str
    target: str | None


class WrittenBranch(NamedTuple):
    """A chat that began as a copy of the first `fork` messages of another."""

    path: str
    parent: str
    fork: int
    is_certain: bool = True
    kind: str = "branch"


class Manifest(Value, frozen=True, kw_only=True):
    """`roots` are chats that look like branches and are none, `outside` files of the application beside the user's
    folder, by their path below `place`. `secrets` must be found nowhere after an import, and `entries` are names in an
    archive that must be refused."""

    place: Path
    files: tuple[WrittenFile, ...]
    links: tuple[WrittenLink, ...]
    branches: tuple[WrittenBranch, ...]
    roots: tuple[str, ...]
    outside: tuple[str, ...]
    secrets: tuple[str, ...]
    entries: tuple[str, ...] = ()

    def of_kind(self, *kinds: FileKind) -> tuple[WrittenFile, ...]:
        return tuple(file for file in self.files if file.kind in kinds)


@dataclass(eq=False)
class FolderWriter:
    """Writes files below the folder `user` and remembers what it wrote. `moved` says where the files and folders of the
    first level are that lie elsewhere."""

    place: Path
    user: str
    random: Random
    moved: Mapping[str, str] = field(default_factory=dict)
    files: list[WrittenFile] = field(default_factory=list)
    links: list[WrittenLink] = field(default_factory=list)
    branches: list[WrittenBranch] = field(default_factory=list)
    roots: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)

    def place_of(self, path: str) -> Path:
        top, _, rest = path.partition("/")
        return self.place / self.moved[top] / rest if top in self.moved else self.place / self.user / path

    def add(self, path: str, data: bytes | Iterable[bytes], kind: FileKind, expected: Expected = EXACT) -> str:
        target = self.place_of(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        digest, size = sha256(), 0
        with target.open("xb") as file:
            for piece in (data,) if isinstance(data, bytes) else data:
                file.write(piece)
                digest.update(piece)
                size += len(piece)
        return self._record(path, kind, expected, digest.hexdigest(), size)

    def add_json(self, path: str, value: Any, kind: FileKind, expected: Expected = EXACT) -> str:
        """JSON as SillyTavern writes its files."""
        return self.add(path, json.dumps(value, ensure_ascii=False, indent=4).encode(), kind, expected)

    def add_symlink(self, path: str, to: str, kind: FileKind) -> str:
        self.place_of(path).symlink_to(to)
        return self._record(path, kind, REFUSED, "", 0)

    def _record(self, path: str, kind: FileKind, expected: Expected, digest: str, size: int) -> str:
        # Even, because archives count in steps of two seconds.
        modified = _FIRST_SECOND + 2 * len(self.files)
        os.utime(self.place_of(path), (modified, modified), follow_symlinks=False)
        self.files.append(WrittenFile(path, kind, expected, digest, size, modified))
        return path

    def add_outside(self, path: str, data: str) -> None:
        target = self.place / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(data)
        self.outside.append(path)

    def link(self, kind: str, source: str, name: str, target: str | None) -> None:
        self.links.append(WrittenLink(kind, source, name, target))

    def secret(self) -> str:
        """A new key to plant."""
        self.secrets.append(f"planted-{self.random.getrandbits(96):024x}")
        return self.secrets[-1]

    def manifest(self) -> Manifest:
        return Manifest(
            place=self.place,
            files=tuple(self.files),
            links=tuple(self.links),
            branches=tuple(self.branches),
            roots=tuple(self.roots),
            outside=tuple(self.outside),
            secrets=tuple(self.secrets),
        )


def line(record: Any) -> str:
    """JSON as SillyTavern writes the lines of chats, with half surrogate pairs escaped as JavaScript escapes them."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def lines(records: Iterable[Any]) -> bytes:
    return "\n".join(map(line, records)).encode()
