"""Cards that RisuAI has encrypted: with a password, or with a word that everybody knows."""

from __future__ import annotations

import base64
import binascii
import hashlib

from tavernkit.errors import PngParseError, UnsupportedVersionError
from tavernkit.reading import parse_json

SEALED = b"rcc||"
VERSION = b"rccv1"
NO_PASSWORD = b"RISU_NONE"
NONCE = bytes(12)


def open_sealed(text: bytes, what: str) -> bytes:
    """The JSON of a card; raises UnsupportedVersionError for one that needs a password, or a newer reader, and
    PngParseError for one that is damaged."""
    parts = text.split(b"||")
    if parts[1:2] != [VERSION] or len(parts) != 5:
        raise UnsupportedVersionError(f"{what} is encrypted in a way that is not known here. Export it as JSON.")
    try:
        sealed, about = base64.b64decode(parts[2]), base64.b64decode(parts[4])
    except binascii.Error as error:
        raise PngParseError(f"{what} is encrypted by RisuAI and damaged: {error}.") from None
    settings = parse_json(about, what=what)
    if isinstance(settings, dict) and settings.get("usePassword"):
        raise UnsupportedVersionError(
            f"{what} is encrypted by RisuAI with a password. Import it there with the password, and export it without "
            "one."
        )
    try:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise UnsupportedVersionError(
            f"{what} is encrypted by RisuAI, and the cryptography package is not installed. Install "
            "tavernkit[playground], or export the card from RisuAI as JSON."
        ) from None
    try:
        return AESGCM(hashlib.sha256(NO_PASSWORD).digest()).decrypt(NONCE, sealed, None)
    except (InvalidTag, ValueError):
        raise PngParseError(f"{what} is encrypted by RisuAI and damaged. Export it there once more.") from None
