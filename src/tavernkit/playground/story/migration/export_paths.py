"""Which path a file gets in an exported folder: its own, where it came from one, else a new one that is free."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from tavernkit.migration.names import file_name, folded


class FreePaths:
    """The paths of an export, each given once. A new one differs from all others by more than case and the form of
    its accents: not every file system knows these apart."""

    def __init__(self) -> None:
        self._taken: dict[str, str] = {}
        self.twins: list[tuple[str, str]] = []
        """Paths that files have already, and that such a file system takes for one."""

    def keep(self, path: str) -> None:
        """A file has this path already."""
        first = self._taken.setdefault(folded(path), path)
        if first != path:
            self.twins.append((first, path))

    def give(self, folder: str, name: str, extension: str) -> str:
        """A path for a file that has none yet, by SillyTavern's rules for names."""
        path = f"{folder}/{file_name(name, _Names(self._taken, folder), extension)}"
        self._taken[folded(path)] = path
        return path

    def __contains__(self, path: str) -> bool:
        return folded(path) in self._taken


class _Names:
    """The names that are taken in a folder."""

    def __init__(self, taken: Mapping[str, str], folder: str) -> None:
        self._taken, self._folder = taken, folder

    def __contains__(self, name: object) -> bool:
        return folded(f"{self._folder}/{name}") in self._taken


def stem_of(path: str) -> str:
    """The name of a file without its folder and its last extension: what SillyTavern calls a book or a chat."""
    name = name_of(path)
    return name.rpartition(".")[0] or name


def name_of(path: str) -> str:
    """The name of a file without its folder."""
    return path.rpartition("/")[2]


def written_moment(moment: datetime) -> str:
    """A moment as SillyTavern writes it into names of chats."""
    return f"{moment:%Y-%m-%d@%Hh%Mm%Ss}{moment.microsecond // 1000:03}ms"
