"""The spellings from before there were braces: `<USER>` and its kin, and `{{time_UTC+2}}`."""

from __future__ import annotations

import re

Shift = tuple[int, int]
"""From this place of the rewritten text on, it runs so many characters ahead of the text that was given."""

_MARKER = re.compile(r"<(user|bot|char|group|charifnotgroup)>|\{\{time_(utc[+-][0-9]+)\}\}", re.IGNORECASE | re.ASCII)
_MACROS = {
    "user": "{{user}}",
    "bot": "{{char}}",
    "char": "{{char}}",
    "group": "{{group}}",
    "charifnotgroup": "{{charIfNotGroup}}",
}


def rewrite_markers(text: str) -> tuple[str, tuple[Shift, ...]]:
    """The text with the old spellings as today's macros, and how far its places have moved."""
    if "<" not in text and "{{time_" not in text.lower():
        return text, ()
    shifts: list[Shift] = []
    ahead = 0

    def rewrite(match: re.Match[str]) -> str:
        nonlocal ahead
        macro = _MACROS[match[1].lower()] if match[1] else f"{{{{time::{match[2]}}}}}"
        ahead += len(macro) - len(match[0])
        shifts.append((match.end() + ahead, ahead))
        return macro

    return _MARKER.sub(rewrite, text), tuple(shifts)
