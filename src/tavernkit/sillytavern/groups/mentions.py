"""Who is mentioned in a text: as SillyTavern finds it, and in any script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from tavernkit.sillytavern.groups.group import GroupMember

Mention: TypeAlias = tuple[str, str]
"""An avatar, and the word that names it."""
FindMentions: TypeAlias = Callable[[Mapping[str, GroupMember], str], list[Mention]]
"""Takes members by avatar and a text; gives who is mentioned, in the order of the text."""

_ASCII_WORD = re.compile(r"\w+", re.ASCII)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def mentions_of_ascii_words(members: Mapping[str, GroupMember], text: str) -> list[Mention]:
    """SillyTavern's rule: any word of a name counts, and only ASCII letters, digits and underscores make words."""
    owners: dict[str, str] = {}
    for avatar, member in members.items():
        for word in _ascii_words(member.name):
            owners.setdefault(word, avatar)
    return [(owners[word], word) for word in dict.fromkeys(_ascii_words(text)) if word in owners]


def mentions_in_any_script(members: Mapping[str, GroupMember], text: str) -> list[Mention]:
    """Names in every script, and without their small words: "the" mentions nobody, although Kael the Tall is here.

    Where letters have no case, words often touch each other: there a name is found inside of them.
    """
    searched = _plain(text)
    found: dict[str, tuple[int, str]] = {}
    for avatar, member in members.items():
        for word in _telling_words(_nfc(member.name)):
            place = _place(_plain(word), searched)
            if place is not None and (avatar not in found or place < found[avatar][0]):
                found[avatar] = (place, word)
    return [(avatar, word) for avatar, (_, word) in sorted(found.items(), key=lambda item: item[1][0])]


def _ascii_words(text: str) -> list[str]:
    return [word.lower() for word in _ASCII_WORD.findall(text)]


def _telling_words(name: str) -> Iterator[str]:
    """The words of a name that could not be anybody's; all of them where every word is small."""
    words = [piece for part in name.split() for piece in ([part] if _is_caseless(part) else _WORD.findall(part))]
    telling = [word for word in words if not word[0].islower()]
    yield from telling or words


def _place(word: str, text: str) -> int | None:
    if _is_caseless(word):
        place = text.find(word)
        return None if place < 0 else place
    # An underscore is around words: it emphasises them.
    match = re.search(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", text)
    return None if match is None else match.start()


def _is_caseless(word: str) -> bool:
    return any(character.isalpha() for character in word) and word.lower() == word.upper()


def _plain(text: str) -> str:
    return _nfc(text).casefold()


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)
