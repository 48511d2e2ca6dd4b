"""Who takes part."""

from __future__ import annotations

from tavernkit.sillytavern.macros.environment import Environment
from tavernkit.sillytavern.macros.registry import Alias, Pack

NAMES = Pack("names")


def group_names(environment: Environment, *, with_muted: bool) -> str:
    """The members of the group, or the character where there is none."""
    if environment.group_override:
        return environment.group_override
    if environment.group is None:
        return environment.character_name
    return ", ".join(_members(environment, with_muted=with_muted))


def other_names(environment: Environment) -> str:
    """Everybody but the character; in a group, the members who may speak."""
    if environment.group_override:
        return environment.group_override
    if environment.group is None:
        return environment.user_name
    return ", ".join(name for name in _members(environment, with_muted=False) if name != environment.character_name)


def _members(environment: Environment, *, with_muted: bool) -> list[str]:
    group = environment.group
    if group is None:
        return []
    return [name for name in group.members if name and (with_muted or name not in group.muted)]


NAMES.value("user", "The name of the user's persona.", lambda expansion: expansion.environment.user_name)
NAMES.value("char", "The name of the character.", lambda expansion: expansion.environment.character_name)
NAMES.value(
    "group",
    "All members of the group, muted ones too; outside a group the character.",
    lambda expansion: group_names(expansion.environment, with_muted=True),
    aliases=(Alias(name="charIfNotGroup", visible=False),),
)
NAMES.value(
    "groupNotMuted",
    "The members of the group who are not muted; outside a group the character.",
    lambda expansion: group_names(expansion.environment, with_muted=False),
)
NAMES.value(
    "notChar",
    "Everybody but the character: the unmuted others of a group, or the user.",
    lambda expansion: other_names(expansion.environment),
)
