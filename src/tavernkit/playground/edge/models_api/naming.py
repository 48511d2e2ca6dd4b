"""What models are called: by the character's name, and by so much of the membership's id that it can be found."""

from __future__ import annotations

import re
import unicodedata
from uuid import UUID

SHOWN_DIGITS = 8
LONGEST_SLUG = 40

_NAME = re.compile(r"(?:.*-)?([0-9a-f]{8,32})", re.DOTALL)


def model_name(character: str, member_id: UUID) -> str:
    """Such as `ada-1b4e28ba`; a name without a Latin letter or digit gives `character-…`."""
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:LONGEST_SLUG].rstrip("-")
    return f"{slug or 'character'}-{member_id.hex[:SHOWN_DIGITS]}"


def ids_between(name: str) -> tuple[UUID, UUID] | None:
    """The lowest and the highest id that a model of this name can have; None when no model is called so.

    Only the digits behind the last hyphen count: a character that was renamed is still found.
    """
    found = _NAME.fullmatch(name.lower())
    return None if found is None else (UUID(found[1].ljust(32, "0")), UUID(found[1].ljust(32, "f")))
