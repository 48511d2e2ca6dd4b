"""Names in the form that providers accept in a message's `name` field."""

from __future__ import annotations

import re

__all__ = ["sanitised_name"]

LONGEST_NAME = 64
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_]")
_VALID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def sanitised_name(name: str) -> str:
    """The name where it is allowed as it is; else cut, with an underscore for each character that is not."""
    if _VALID.fullmatch(name):
        return name
    return _NOT_ALLOWED.sub("_", name)[:LONGEST_NAME]
