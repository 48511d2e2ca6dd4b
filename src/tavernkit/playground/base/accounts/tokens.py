"""Secrets that are shown once: what signs a browser in, what a program carries, what an invitation or a link says.

They are long random texts, so a plain hash is enough to keep: nobody can guess what it is the hash of.
"""

from __future__ import annotations

import secrets
from hashlib import sha256

PREFIX_LENGTH = 10
# Nothing here looks like something else, so that a code can be read out.
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
_CODE_GROUPS, _GROUP_LENGTH = 5, 5


def new_session_token() -> str:
    return secrets.token_urlsafe(32)


def new_api_key() -> str:
    """A key for a program; its beginning says what it is, for people and for tools that look for leaked secrets."""
    return "tk_" + secrets.token_urlsafe(32)


def new_link_token() -> str:
    return secrets.token_urlsafe(24)


def new_invitation_code() -> str:
    groups = ("".join(secrets.choice(_LETTERS) for _ in range(_GROUP_LENGTH)) for _ in range(_CODE_GROUPS))
    return "-".join(groups)


def fingerprint(secret: str) -> str:
    """What is stored in place of a secret."""
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
