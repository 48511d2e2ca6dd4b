"""Importers: readers of further file formats, asked before the formats that are built in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from tavernkit.load_hooks import LoadScope

if TYPE_CHECKING:
    from tavernkit.characters.character import Bundle
    from tavernkit.chats.chat import ChatFile
    from tavernkit.lore.book import Book

T = TypeVar("T")


class Importer(NamedTuple, Generic[T]):
    """One format: whether some bytes are of it, and what they say. `read` raises a ParseError for a damaged file."""

    name: str
    recognises: Callable[[bytes], bool]
    read: Callable[[bytes], T]


class ImporterTable(Generic[T]):
    """The importers of one kind of file."""

    def __init__(self) -> None:
        self._importers: dict[str, Importer[T]] = {}

    def __iter__(self) -> Iterator[Importer[T]]:
        return iter(self._importers.values())

    def register(self, name: str, recognises: Callable[[bytes], bool], read: Callable[[bytes], T]) -> None:
        """Add a format, or put it in the place of one of the same name."""
        self._importers[name] = Importer(name, recognises, read)

    def find(self, data: bytes) -> Importer[T] | None:
        """The first importer that recognises a file."""
        return next((importer for importer in self if importer.recognises(data)), None)

    def read(self, source: bytes | str) -> tuple[T, str] | None:
        """What the first importer that recognises a file makes of it, and its name."""
        if not self._importers:
            return None
        data = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
        found = self.find(data)
        return None if found is None else (found.read(data), found.name)


class Importers:
    """What load hooks register in: `characters` for `tavernkit.characters.load`, `lorebooks` for
    `tavernkit.lore.read_book`, `chats` for `tavernkit.chats.read_chat`."""

    def __init__(self) -> None:
        self.characters: ImporterTable[Bundle] = ImporterTable()
        self.lorebooks: ImporterTable[Book] = ImporterTable()
        self.chats: ImporterTable[ChatFile] = ImporterTable()


shared_importers = LoadScope("tavernkit.importers", Importers)
