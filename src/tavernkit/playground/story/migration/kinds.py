"""What the scan and the import know about the kinds of files."""

from __future__ import annotations

from collections.abc import Mapping

from tavernkit.migration.files import FileKind
from tavernkit.playground.base.languages import gettext as _

WHOLE_BYTES = 64 * 1024 * 1024
"""A larger file is never read as a whole."""
LONG_CHAT_BYTES = 4 * 1024 * 1024
"""Nor is a larger chat: all of it in one transaction would keep others waiting."""

RANKS: Mapping[str, int] = {
    "world": 10,
    "preset": 20,
    "risuai_module": 20,
    "risuai_preset": 20,
    "quick_replies": 30,
    "background": 40,
    "risuai_asset": 40,
    "character": 50,
    "risuai_character": 50,
    "sprite": 60,
    "persona_picture": 70,
    "risuai_persona": 70,
    "settings": 80,
    "risuai_root": 80,
    "chat_media": 90,
    "chat": 100,
    "risuai_chat": 100,
    "group": 200,
    "group_chat": 210,
    "kept": 900,
    "derived": 900,
    "secret": 900,
    "extension": 900,
}
"""In which order files are imported: what others refer to comes first."""

WAITING: frozenset[str] = frozenset({"sprite"})
"""Files of these kinds are only kept as long as what they belong to is missing: the next import looks at them again."""
CHATS: tuple[FileKind, ...] = ("chat", "group_chat")
NEVER_READ: Mapping[str, str] = {
    "secret": _("It holds keys or passwords, so it was not read. Enter them again under Models."),
    "extension": _("It belongs to an extension, which is a program, so it was not read."),
}
MAY_HOLD_KEYS = ("settings", "preset", "kept", "derived")
KEYS_BYTES = 16 * 1024 * 1024
"""In a larger file, nobody looks for keys, so it is not read at all."""


def may_hold_keys(kind: str, path: str) -> bool:
    """Whether fields of a file may have to be blanked before it is kept."""
    if kind in ("settings", "preset"):
        return True
    return kind in MAY_HOLD_KEYS and path.lower().endswith(".json") and not path.startswith("vectors/")
