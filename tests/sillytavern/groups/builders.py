"""Groups, chats and chance, in few words."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from tavernkit import Character
from tavernkit.sillytavern.groups import GroupActivation, GroupMember, StoryGroup, activate
from tavernkit.sillytavern.turns import ChatTurn


def member(name: str, talkativeness: float = 0.5, **card: Any) -> GroupMember:
    avatar = f"{name.lower()}.png"
    return GroupMember(avatar=avatar, character=Character(name=name, **card), talkativeness=talkativeness)


def trio(*talkativeness: float, **settings: Any) -> StoryGroup:
    """Vesper, Tamsin and Brock."""
    levels = talkativeness or (0, 0, 0)
    names = ("Vesper", "Tamsin", "Brock")
    return StoryGroup.of(*(member(name, level) for name, level in zip(names, levels, strict=True))).with_(**settings)


def chat(*lines: tuple[str, str] | ChatTurn) -> list[ChatTurn]:
    """Messages as (name, text); Orrin is the user, everybody else writes under their own avatar."""
    return [line if isinstance(line, ChatTurn) else _turn(index, *line) for index, line in enumerate(lines)]


def _turn(index: int, name: str, text: str) -> ChatTurn:
    if name == "Orrin":
        return ChatTurn(index=index, name=name, text=text, is_user=True)
    return ChatTurn(index=index, name=name, text=text, original_avatar=f"{name.lower()}.png")


def numbers(*values: float) -> Callable[[], float]:
    """Chance that gives these numbers, over and over."""
    return itertools.cycle(values or (0.5,)).__next__


def choose(group: StoryGroup, *drawn: float, **situation: Any) -> GroupActivation:
    return activate(group, random=numbers(*drawn), **{"chat": (), **situation})


def names(activation: GroupActivation) -> list[str]:
    return [avatar.removesuffix(".png") for avatar in activation.speakers]


def causes(activation: GroupActivation) -> list[str]:
    return [reason.cause for reason in activation.reasons]
