"""What a password costs: those who have it, those who guess it, and those who guess at accounts."""

import pytest
from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

from tavernkit.playground.base.passwords import Passwords
from tests.playground.accounts.installation import PASSWORD, Installation

pytestmark = pytest.mark.anyio


class RecordingHasher(Argon2Hasher):
    """Remembers with which parameters passwords were checked."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=8, parallelism=1)
        self.checked: list[str] = []

    def verify(self, password: str | bytes, hash: str | bytes) -> bool:
        self.checked.append(str(hash).rpartition("$")[0].rpartition("$")[0])
        return super().verify(password, hash)


async def test_a_hash_is_made_with_parameters_that_make_guessing_expensive() -> None:
    assert (await Passwords().hash(PASSWORD)).startswith("$argon2id$v=19$m=65536,t=3,p=4$")


async def test_an_unknown_name_costs_the_same_check_as_a_wrong_password(installation: Installation) -> None:
    await installation.owner_with_password()
    hasher = RecordingHasher()
    installation.runtime.passwords = Passwords(PasswordHash((hasher,)))
    for login in ("olga", "nobody"):
        body = {"login": login, "password": "not the password"}
        assert (await installation.stranger().post("/api/v1/sessions", json=body)).status_code == 401
    known, unknown = hasher.checked
    assert known == unknown == "$argon2id$v=19$m=8,t=1,p=1"
