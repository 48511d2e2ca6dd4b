"""What a key of an entry is: a literal text, a JavaScript regular expression, or a text with macros."""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

from tavernkit.errors import RegexError
from tavernkit.sillytavern.world_info.fields import Wishes
from tavernkit.sillytavern.world_info.scan_input import WorldInfoSettings
from tavernkit.text.js_regex import JsRegex, compile_regex
from tavernkit.text.js_strings import JS_WHITESPACE, js_trim
from tavernkit.values import Value

SEPARATOR = "\x01"
"""What SillyTavern puts between the texts of a scan."""

_DELIMITED = re.compile(r"/(.+?)/([gimsuy]*)", re.DOTALL)
_BARE_SLASH = re.compile(r"(?:^|[^\\])/")
_WHITESPACE = re.compile(f"[{JS_WHITESPACE}]")
_NOT_INDEXED = re.compile(f"[{SEPARATOR}\ud800-\udfff]")
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


class Rules(NamedTuple):
    """How an entry wants its literal keys compared."""

    case_sensitive: bool
    whole_words: bool


class LiteralKey(Value, frozen=True, kw_only=True):
    """A text to be found. `text` is lower-cased unless case matters; `whole` asks for the edge of a word on both
    sides, which SillyTavern does for keys of one word only; `indexed` says that an automaton can look for it: no text
    has it across a separator, and it can be written as UTF-8."""

    raw: str
    text: str
    case_sensitive: bool
    whole: bool
    indexed: bool


class RegexKey(Value, frozen=True, kw_only=True):
    """A key of the form `/pattern/flags`, which goes by its own flags alone."""

    raw: str
    regex: JsRegex


class MacroKey(Value, frozen=True, kw_only=True):
    """A key that is not known before its macros are expanded."""

    raw: str


Key: TypeAlias = LiteralKey | RegexKey | MacroKey


def rules_for(wishes: Wishes, settings: WorldInfoSettings) -> Rules:
    case, whole = wishes.case_sensitive, wishes.match_whole_words
    return Rules(
        settings.case_sensitive if case is None else case, settings.match_whole_words if whole is None else whole
    )


def read_key(raw: str, rules: Rules, *, trim: bool = True) -> LiteralKey | RegexKey:
    """What a key means once it holds no macros. One that is all white space is found in any text."""
    if raw.isascii() and raw.isalnum():
        text = raw if rules.case_sensitive else raw.lower()
        return LiteralKey(
            raw=raw, text=text, case_sensitive=rules.case_sensitive, whole=rules.whole_words, indexed=True
        )
    text = js_trim(raw) if trim else raw
    regex = _regex(text)
    if regex is not None:
        return RegexKey(raw=raw, regex=regex)
    return LiteralKey(
        raw=raw,
        text=text if rules.case_sensitive else text.lower(),
        case_sensitive=rules.case_sensitive,
        whole=rules.whole_words and text != "" and not _WHITESPACE.search(text),
        indexed=text != "" and not _NOT_INDEXED.search(text),
    )


def occurs(text: str, key: LiteralKey) -> int | None:
    """Where a literal key stands in a text that is already lower-cased where it must be."""
    start = text.find(key.text)
    while start >= 0:
        if not key.whole or is_whole(text, start, start + len(key.text)):
            return start
        start = text.find(key.text, start + 1)
    return None


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether no ASCII letter, digit or underscore stands right before or after; any other character is an edge."""
    return (start == 0 or text[start - 1] not in _WORD) and (end == len(text) or text[end] not in _WORD)


def _regex(text: str) -> JsRegex | None:
    """The pattern, or None for a text that SillyTavern does not take for one: bare slashes, flags, faulty syntax."""
    match = _DELIMITED.fullmatch(text)
    if match is None:
        return None
    pattern, flags = match.groups()
    if _BARE_SLASH.search(pattern):
        return None
    try:
        return compile_regex(pattern.replace("\\/", "/", 1), flags)
    except RegexError:
        return None
