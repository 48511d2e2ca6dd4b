"""Keys that are stored encrypted: AES-GCM, bound to the row they belong to."""

from __future__ import annotations

import base64
import binascii
import os
from pathlib import Path
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy import select

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database import Database
from tavernkit.playground.base.database.models import Provider
from tavernkit.playground.base.private_files import make_folder, write_once

KEY_FILE = "secret.key"
KEY_BYTES = 32
NONCE_BYTES = 12


class SecretKeyError(TavernKitError):
    """A secret key that cannot be used as it was given."""


class KeyBox:
    """Encrypts and decrypts with a key that lies in the data folder, readable by its owner alone, or in a setting."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)

    @classmethod
    def of_text(cls, text: str) -> KeyBox:
        """The key that the setting holds: 32 bytes in Base64."""
        try:
            key = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if len(key) != KEY_BYTES:
            raise SecretKeyError(
                f"TAVERNKIT_SECRET_KEY is not {KEY_BYTES} bytes in Base64. "
                f"Make one with: head -c {KEY_BYTES} /dev/urandom | base64"
            )
        return cls(key)

    @classmethod
    def in_folder(cls, folder: Path, *, replace_empty: bool = False) -> KeyBox:
        """The folder's key; one is made the first time, or in place of an empty file if nothing needs the old one."""
        path = folder / KEY_FILE
        try:
            make_folder(folder)
            if not path.exists():
                write_once(path, AESGCM.generate_key(bit_length=KEY_BYTES * 8))
            elif replace_empty and path.stat().st_size == 0:
                write_once(path, AESGCM.generate_key(bit_length=KEY_BYTES * 8), replace=True)
            key = path.read_bytes()
        except OSError as error:
            raise SecretKeyError(
                f"The secret key {path} can be neither read nor made: {error.strerror}. Make room, or let this user "
                "read and write there; or name another folder with TAVERNKIT_DATA_DIR."
            ) from error
        if len(key) != KEY_BYTES:
            raise SecretKeyError(
                f"The secret key {path} is damaged: it has {len(key)} bytes instead of {KEY_BYTES}. Put back a copy of "
                "it. If there is none, delete it, start again, and enter the API keys of the providers again."
            )
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


async def open_keys(settings: AppConfig, database: Database) -> KeyBox:
    """The key of this process: the setting's, or the one in the data folder."""
    given = settings.secret_key.get_secret_value()
    if given:
        return KeyBox.of_text(given)
    async with database.read() as session:
        sealed = await session.scalar(select(Provider.id).where(Provider.api_key.is_not(None)).limit(1))
    return KeyBox.in_folder(settings.data_dir, replace_empty=sealed is None)
