"""Names of files by SillyTavern's rules, and names that some file systems take for one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable
from itertools import count

LONGEST_NAME = 255
"""In bytes of UTF-8: what every usual file system can store."""

_ILLEGAL = re.compile(r'[/?<>\\:*|"\x00-\x1f\x80-\x9f]')
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE | re.DOTALL)
_HALVES = re.compile("[\ud800-\udfff]")
_UNNAMED = "Unnamed"


def folded(name: str) -> str:
    """What two names have in common that some file system takes for one: case and the form of accents are gone."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


class Names(Container[str]):
    """Names in a folder. `in` asks whether some file system would take a name for one of them."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._spellings: dict[str, list[str]] = {}
        for name in names:
            self.add(name)

    def add(self, name: str) -> None:
        spellings = self._spellings.setdefault(folded(name), [])
        if name not in spellings:
            spellings.append(name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and folded(name) in self._spellings

    def find(self, name: str) -> str | None:
        """The name itself, else the only one that differs in case or accents alone."""
        spellings = self._spellings.get(folded(name), [])
        return name if name in spellings else spellings[0] if len(spellings) == 1 else None


def sanitised(name: str) -> str:
    """A name as SillyTavern makes it fit for file systems; "" where nothing is left of it."""
    name = _HALVES.sub("\ufffd", _ILLEGAL.sub("", name)).rstrip(". ")
    return "" if _DEVICE.fullmatch(name) else _cut(name, LONGEST_NAME)


def file_name(name: str, taken: Container[str], extension: str) -> str:
    """A name for a new file, such as `Anna.png`, `Anna1.png` where that is taken, then `Anna2.png`.

    `taken` says which file names are taken; one made of `Names` knows no case.
    """
    stem = sanitised(name) or _UNNAMED
    for number in count():
        ending = f"{number or ''}{extension}"
        candidate = _cut(stem, LONGEST_NAME - len(ending.encode())) + ending
        if candidate not in taken and not _DEVICE.fullmatch(candidate):
            return candidate
    raise AssertionError("count() does not end")


def chat_folder(avatar_file: str) -> str:
    """The folder with the chats of a card, by the name of the card's file."""
    return avatar_file.replace(".png", "", 1)


def match_folder(stem: str, folders: Names | Iterable[str]) -> str | None:
    """The folder of that name, else the only one that differs in case or accents alone."""
    return (folders if isinstance(folders, Names) else Names(folders)).find(stem)


def _cut(name: str, limit: int) -> str:
    return name.encode()[:limit].decode(errors="ignore")
