"""The names of artifacts: `art.<tag>` must be readable in a template, so a tag is one plain word."""

from __future__ import annotations

import re

from tavernkit.errors import InvalidArtifactError

__all__ = ["RESERVED_PREFIX", "check_tag"]

_TAG = re.compile(r"[a-z][a-z0-9_]{0,63}")
RESERVED_PREFIX = "tk_"
"""Tags that begin with this are kept for TavernKit's own use."""


def check_tag(tag: str) -> str:
    """The tag, if it is one; else InvalidArtifactError."""
    if not _TAG.fullmatch(tag):
        raise InvalidArtifactError(
            f"{tag[:80]!r} cannot be a tag: use a small letter, then up to 63 small letters, digits and underscores."
        )
    if tag.startswith(RESERVED_PREFIX):
        raise InvalidArtifactError(f"The tag {tag!r} begins with {RESERVED_PREFIX!r}, which is reserved. Rename it.")
    return tag
