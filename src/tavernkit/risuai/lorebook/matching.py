"""Finding all keys of all entries in one pass over what is scanned.

Parts of words are compared in lower case and without spaces, so that a space can stand between two texts and no key
spans it: one automaton reads all messages at once. Whole words are what stands between two spaces, and are looked up
in a table. What was found in a text is kept; asking for a key is then a look into a table.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ahocorasick_rs import AhoCorasick, Implementation

from tavernkit.risuai.lorebook.decorators import Query, QueryKind
from tavernkit.text.js_strings import js_trim

MOST_ENDINGS = 16
"""How many keys may end with the same letters and still be looked for by the automaton."""

PORTION = 32_768
"""How many characters the automaton is given at once, which bounds what it finds at once."""

LONGEST_INDEXED = 256
"""A longer key is a text, and is looked for by itself."""

NOWHERE = -1
_ANY = "[^\n\r\u2028\u2029]"
_COMMENT = re.compile(rf"\{{\{{//{_ANY}+?\}}\}}")
_COMMENT_CALL = re.compile(rf"\{{\{{comment:{_ANY}+?\}}\}}")
_SURROGATES = re.compile("[\ud800-\udfff]")
# The automaton works on UTF-8, which cannot hold a lone surrogate; no text says this character.
_STAND_IN = "\uffff"


class Sight(NamedTuple):
    """What an entry looks at: the messages from a place on, and what other entries have said."""

    start: int
    sees_lore: bool


class Heard(NamedTuple):
    """The keys that are in a text, as they are compared."""

    words: tuple[str, ...]
    pieces: tuple[str, ...]


class Search(NamedTuple):
    """A query whose keys are literal; `wanted` are the keys as they are compared."""

    kind: QueryKind
    keys: tuple[str, ...]
    wanted: tuple[str, ...]
    full_words: bool


def split_keys(text: str) -> tuple[str, ...]:
    """The keys of a list parted by commas; blank ones are none."""
    return tuple(trimmed for key in text.split(",") if (trimmed := js_trim(key)))


def literal_search(query: Query, *, full_words: bool) -> Search:
    """The query as it is asked."""
    normal = str.lower if full_words else _squeezed
    return Search(query.kind, query.keys, tuple(normal(key) for key in query.keys), full_words)


def _squeezed(text: str) -> str:
    return text.lower().replace(" ", "")


def _searchable(text: str) -> str:
    """The text in lower case, without the comments that are not to be found."""
    lowered = text.lower()
    return _COMMENT_CALL.sub("", _COMMENT.sub("", lowered)) if "{{" in lowered else lowered


class LorebookKeys:
    """The literal keys of all entries, each with the entries that may wake up when it is found. `odd_pieces` are those
    that the automaton does not take."""

    def __init__(self) -> None:
        self.words: dict[str, list[int]] = {}
        self.pieces: dict[str, list[int]] = {}
        self.odd_pieces: dict[str, list[int]] = {}

    def enlist(self, search: Search, owners: Sequence[int]) -> None:
        """Note that these keys are looked for; who excludes them is no owner."""
        for wanted in search.wanted:
            if search.full_words:
                shelf = self.words
            elif wanted.isascii() or not _SURROGATES.search(wanted):
                shelf = self.pieces
            else:
                shelf = self.odd_pieces
            shelf.setdefault(wanted, []).extend(owners)

    def enlist_pieces(self, keys: str, owner: int) -> None:
        """The same for a plain entry's own keys, of which there are many."""
        for key in keys.split(","):
            wanted = _squeezed(js_trim(key))
            if wanted:
                shelf = self.pieces if wanted.isascii() or not _SURROGATES.search(wanted) else self.odd_pieces
                shelf.setdefault(wanted, []).append(owner)

    def settle(self) -> None:
        """Take out of the automaton's keys what would make it find too much: in a text of one letter, every key of
        that letter is found at every place."""
        lengths = sorted({len(key) for key in self.pieces})
        if len(lengths) <= MOST_ENDINGS and (not lengths or lengths[-1] <= LONGEST_INDEXED):
            return
        for key in list(self.pieces):
            if len(key) > LONGEST_INDEXED or self._has_many_endings(key, lengths):
                self.odd_pieces[key] = self.pieces.pop(key)

    def _has_many_endings(self, key: str, lengths: Sequence[int]) -> bool:
        shorter = lengths[: bisect_left(lengths, len(key))]
        return sum(key[-length:] in self.pieces for length in shorter) >= MOST_ENDINGS

    @cached_property
    def automaton(self) -> _Automaton | None:
        return _Automaton(self.pieces) if self.pieces else None

    def heard_in(self, text: str) -> Heard:
        """The keys that are in one text, whatever the place it will have in a haystack."""
        searchable = _searchable(text)
        squeezed = searchable.replace(" ", "")
        pieces = [key for key in self.odd_pieces if key in squeezed]
        if self.automaton is not None:
            found: set[int] = set()
            for joined, _, _ in _portions([squeezed]):
                found.update(number for number, _, _ in self.automaton.find(_encodable(joined), overlapping=True))
            pieces += [self.automaton.patterns[number][0] for number in sorted(found)]
        words = self.words.keys() & set(searchable.split(" ")) if self.words else ()
        return Heard(tuple(words), tuple(pieces))

    def owners_of_piece(self, key: str) -> Sequence[int]:
        return self.pieces[key] if key in self.pieces else self.odd_pieces[key]


def _portions(texts: Sequence[str]) -> Iterator[tuple[str, list[int], list[int]]]:
    """The texts, joined by spaces to portions: each with the offsets where its texts begin, and their numbers. Of a
    long text the parts overlap, so that no key is cut in two."""
    parts: list[str] = []
    starts: list[int] = []
    numbers: list[int] = []
    offset = 0
    for number, text in enumerate(texts):
        for begin in range(0, len(text), PORTION):
            part = text[begin : begin + PORTION + LONGEST_INDEXED]
            if offset and offset + len(part) > PORTION:
                yield " ".join(parts), starts, numbers
                parts, starts, numbers, offset = [], [], [], 0
            parts.append(part)
            starts.append(offset)
            numbers.append(number)
            offset += len(part) + 1
    if parts:
        yield " ".join(parts), starts, numbers


def _encodable(text: str) -> str:
    return text if text.isascii() else _SURROGATES.sub(_STAND_IN, text)


class _Automaton:
    def __init__(self, owners: dict[str, list[int]]) -> None:
        self.patterns = tuple(owners.items())
        self.find = AhoCorasick(
            list(owners), store_patterns=False, implementation=Implementation.ContiguousNFA
        ).find_matches_as_indexes


class _Found:
    """Where one key was found: the newest message and the first lore, as places in the haystack."""

    __slots__ = ("lore", "message")

    def __init__(self) -> None:
        self.message = NOWHERE
        self.lore = NOWHERE


class LorebookHaystack:
    """What one scan looks at: the messages, oldest first, and behind them what entries say as they wake up.

    Nothing before the message at `first` is read.
    """

    def __init__(self, table: LorebookKeys, messages: Sequence[str], *, first: int) -> None:
        self._table = table
        self._texts = list(messages)
        self._first = first
        self._searchable: dict[int, str] = {}
        self._words: dict[int, frozenset[str]] = {}
        self._found_words: dict[str, _Found] = {}
        self._found_pieces: dict[str, _Found] = {}
        self._everywhere: dict[tuple[tuple[str, ...], bool, Sight], _Everywhere] = {}
        self.message_count = len(messages)

    def open(self) -> set[int]:
        """Read the messages; gives the entries whose keys are in them."""
        touched: set[int] = set()
        places = range(self._first, self.message_count)
        texts = [self._searchable_at(place) for place in places]
        if self._table.words:
            for place in places:
                for word in self._table.words.keys() & self._words_at(place):
                    self._note(self._found_words, word, place, self._table.words[word], touched)
        if self._table.automaton is not None:
            self._search_pieces(self._table.automaton, places, [text.replace(" ", "") for text in texts], touched)
        for key, owners in self._table.odd_pieces.items():
            for place, text in zip(places, texts, strict=True):
                if key in text.replace(" ", ""):
                    self._note(self._found_pieces, key, place, owners, touched)
        return touched

    def add(self, text: str, heard: Heard) -> set[int]:
        """Add what an entry says, and which keys are in it; gives the entries whose keys are heard for the first time
        from any entry."""
        place = len(self._texts)
        self._texts.append(text)
        touched: set[int] = set()
        for word in heard.words:
            self._note(self._found_words, word, place, self._table.words[word], touched)
        for piece in heard.pieces:
            self._note(self._found_pieces, piece, place, self._table.owners_of_piece(piece), touched)
        return touched

    def seen(self, sight: Sight) -> int:
        """How many texts are in sight; they are counted from its start."""
        return (len(self._texts) if sight.sees_lore else self.message_count) - sight.start

    def text(self, place: int) -> str:
        """A text as it was written."""
        return self._texts[place]

    def find(self, search: Search, sight: Sight) -> tuple[str, int] | None:
        """The first of the keys that is in sight, and where: in the newest message, or else in lore."""
        known = self._found_words if search.full_words else self._found_pieces
        for key, wanted in zip(search.keys, search.wanted, strict=True):
            found = known.get(wanted)
            if found is None:
                continue
            if found.message >= sight.start:
                return key, found.message
            if sight.sees_lore and found.lore != NOWHERE:
                return key, found.lore
        return None

    def is_everywhere(self, search: Search, sight: Sight) -> bool:
        """Whether all of the keys are in each text in sight; where there is no text, they are."""
        asked = (search.wanted, search.full_words, sight)
        progress = self._everywhere.get(asked)
        if progress is None:
            progress = self._everywhere[asked] = _Everywhere(sight.start)
        end = sight.start + self.seen(sight)
        while progress.holds and progress.reached < end:
            holder = self._holder(progress.reached, full_words=search.full_words)
            progress.holds = all(wanted in holder for wanted in search.wanted)
            progress.reached += 1
        return progress.holds

    def _holder(self, place: int, *, full_words: bool) -> frozenset[str] | str:
        return self._words_at(place) if full_words else self._searchable_at(place).replace(" ", "")

    def _searchable_at(self, place: int) -> str:
        text = self._searchable.get(place)
        if text is None:
            text = self._searchable[place] = _searchable(self._texts[place])
        return text

    def _words_at(self, place: int) -> frozenset[str]:
        words = self._words.get(place)
        if words is None:
            words = self._words[place] = frozenset(self._searchable_at(place).split(" "))
        return words

    def _search_pieces(self, automaton: _Automaton, places: range, texts: Sequence[str], touched: set[int]) -> None:
        newest: dict[int, int] = {}
        for joined, starts, numbers in _portions(texts):
            for number, start, _ in automaton.find(_encodable(joined), overlapping=True):
                place = places[numbers[bisect_right(starts, start) - 1]]
                if newest.get(number) != place:
                    newest[number] = place
                    key, owners = automaton.patterns[number]
                    self._note(self._found_pieces, key, place, owners, touched)

    def _note(self, known: dict[str, _Found], key: str, place: int, owners: Iterable[int], touched: set[int]) -> None:
        found = known.get(key)
        if found is None:
            found = known[key] = _Found()
        if place < self.message_count:
            if found.message == NOWHERE:
                touched.update(owners)
            found.message = max(found.message, place)
        elif found.lore == NOWHERE:
            touched.update(owners)
            found.lore = place


@dataclass(slots=True)
class _Everywhere:
    """How far a look at every text has come."""

    reached: int
    holds: bool = True
