"""Finding all keys of all books in one pass over what is scanned.

Literal keys live in tables of words and in automata that are made once for a set of books. Each text is read once,
when it joins the scan, and what was found in it is kept; asking whether an entry's key is among it is a look into a
table. Between two texts stands a separator that no such key can span, so that looking at texts one by one finds what
looking at them joined would find. Whatever is not so simple (regular expressions, macros, keys with the separator in
them) is matched against the joined text itself.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ahocorasick_rs import AhoCorasick, Implementation

from tavernkit.sillytavern.world_info.fields import Sketch, Source, Wishes, WorldEntry
from tavernkit.sillytavern.world_info.keys import (
    SEPARATOR,
    Key,
    LiteralKey,
    MacroKey,
    RegexKey,
    Rules,
    is_whole,
    occurs,
    read_key,
    rules_for,
)
from tavernkit.sillytavern.world_info.scan_input import WorldInfoInput, WorldInfoSettings
from tavernkit.text.js_regex import JsRegex, PatternOutcome, search_all
from tavernkit.text.js_strings import js_trim, python_offsets
from tavernkit.values import Value

MAX_DEPTH = 1000
"""No entry looks at more messages than this."""

KEY_SECONDS = 0.03
"""What one regular expression may take; a scan with a hostile one among many is still quick."""

MOST_SEARCHED_MESSAGES = 200
MOST_SEARCHED_CHARACTERS = 50_000
"""In how much of a chat near misses of other cases, and of entries that are switched off, are looked for."""

JOINER = "\n" + SEPARATOR
NOWHERE = 1 << 30

# Plain numbers: joining the members of an enum takes longer than all the rest of a look into the table.
_INJECTION = int(Source.INJECTION)
_ALL_ENTRIES_SEE = int(Source.INJECTION | Source.RECURSION)

# Calls, the old markers such as <USER>, and escaped braces, which expanding unescapes.
_MACROS = re.compile(r"\{\{|<|\\[{}]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_SIMPLE = re.compile(r"[\w'-]+(?: [\w'-]+)*")
"""Keys that are literal and indexed beyond doubt, as they stand."""
_WORD = re.compile("[A-Za-z0-9_]+")
"""What SillyTavern takes for a word: as long as it goes on."""


class WorldInfoPlace(Value, frozen=True, kw_only=True):
    """Where a key was found: in a message, counted from the newest, or in one of the other texts."""

    message: int | None = None
    source: Source | None = None


_MESSAGES = tuple(WorldInfoPlace(message=number) for number in range(MAX_DEPTH))


@dataclass(slots=True, eq=False)
class _Found:
    """In which texts one literal occurs: the newest message and the set of sources, at all and as a whole word."""

    message: int = NOWHERE
    message_whole: int = NOWHERE
    sources: int = 0
    sources_whole: int = 0

    def add(self, slot: int, *, whole: bool) -> None:
        """A slot is a message's number, or a source's with a minus."""
        if slot >= 0:
            if slot < self.message:
                self.message = slot
            if whole and slot < self.message_whole:
                self.message_whole = slot
        else:
            self.sources |= -slot
            if whole:
                self.sources_whole |= -slot


class _Literals:
    """The literal keys of one kind, each with the entries that have it as a primary key.

    `words` are to be found as whole words only, so the words of a text can be looked up among them; `pieces` may stand
    anywhere, and are looked for by an automaton.
    """

    def __init__(self) -> None:
        self.words: dict[str, list[int]] = {}
        self.pieces: dict[str, list[int]] = {}
        self.wants_whole = False

    @cached_property
    def automaton(self) -> _Automaton | None:
        return _Automaton(self.pieces) if self.pieces else None

    @cached_property
    def words_as_pieces(self) -> _Automaton | None:
        """Finds the words inside longer ones, too, which is asked only to tell near misses."""
        return _Automaton(self.words) if self.words else None


class _Automaton:
    def __init__(self, owners: Mapping[str, list[int]]) -> None:
        self.patterns = tuple(owners.items())
        self.find = AhoCorasick(
            list(owners), store_patterns=False, implementation=Implementation.ContiguousNFA
        ).find_matches_as_indexes


class _Shelf(NamedTuple):
    """Where keys of one kind go: single words, and all others."""

    rules: Rules
    words: dict[str, list[int]]
    pieces: dict[str, list[int]]


class WorldInfoKeys:
    """The keys of the entries of a scan, understood once. `watched` are the entries with a primary key that no
    automaton can look for; they are asked in every pass."""

    def __init__(self, entries: Sequence[Sketch], settings: WorldInfoSettings) -> None:
        self.folded = _Literals()
        self.exact = _Literals()
        self.watched: list[int] = []
        self.regexes: dict[tuple[int | None, int], list[JsRegex]] = {}
        self.deepest = 0
        self.sources = 0
        self._entries = entries
        self._settings = settings
        self._primary: dict[int, tuple[Key, ...]] = {}
        self._secondary: dict[int, tuple[Key, ...]] = {}
        shelves: dict[int, _Shelf] = {}
        for place, entry in enumerate(entries):
            if entry.source.enabled:
                # Most entries share their wishes, which are held by the entries: the id stays theirs.
                shelf = shelves.get(id(entry.wishes))
                if shelf is None:
                    shelf = shelves[id(entry.wishes)] = self._shelf(entry.wishes)
                self._enlist(place, entry, shelf)

    def rules(self, place: int) -> Rules:
        """How the literal keys of an entry are compared."""
        return rules_for(self._entries[place].wishes, self._settings)

    def primary(self, place: int) -> tuple[Key, ...]:
        """The keys of an entry; most entries are never asked for theirs."""
        keys = self._primary.get(place)
        if keys is None:
            keys = self._primary[place] = self._read(self._entries[place].source.keys, place)
        return keys

    def secondary(self, place: int) -> tuple[Key, ...]:
        keys = self._secondary.get(place)
        if keys is None:
            keys = self._secondary[place] = self._read(self._entries[place].secondary_keys, place)
        return keys

    def _read(self, keys: Iterable[str], place: int) -> tuple[Key, ...]:
        # An empty key is never found, so it need not be looked for.
        rules = self.rules(place)
        return tuple(_understood(key, rules) for key in keys if key)

    def _shelf(self, wishes: Wishes) -> _Shelf:
        """Where the keys of entries with these wishes go; what they want to be read is noted."""
        self.deepest = max(self.deepest, wishes.scan_depth or 0)
        self.sources |= wishes.match_sources
        rules = rules_for(wishes, self._settings)
        literals = self.exact if rules.case_sensitive else self.folded
        literals.wants_whole = literals.wants_whole or rules.whole_words
        # What waits for recursion is told apart from what was never mentioned even by a word that only contains a key.
        as_words = rules.whole_words and not wishes.level
        return _Shelf(rules, literals.words if as_words else literals.pieces, literals.pieces)

    def _enlist(self, place: int, entry: Sketch, shelf: _Shelf) -> None:
        rules, words, pieces = shelf
        case_sensitive = rules.case_sensitive
        is_watched = False
        for raw in entry.source.keys:
            if raw.isascii() and raw.isalnum():
                words.setdefault(raw if case_sensitive else raw.lower(), []).append(place)
            elif (text := self._indexed(raw, rules, entry.wishes)) is not None:
                pieces.setdefault(text, []).append(place)
            elif raw:
                is_watched = True
        if entry.source.secondary_keys:
            for raw in entry.secondary_keys:
                if raw.isascii() and raw.isalnum():
                    words.setdefault(raw if case_sensitive else raw.lower(), [])
                elif (text := self._indexed(raw, rules, entry.wishes)) is not None:
                    pieces.setdefault(text, [])
        if is_watched:
            self.watched.append(place)

    def _indexed(self, raw: str, rules: Rules, wishes: Wishes) -> str | None:
        """What an automaton has to look for; a regular expression is noted among its like."""
        if _SIMPLE.fullmatch(raw):
            return raw if rules.case_sensitive else raw.lower()
        key = _understood(raw, rules)
        if isinstance(key, RegexKey):
            self.regexes.setdefault((wishes.scan_depth, wishes.match_sources), []).append(key.regex)
        return key.text if isinstance(key, LiteralKey) and key.indexed else None


def _understood(raw: str, rules: Rules) -> Key:
    return MacroKey(raw=raw) if _MACROS.search(raw) else read_key(raw, rules)


def _as_compared(texts: Sequence[str], case_sensitive: bool) -> Sequence[str]:
    return texts if case_sensitive else [text.lower() for text in texts]


class WorldInfoHaystack:
    """What one scan has to look at, and what was found in it. It grows while the scan goes on."""

    def __init__(self, table: WorldInfoKeys, scan_input: WorldInfoInput) -> None:
        messages = list(scan_input.messages[:MAX_DEPTH])
        while messages and not messages[-1]:
            messages.pop()
        self._table = table
        self._messages = [js_trim(message) for message in messages]
        self._texts = scan_input.texts.by_source()
        self._injections = scan_input.injections
        self._expand: Callable[[str], str] = scan_input.expand
        self._recursion: list[str] = []
        self._read_messages = 0
        self._kinds = ((False, table.folded), (True, table.exact))
        self._found: dict[bool, dict[str, _Found]] = {False: {}, True: {}}
        self._known_pieces: dict[bool, dict[str, _Found]] = {False: {}, True: {}}
        self._joined: dict[tuple[int, int], str] = {}
        self._lowered: dict[tuple[int, int], str] = {}
        self._regex_starts: dict[tuple[int, int], dict[JsRegex, int | None]] = {}
        self._any_case: list[str] | None = None
        self.touched: set[int] = set()
        self.timed_out: dict[JsRegex, None] = {}
        self.depth = scan_input.settings.depth

    @property
    def has_recursion(self) -> bool:
        return bool(self._recursion)

    def open(self) -> None:
        """Read everything the first pass can see."""
        depth = min(max(self._table.deepest, self.depth, 0), MAX_DEPTH)
        seen = self._messages[:depth]
        self._read_messages = len(seen)
        others = [(source, text) for source, text in self._texts.items() if source & self._table.sources]
        others += [(Source.INJECTION, text) for text in self._injections]
        slots = [*range(len(seen)), *(-source for source, _ in others)]
        self._read([*seen, *(text for _, text in others)], slots)

    def deepen(self) -> None:
        """Look one message further back."""
        self.depth += 1
        upto = min(self.depth, MAX_DEPTH)
        if upto > self._read_messages:
            more = self._messages[self._read_messages : upto]
            self._read(more, range(self._read_messages, self._read_messages + len(more)))
            self._read_messages = upto

    def recurse(self, text: str) -> None:
        """Let what has woken up be scanned as well."""
        self._recursion.append(text)
        self._read([text], [-Source.RECURSION])
        self._joined.clear()
        self._lowered.clear()
        self._regex_starts.clear()

    def find(
        self, place: int, entry: WorldEntry, keys: Iterable[Key], *, with_recursion: bool
    ) -> tuple[Key, WorldInfoPlace] | None:
        """The first of an entry's keys that is found within what it can see in this pass. Macros in the keys behind
        that one are not expanded."""
        depth, sources = self._view(entry, with_recursion)
        for key in keys:
            if isinstance(key, LiteralKey) and key.indexed:
                where = self._look_up(key, depth, sources)
            else:
                where = self._work_out(place, entry, key, depth, sources)
            if where is not None:
                return key, where
        return None

    def score(self, place: int, entry: WorldEntry, *, with_recursion: bool) -> tuple[int, int]:
        """How many primary and secondary keys are found, as they stand: with their white space, macros unexpanded."""
        depth, sources = self._view(entry, with_recursion)
        rules = self._table.rules(place)
        primary, secondary = (
            sum(self._search(entry, read_key(raw, rules, trim=False), depth, sources) is not None for raw in keys)
            for keys in (entry.keys, entry.source.secondary_keys)
        )
        return primary, secondary

    def depth_needed(self, key: LiteralKey) -> int | None:
        """The least scan depth at which a literal key would have been found in a message that was read."""
        found = self._record(key)
        message = NOWHERE if found is None else found.message_whole if key.whole else found.message
        return None if message == NOWHERE else message + 1

    def inside_a_word(self, key: LiteralKey, depth: int) -> int | None:
        """The newest message in which a key that must be a whole word was seen, but only as a part of longer ones."""
        found = self._record(key)
        return found.message if key.whole and found is not None and found.message < depth else None

    def said_in_any_case(self, text: str, depth: int) -> int | None:
        """The newest message that has a lower-cased text, whatever the case there; only so much is searched."""
        if self._any_case is None:
            self._any_case = [message.lower() for message in self._messages[:MOST_SEARCHED_MESSAGES]]
        left = MOST_SEARCHED_CHARACTERS
        for number, message in enumerate(self._any_case[: max(0, depth)]):
            if left <= 0:
                break
            if text in message:
                return number
            left -= len(message)
        return None

    def read_all(self) -> None:
        """Read the messages that no pass has asked for, to tell near misses."""
        more = self._messages[self._read_messages :]
        self._read(more, range(self._read_messages, len(self._messages)))
        self._read_messages = len(self._messages)
        for case_sensitive, literals in self._kinds:
            if literals.words_as_pieces is not None and self._messages:
                parts = _as_compared(self._messages, case_sensitive)
                self._search_pieces(literals, literals.words_as_pieces, parts, range(len(parts)), case_sensitive)

    def visible_depth(self, entry: WorldEntry) -> int:
        """How many messages an entry looks at."""
        return self._view(entry, with_recursion=True)[0]

    def _view(self, entry: WorldEntry, with_recursion: bool) -> tuple[int, int]:
        depth = self.depth if entry.scan_depth is None else entry.scan_depth
        return min(depth, MAX_DEPTH), entry.match_sources | (_ALL_ENTRIES_SEE if with_recursion else _INJECTION)

    def _read(self, texts: Sequence[str], slots: Sequence[int]) -> None:
        """Look for all literal keys in the texts, each of which has its slot."""
        if not texts:
            return
        for case_sensitive, literals in self._kinds:
            parts = _as_compared(texts, case_sensitive)
            if literals.words:
                self._look_up_words(literals.words, parts, slots, self._found[case_sensitive])
            if literals.automaton is not None:
                self._search_pieces(literals, literals.automaton, parts, slots, case_sensitive)

    def _look_up_words(
        self, words: Mapping[str, list[int]], parts: Sequence[str], slots: Sequence[int], found: dict[str, _Found]
    ) -> None:
        for part, slot in zip(parts, slots, strict=True):
            for word in words.keys() & set(_WORD.findall(part)):
                self.touched.update(words[word])
                found.setdefault(word, _Found()).add(slot, whole=True)

    def _search_pieces(
        self,
        literals: _Literals,
        automaton: _Automaton,
        parts: Sequence[str],
        slots: Sequence[int],
        case_sensitive: bool,
    ) -> None:
        found, known = self._found[case_sensitive], self._known_pieces[case_sensitive]
        joined = JOINER.join(parts)
        if not joined.isascii():
            joined = _SURROGATES.sub("\ufffd", joined)
        starts: list[int] = []
        offset = 0
        for part in parts:
            starts.append(offset)
            offset += len(part) + len(JOINER)
        for number, start, end in automaton.find(joined, overlapping=True):
            text, owners = automaton.patterns[number]
            record = known.get(text)
            if record is None:
                record = known[text] = found.setdefault(text, _Found())
                self.touched.update(owners)
            slot = slots[bisect_right(starts, start) - 1]
            record.add(slot, whole=literals.wants_whole and is_whole(joined, start, end))

    def _record(self, key: LiteralKey) -> _Found | None:
        return self._found[key.case_sensitive].get(key.text)

    def _look_up(self, key: LiteralKey, depth: int, sources: int) -> WorldInfoPlace | None:
        found = self._found[key.case_sensitive].get(key.text)
        if found is None or depth <= 0:
            return None
        message = found.message_whole if key.whole else found.message
        if message < depth:
            return _MESSAGES[message]
        elsewhere = sources & (found.sources_whole if key.whole else found.sources)
        return WorldInfoPlace(source=Source(elsewhere & -elsewhere)) if elsewhere else None

    def _work_out(self, place: int, entry: WorldEntry, key: Key, depth: int, sources: int) -> WorldInfoPlace | None:
        if isinstance(key, MacroKey):
            expanded = self._expand(key.raw)
            if not expanded:
                return None
            key = read_key(expanded, self._table.rules(place))
        return self._search(entry, key, depth, sources)

    def _search(self, entry: WorldEntry, key: LiteralKey | RegexKey, depth: int, sources: int) -> WorldInfoPlace | None:
        text = self._text(depth, sources)
        if isinstance(key, LiteralKey):
            # Lower-casing may lengthen a text, and then the place is near, not exact.
            start = occurs(text if key.case_sensitive else self._lower(depth, sources), key)
        else:
            start = self._regex_start(entry, key.regex, depth, sources)
        return None if start is None else self._place(start, depth, sources)

    def _regex_start(self, entry: WorldEntry, regex: JsRegex, depth: int, sources: int) -> int | None:
        known = self._regex_starts.setdefault((depth, sources), {})
        if regex not in known:
            # All expressions that look at the same text are run together, each once.
            batch = dict.fromkeys(self._table.regexes.get((entry.scan_depth, entry.match_sources), ()))
            batch[regex] = None
            self._run([one for one in batch if one not in known], self._text(depth, sources), known)
        return known[regex]

    def _run(self, batch: Sequence[JsRegex], text: str, known: dict[JsRegex, int | None]) -> None:
        known.update(dict.fromkeys(batch))
        patterns = [regex for regex in batch if regex not in self.timed_out]
        starts: dict[JsRegex, int] = {}
        for regex, verdict in zip(patterns, search_all(patterns, text, limit=KEY_SECONDS), strict=True):
            if verdict.outcome in (PatternOutcome.TIMED_OUT, PatternOutcome.NOT_RUN):
                self.timed_out[regex] = None
            elif verdict.start is not None:
                starts[regex] = verdict.start
        known.update(zip(starts, python_offsets(text, list(starts.values())), strict=True))

    def _text(self, depth: int, sources: int) -> str:
        """The text as SillyTavern joins it."""
        if depth <= 0:
            return ""
        text = self._joined.get((depth, sources))
        if text is None:
            text = self._joined[depth, sources] = SEPARATOR + JOINER.join(
                part for part, _ in self._parts(depth, sources)
            )
        return text

    def _lower(self, depth: int, sources: int) -> str:
        lowered = self._lowered.get((depth, sources))
        if lowered is None:
            lowered = self._lowered[depth, sources] = self._text(depth, sources).lower()
        return lowered

    def _parts(self, depth: int, sources: int) -> list[tuple[str, WorldInfoPlace]]:
        # Without any message there is still the empty text of none.
        messages = self._messages[:depth]
        parts = [(text, WorldInfoPlace(message=number)) for number, text in enumerate(messages)] or [
            ("", WorldInfoPlace())
        ]
        parts += [(text, WorldInfoPlace(source=source)) for source, text in self._texts.items() if source & sources]
        parts += [(text, WorldInfoPlace(source=Source.INJECTION)) for text in self._injections]
        if sources & Source.RECURSION:
            parts += [(text, WorldInfoPlace(source=Source.RECURSION)) for text in self._recursion]
        return parts

    def _place(self, start: int, depth: int, sources: int) -> WorldInfoPlace:
        """The text that an offset of the joined text is in."""
        if depth <= 0:
            return WorldInfoPlace()
        parts = self._parts(depth, sources)
        ends = itertools.accumulate(len(text) + len(JOINER) for text, _ in parts)
        return next((place for (_, place), end in zip(parts, ends, strict=True) if start < end), parts[-1][1])
