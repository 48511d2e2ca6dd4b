"""The seal on RisuAI's preset files: AES-GCM with a key that everybody knows."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from tavernkit.errors import PresetParseError, UnsupportedVersionError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY = hashlib.sha256(b"risupreset").digest()
NONCE = bytes(12)
SHORTEST = 16


def seal(data: bytes) -> bytes:
    """Seal the preset inside a preset file."""
    return _cipher().encrypt(NONCE, data, None)


def unseal(data: bytes) -> bytes:
    """Open the seal; raises UnsupportedVersionError for a preset that another key has locked."""
    cipher = _cipher()
    from cryptography.exceptions import InvalidTag

    if len(data) < SHORTEST:
        raise PresetParseError("The preset is damaged: what it holds is too short to be a sealed preset.")
    try:
        return cipher.decrypt(NONCE, data, None)
    except InvalidTag:
        raise UnsupportedVersionError(
            "The preset is damaged, or encrypted with a key of its own. Export it from RisuAI once more, or as JSON."
        ) from None


def _cipher() -> AESGCM:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise UnsupportedVersionError(
            "RisuAI's preset files are encrypted, and the cryptography package is not installed. "
            "Install tavernkit[playground], or export the preset from RisuAI as JSON."
        ) from None
    return AESGCM(KEY)
