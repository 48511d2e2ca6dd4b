"""Having those who follow something asked at once whether they still may.

Whatever ends a session, a key, an account, a membership or what others may read announces it in its transaction.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database import announce


def announce_access_change(session: AsyncSession, topic: str) -> None:
    """Have everybody who listens to a topic, in every process, look again once this transaction is committed."""
    announce(session, topic, access="changed")


def is_access_in_question(items: Iterable[dict[str, Any]]) -> bool:
    """Whether one of the items says so, or something that says so may have been lost."""
    return any("access" in item or "gap" in item for item in items)
