"""Which profile a chat uses: its own, its character's, its space's, or the usual one."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tavernkit.artifacts.pipelines.profile import Profile
from tavernkit.values import Value

__all__ = ["ChosenProfile", "ProfileChoice", "ProfileScope", "choose_profile"]

ProfileScope: TypeAlias = Literal["chat", "character", "space", "default"]
ProfileChoice: TypeAlias = Profile | Literal["off"] | None
"""A profile, none at all on purpose, or nothing said."""


class ChosenProfile(Value, frozen=True, kw_only=True):
    """The profile that is used, and who has said so; both None where nobody has said anything."""

    profile: Profile | None = None
    scope: ProfileScope | None = None


def choose_profile(
    *,
    chat: ProfileChoice = None,
    character: ProfileChoice = None,
    space: ProfileChoice = None,
    default: ProfileChoice = None,
) -> ChosenProfile:
    """The nearest that says something wins, also by saying off."""
    choices: tuple[tuple[ProfileScope, ProfileChoice], ...] = (
        ("chat", chat),
        ("character", character),
        ("space", space),
        ("default", default),
    )
    for scope, choice in choices:
        if choice is not None:
            return ChosenProfile(profile=None if choice == "off" else choice, scope=scope)
    return ChosenProfile()
