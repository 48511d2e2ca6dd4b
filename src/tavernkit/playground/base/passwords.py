"""Passwords: what they must be, and the slow hash that is kept in their place."""

from __future__ import annotations

import asyncio
import unicodedata
from functools import cache

from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused

SHORTEST_PASSWORD = 10
LONGEST_PASSWORD = 200
# Each check takes 64 MiB and a tenth of a second of all cores: a crowd at the door must not take the machine.
_AT_ONCE = 2

HASHER = PasswordHash((Argon2Hasher(time_cost=3, memory_cost=64 * 1024, parallelism=4),))


class Passwords:
    """Hashes and checks with argon2id, outside the event loop and few at a time."""

    def __init__(self, hasher: PasswordHash = HASHER) -> None:
        self._hasher = hasher
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def hash(self, password: str) -> str:
        async with self._turns:
            return await asyncio.to_thread(self._hasher.hash, _normal(password))

    async def check(self, password: str, stored: str | None) -> tuple[bool, str | None]:
        """Whether the password is the one that was stored, and a new hash where the stored one is outdated.

        Without anything stored it takes just as long, so that the time does not tell who has an account.
        """
        async with self._turns:
            return await asyncio.to_thread(self._check, _normal(password), stored)

    def _check(self, password: str, stored: str | None) -> tuple[bool, str | None]:
        decoy = _decoy(self._hasher)
        fits, renewed = self._hasher.verify_and_update(password, stored or decoy)
        return (fits, renewed) if stored else (False, None)


@cache
def _decoy(hasher: PasswordHash) -> str:
    return hasher.hash("nobody")


def password_problem(password: str, *names: str | None) -> None:
    """Why a new password cannot be taken; `names` are what others would try first."""
    if len(password) < SHORTEST_PASSWORD:
        raise Refused("invalid", _("The password needs at least {count} characters.", count=SHORTEST_PASSWORD))
    if len(password) > LONGEST_PASSWORD:
        raise Refused("too_long", _("The password can have at most {count} characters.", count=LONGEST_PASSWORD))
    if len(set(password)) < 4 or password.casefold() in {name.casefold() for name in names if name}:
        raise Refused("invalid", _("This password is too easy to guess. Use several unrelated words."))


def _normal(password: str) -> str:
    """The same text for the same characters, however a keyboard composes them; halves of pairs have no bytes."""
    return unicodedata.normalize("NFKC", password).encode("utf-8", "replace").decode()
