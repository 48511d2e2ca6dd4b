"""Cards that RisuAI has encrypted with a password.

A password is tried as soon as somebody gives it, and kept nowhere. What is kept until the import, for a day at least,
is the picture with the card in the open.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal, TypeAlias

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.characters.ingest.png import needs_password, without_password
from tavernkit.characters.limits import DEFAULT_LIMITS
from tavernkit.migration.files import FileSource
from tavernkit.playground.base.database.models import FolderImport, ImportItem, KeptFile
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.migration.kept import KeptBytes, kept_bytes
from tavernkit.playground.story.migration.steps import UNREADABLE, opened, reason

MAX_PASSWORD = 1000
LOCKED, OPENED = "locked", "opened"
"""What the plan of an item says: that its card needs a password, and the hash of the file that was opened with one."""
MARK = b"\0rcc||"
"""What a card that RisuAI has encrypted begins with, behind the keyword of its chunk."""

PasswordState: TypeAlias = Literal["needed", "given"]

NEEDED = _(
    "The card is encrypted by RisuAI with a password. Import the folder again and give the password, or export the "
    "card from RisuAI without one."
)
WAS_OPENED = _("The card was encrypted with a password, and is stored without it.")


def password_state(plan: dict[str, Any]) -> PasswordState | None:
    """Whether a file needs a password, or somebody has given it; None for all others."""
    if LOCKED not in plan:
        return None
    return "given" if OPENED in plan else "needed"


def is_locked(source: FileSource, path: str) -> bool:
    """Whether a file with the mark of an encrypted card needs a password."""
    with source.open(path) as file:
        data = file.read(DEFAULT_LIMITS.file_bytes + 1)
    return len(data) <= DEFAULT_LIMITS.file_bytes and needs_password(data)


def opened_with(row: FolderImport, item: ImportItem, password: str) -> KeptBytes:
    """The file of an item with its card in the open; Refused where the password is wrong.

    Takes a while, so not to be called in the event loop.
    """
    try:
        source = opened(row)
        try:
            with source.open(item.path) as file:
                data = file.read(DEFAULT_LIMITS.file_bytes + 1)
        finally:
            source.close()
        if hashlib.sha256(data).hexdigest() != item.sha256:
            raise Refused("stale", _("The file was changed after the scan. Scan the folder again, then import it."))
        return KeptBytes.of(without_password(data, password))
    except UNREADABLE as error:
        raise Refused("invalid", reason(error)) from None


async def opened_bytes(session: AsyncSession, plan: dict[str, Any]) -> bytes | None:
    """The file that was opened with a password; None where nobody has, or too long ago."""
    sha256 = plan.get(OPENED)
    if sha256 is None or await session.get(KeptFile, sha256) is None:
        return None
    return await kept_bytes(session, sha256)
