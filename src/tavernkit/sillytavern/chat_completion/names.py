"""Names in the form that providers accept in a message's `name` field."""

from __future__ import annotations

import re

from tavernkit.text.js_strings import utf16_length

LONGEST_NAME = 64
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_]")


def sanitised_name(name: str) -> str:
    """The name with an underscore for each UTF-16 unit that is not allowed, cut where it is too long."""
    return _NOT_ALLOWED.sub(lambda found: "_" * utf16_length(found[0]), name)[:LONGEST_NAME]
