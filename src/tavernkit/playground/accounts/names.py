"""What accounts are called: a name that people see, and an e-mail address that only its owner does."""

from __future__ import annotations

import re

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.database.models import User
from tavernkit.playground.outcome import Refused
from tavernkit.values import Value

__all__ = ["LONGEST_EMAIL", "LONGEST_NAME", "Naming", "free_naming", "lock_accounts", "read_naming", "tidy"]

LONGEST_NAME = 200
LONGEST_EMAIL = 320
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_EMAIL = re.compile(r"[^\s@]+@[^\s@]+")


class Naming(Value, frozen=True, kw_only=True):
    """A name and an address that can be stored."""

    name: str
    email: str | None


def tidy(line: str) -> str:
    """A line without what nobody can see and no database can store."""
    return " ".join(_UNSEEN.sub("", line).split())


def read_naming(name: str, email: str | None) -> Naming | Refused:
    """Tidy up what somebody typed, or say what is wrong with it."""
    name = tidy(name)
    if not name:
        return Refused(code="blank", sentence="A name is needed.")
    if len(name) > LONGEST_NAME:
        return Refused(code="too_long", sentence=f"A name can have at most {LONGEST_NAME} characters.")
    if "@" in name:
        # Whoever signs in with an @ gives an address, and nobody's name may look like another's address.
        return Refused(code="invalid", sentence="A name cannot hold an @; the e-mail address has its own field.")
    email = (email or "").strip().lower() or None
    if email is not None and (len(email) > LONGEST_EMAIL or _UNSEEN.search(email) or not _EMAIL.fullmatch(email)):
        return Refused(code="invalid", sentence="That does not look like an e-mail address.")
    return Naming(name=name, email=email)


async def lock_accounts(session: AsyncSession) -> None:
    """Let those who depend on all accounts, for a free name or a last administrator, go one after the other."""
    await session.execute(select(User.id).order_by(User.created_at, User.id).limit(1).with_for_update())


async def free_naming(session: AsyncSession, naming: Naming, *, besides: User | None = None) -> Refused | None:
    """Nothing if nobody else is called so; the accounts must be locked."""
    others = select(User.id).limit(1)
    if besides is not None:
        others = others.where(User.id != besides.id)
    if await session.scalar(others.where(func.lower(User.name) == naming.name.lower())) is not None:
        return Refused(code="taken", sentence="Somebody else has that name. Choose another one.")
    if naming.email and await session.scalar(others.where(User.email == naming.email)) is not None:
        return Refused(code="taken", sentence="There is an account with that e-mail address already.")
    return None
