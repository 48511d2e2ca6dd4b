"""Keys that are stored encrypted: AES-GCM, bound to the row they belong to."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

__all__ = ["KeyBox"]

NONCE_BYTES = 12


class KeyBox:
    """Encrypts and decrypts with a key that lies in the data folder, readable by its owner alone."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)

    @classmethod
    def in_folder(cls, folder: Path) -> KeyBox:
        """The folder's key; one is made the first time."""
        path = folder / "secret.key"
        folder.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return cls(path.read_bytes())
        key = AESGCM.generate_key(bit_length=256)
        with os.fdopen(descriptor, "wb") as file:
            file.write(key)
        return cls(key)

    def encrypt(self, secret: str, row: UUID) -> bytes:
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, secret.encode(), row.bytes)

    def decrypt(self, sealed: bytes, row: UUID) -> str | None:
        """The secret, or None when it was sealed with another key or for another row."""
        try:
            return self._cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], row.bytes).decode()
        except InvalidTag:
            return None
