"""Text that is safe and short enough to be shown on a terminal."""

from __future__ import annotations

import re

# Everything that could move the cursor, colour the screen or start a command in a terminal, and halves of surrogate
# pairs, which no terminal can be sent. Cards are written by strangers.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")
_SPACE = re.compile(r"\s+")


def plain(text: str) -> str:
    """The text with line breaks and tabs kept and every other control character made visible."""
    return _UNPRINTABLE.sub("\ufffd", text.replace("\r\n", "\n"))


def shorten(text: str, width: int) -> str:
    """One line of at most `width` characters."""
    line = _SPACE.sub(" ", plain(text[: width * 4])).strip()
    return line if len(line) <= width and len(text) <= width * 4 else f"{line[: width - 1].rstrip()}…"
