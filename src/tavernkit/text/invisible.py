"""Characters that nobody sees: controls, marks that turn text round, and fillers."""

from __future__ import annotations

import re
import unicodedata

# Controls, formats, halves of pairs, separators of lines and paragraphs.
_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Letters, marks and symbols that have no shape of their own.
_BLANKS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def without_invisible(text: str) -> str:
    """The same text as it is seen, so that a name cannot hide what it ends in or how it differs from another."""
    if text.isascii() and text.isprintable():
        return text
    return _BLANKS.sub("", "".join(c for c in text if unicodedata.category(c) not in _CATEGORIES))
