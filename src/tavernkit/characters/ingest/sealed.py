"""Cards that RisuAI has encrypted: with a password, or with a word that everybody knows."""

from __future__ import annotations

import base64
import binascii
import hashlib

from tavernkit.errors import ParseError, PngParseError, UnsupportedVersionError
from tavernkit.reading import parse_json

SEALED = b"rcc||"
VERSION = b"rccv1"
NO_PASSWORD = b"RISU_NONE"
NONCE = bytes(12)


def is_locked(text: bytes) -> bool:
    """Whether the text of a chunk is a card that only a password opens."""
    parts = text.split(b"||")
    if not text.startswith(SEALED) or parts[1:2] != [VERSION] or len(parts) != 5:
        return False
    try:
        settings = parse_json(base64.b64decode(parts[4]), what="The card")
    except (binascii.Error, ParseError):
        return False
    return isinstance(settings, dict) and bool(settings.get("usePassword"))


def open_sealed(text: bytes, what: str, password: str = "") -> bytes:
    """The JSON of a card; raises UnsupportedVersionError for one that needs a password, or a newer reader, and
    PngParseError for one that is damaged, or for a wrong password."""
    parts = text.split(b"||")
    if parts[1:2] != [VERSION] or len(parts) != 5:
        raise UnsupportedVersionError(f"{what} is encrypted in a way that is not known here. Export it as JSON.")
    try:
        sealed, about = base64.b64decode(parts[2]), base64.b64decode(parts[4])
    except binascii.Error as error:
        raise PngParseError(f"{what} is encrypted by RisuAI and damaged: {error}.") from None
    settings = parse_json(about, what=what)
    has_password = isinstance(settings, dict) and bool(settings.get("usePassword"))
    if has_password and not password:
        raise UnsupportedVersionError(
            f"{what} is encrypted by RisuAI with a password. Import it with the password on the page Import or with "
            "`tavernkit import --password`, or export it from RisuAI without one."
        )
    try:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise UnsupportedVersionError(
            f"{what} is encrypted by RisuAI, and the cryptography package is not installed. Install "
            "tavernkit[playground], or export the card from RisuAI as JSON."
        ) from None
    word = password.encode() if has_password else NO_PASSWORD
    try:
        return AESGCM(hashlib.sha256(word).digest()).decrypt(NONCE, sealed, None)
    except (InvalidTag, ValueError):
        if has_password:
            raise PngParseError("The password is wrong, or the file is damaged. Try again.") from None
        raise PngParseError(f"{what} is encrypted by RisuAI and damaged. Export it there once more.") from None
