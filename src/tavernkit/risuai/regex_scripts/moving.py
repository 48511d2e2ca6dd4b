"""The line that `move_top` and `move_bottom` make of a match."""

from __future__ import annotations

import re

from tavernkit.text.js_numbers import parse_int
from tavernkit.text.js_regex import JsMatch, JsRegex

_GROUP = re.compile(r"(?<!\$)\$[0-9]+")
_WHOLE = JsRegex(source=r"\$&", flags="g")


def fill(replacement: str, match: JsMatch, *, limit: float) -> str:
    """The replacement without its directive, with `$1` and `$&`. Named groups are left as they stand, in RisuAI too."""
    groups = (match.text, *match.groups)

    def group(found: re.Match[str]) -> str:
        place = parse_int(found[0][1:])
        if place >= len(groups):
            return found[0]
        value = groups[int(place)]
        return "undefined" if value is None else value

    line = replacement.replace("@@move_top ", "", 1).replace("@@move_bottom ", "", 1)
    line = _GROUP.sub(group, line)
    # What replaces `$&` is itself read for `$` patterns, as everything that is given to `replace` is.
    return _WHOLE.replace(line, match.text, limit=limit) if "$&" in line else line
