"""`{{random}}` and `{{pick}}`: one item of a list."""

from __future__ import annotations

import re

from tavernkit.sillytavern.macros.legacy.passes import CallPass, LegacyExpansion, any_case, heads_of
from tavernkit.sillytavern.macros.legacy.scanning import Finder, find_braced
from tavernkit.text.js_strings import JS_WHITESPACE, js_trim, utf16_length
from tavernkit.text.seeded import SeededRandom, string_hash

_UNESCAPED_COMMA = re.compile(r"(?<!\\),")


def _find_list(name: str) -> Finder:
    """`{{name:` or `{{name::`, where one character of white space may stand before the colons.

    Of two colons the second belongs to the list when there would be no list otherwise.
    """
    return find_braced(any_case(rf"\{{\{{{name}[{JS_WHITESPACE}]?:(?::(?=[^}}]))?(?=[^}}])"))


def _items(listed: str) -> list[str]:
    """Items between `::` as they are; else items between commas, trimmed, where `\\,` is a comma."""
    if "::" in listed:
        return listed.split("::")
    return [js_trim(item).replace("\\,", ",") for item in _UNESCAPED_COMMA.split(listed)]


def _random(expansion: LegacyExpansion, listed: str) -> str:
    items = _items(listed)
    return items[expansion.environment.random_index(len(items))]


RANDOM_PASS = CallPass("{{random", _find_list("random"), _random)


class PickPass:
    """Picks that stay the same for a chat, a text and a place in it; places are counted as JavaScript does."""

    openings = (b"{{pick",)
    heads = heads_of(openings)
    _find = staticmethod(_find_list("pick"))

    def run(self, text: str, expansion: LegacyExpansion) -> str:
        pieces: list[str] = []
        end = place = 0
        for call in self._find(text):
            place += utf16_length(text[end : call.start])
            seed = string_hash(f"{expansion.environment.chat_id_hash}-{expansion.raw_hash}-{place}")
            items = _items(call.arguments[0])
            value = expansion.processed(items[int(SeededRandom(seed).random() * len(items))])
            expansion.take(value, calls=1, length=len(text))
            pieces += (text[end : call.start], value)
            place += utf16_length(text[call.start : call.end])
            end = call.end
        return "".join((*pieces, text[end:])) if pieces else text
