"""What accounts are called: a name that people see, and an e-mail address that only its owner does."""

from __future__ import annotations

import re
import unicodedata

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.lookalikes import is_like_one_of, mixes_scripts
from tavernkit.playground.base.database.models import User
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.text.invisible import without_invisible
from tavernkit.values import Value

LONGEST_NAME = 200
LONGEST_EMAIL = 320
_EMAIL = re.compile(r"[^\s@]+@[^\s@]+")


class AccountNames(Value, frozen=True, kw_only=True):
    """A name and an address that can be stored."""

    name: str
    email: str | None


def tidy(line: str) -> str:
    """A line without what nobody can see and no database can store."""
    return " ".join(without_invisible(line).split())


def normal(line: str) -> str:
    """A tidy line in the one form that is stored, of all those in which the same characters can be written."""
    return tidy(unicodedata.normalize("NFKC", tidy(line)))


def read_names(name: str, email: str | None, *, present: str | None = None) -> AccountNames:
    """Tidy up what somebody typed, or say what is wrong with it.

    An account may keep the name that it has at present, also one that it could not choose any more.
    """
    is_kept = name == present
    name = name if is_kept else normal(name)
    if not name:
        raise Refused("blank", _("Enter a name."))
    if len(name) > LONGEST_NAME:
        raise Refused("too_long", _("The name can have at most {count} characters.", count=LONGEST_NAME))
    if "@" in name:
        # Whoever signs in with an @ gives an address, and nobody's name may look like another's address.
        raise Refused("invalid", _("A name cannot contain @. Enter the e-mail address in its own field."))
    if mixes_scripts(name) and not is_kept:
        sentence = _(
            "A word of the name mixes letters of several alphabets and could imitate another name. Use one alphabet."
        )
        raise Refused("invalid", sentence)
    email = (email or "").strip().lower() or None
    if email is not None and (
        len(email) > LONGEST_EMAIL or without_invisible(email) != email or not _EMAIL.fullmatch(email)
    ):
        raise Refused("invalid", _("This is not a valid e-mail address."))
    return AccountNames(name=name, email=email)


async def lock_accounts(session: AsyncSession) -> None:
    """Let those who depend on all accounts, for a free name or a last administrator, go one after the other."""
    await session.execute(select(User.id).order_by(User.created_at, User.id).limit(1).with_for_update())


async def free_names(session: AsyncSession, naming: AccountNames, *, besides: User | None = None) -> None:
    """Nothing if nobody else is called so, or nearly so; the accounts must be locked."""
    others = select(User.name).where(*(() if besides is None else (User.id != besides.id,)))
    is_kept = besides is not None and besides.name == naming.name
    # Names are compared here, so that nothing stored depends on which letters are known to look alike.
    if not is_kept and is_like_one_of(naming.name, await session.scalars(others)):
        raise Refused("taken", _("This name, or a similar one, is already in use. Choose another name."))
    if naming.email and await session.scalar(others.where(User.email == naming.email).limit(1)) is not None:
        raise Refused("taken", _("An account with this e-mail address already exists."))
