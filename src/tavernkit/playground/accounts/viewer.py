"""Who asks."""

from __future__ import annotations

from typing import Literal, TypeAlias
from uuid import UUID

from tavernkit.values import Value

__all__ = ["Role", "Viewer"]

Role: TypeAlias = Literal["member", "moderator", "administrator"]


class Viewer(Value, frozen=True, kw_only=True):
    """The person on whose behalf something is done, and by what they have proved it."""

    user_id: UUID
    role: Role = "member"
    via: Literal["local", "session", "api_key"] = "local"
    session_id: UUID | None = None

    @property
    def is_administrator(self) -> bool:
        return self.role == "administrator"
