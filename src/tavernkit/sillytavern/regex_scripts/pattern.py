"""From what a script has in its find field to a regular expression."""

from __future__ import annotations

import re
from functools import lru_cache

from tavernkit.errors import RegexError
from tavernkit.text.js_regex import JsRegex, compile_regex

MAX_FIND = 20_000
"""Characters of the longest find field that is read."""

# Not anchored, and `.` stops at the end of a line: only the first line counts, and what follows the flags is ignored.
_BETWEEN_SLASHES = re.compile("(/?)([^\n\r\u2028\u2029]+)\\1([A-Za-z]*)")
_FLAGS = frozenset("gmixXsuUAJ")
_SPECIAL = re.compile(r"[\n\r\t\v\f\0.^$*+?{}\[\]\\/|()]")
_NAMED_ESCAPES = {"\n": "n", "\r": "r", "\t": "t", "\v": "v", "\f": "f", "\0": "0"}


@lru_cache(maxsize=4096)
def find_pattern(find: str) -> JsRegex | str:
    """The pattern of `/body/flags` or of a body alone, or a sentence that says why there is none.

    Flags that no flavour of regular expressions knows, or that are given twice, make the whole text the pattern; flags
    that only other flavours know make none.
    """
    if len(find) > MAX_FIND:
        return f"Its pattern is longer than {MAX_FIND:,} characters."
    found = _BETWEEN_SLASHES.search(find)
    if found is None:
        return "Its pattern is empty."
    source, flags = found[2], found[3]
    if not _FLAGS.issuperset(flags) or len(set(flags)) < len(flags):
        source, flags = find, ""
    try:
        return compile_regex(source, flags)
    except RegexError as error:
        return str(error)


def escape_for_pattern(text: str) -> str:
    """The text as a pattern that matches it and nothing else."""
    return _SPECIAL.sub(lambda match: "\\" + _NAMED_ESCAPES.get(match[0], match[0]), text)
