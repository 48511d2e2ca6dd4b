"""Who asks."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias
from uuid import UUID

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.values import Value


class Visit(Value, frozen=True, kw_only=True):
    """Where somebody signs in from, so that they recognise the session later.

    `browser_tokens` prove at which accounts the browser has signed in before.
    """

    address: str = ""
    agent: str = ""
    browser_tokens: tuple[str, ...] = ()


Role: TypeAlias = Literal["member", "moderator", "administrator"]


class Viewer(Value, frozen=True, kw_only=True):
    """The person on whose behalf something is done, and by what they have proved it.

    `language` is what they have chosen for the interface; None is what their browser asks for. `appearance` and
    `shortcuts` are how pages look and which keys they have for this person, as far as they have chosen it.
    """

    user_id: UUID
    role: Role = "member"
    via: Literal["local", "session", "api_key"] = "local"
    session_id: UUID | None = None
    language: str | None = None
    appearance: dict[str, Any] | None = None
    shortcuts: dict[str, Any] | None = None

    @property
    def is_administrator(self) -> bool:
        return self.role == "administrator"


def require_person(viewer: Viewer) -> None:
    """Refuse programs: who has got hold of a key must not be able to lock its owner out or to stay for ever."""
    if viewer.via == "api_key":
        raise Refused("forbidden", _("API keys cannot be used for this. Sign in with your account."))


def require_administrator(viewer: Viewer) -> None:
    """Refuse everybody but an administrator in person."""
    if not viewer.is_administrator:
        raise Refused("forbidden", _("Only administrators can do this."))
    require_person(viewer)
