"""The rules by which SillyTavern chooses speakers; each draws its numbers in the application's order."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from tavernkit.sillytavern.groups.group import GroupMember, StoryGroup
from tavernkit.sillytavern.groups.mentions import FindMentions
from tavernkit.sillytavern.groups.reasons import Roll, SpeakerReason
from tavernkit.sillytavern.turns import ChatTurn

Random: TypeAlias = Callable[[], float]
"""Gives numbers from 0 up to 1, as Math.random does."""
SpeakerChoice: TypeAlias = tuple[str, SpeakerReason]
"""An avatar, and why it was chosen. Whether a character of that name is at hand is for the caller to see."""


def natural_order(
    group: StoryGroup, text: str, random: Random, *, banned: str | None, mentions: FindMentions
) -> tuple[list[SpeakerChoice], tuple[Roll, ...]]:
    """Whoever is mentioned, in the order of the words; then whoever feels like talking; failing both, somebody.

    `banned` is the name of who may not answer themselves; where nobody else would speak, they may after all.
    """
    loaded = group.loaded()
    enabled = group.enabled
    eligible = {avatar: loaded[avatar] for avatar in enabled if avatar in loaded and loaded[avatar].name != banned}
    choices = [(avatar, SpeakerReason(cause="mention", word=word)) for avatar, word in mentions(eligible, text)]
    rolls = tuple(
        Roll(avatar=avatar, roll=random(), threshold=eligible[avatar].talkativeness)
        for avatar in _shuffled(enabled, random)
        if avatar in eligible
    )
    choices += [
        (roll.avatar, SpeakerReason(cause="talkativeness", roll=roll.roll, threshold=roll.threshold))
        for roll in rolls
        if roll.speaks
    ]
    if not choices:
        chatty = [roll.avatar for roll in rolls if roll.threshold > 0]
        choices = _somebody(chatty or enabled, loaded, random)
    return _first_of_each(choices), rolls


def list_order(members: Sequence[str]) -> list[SpeakerChoice]:
    """Everybody once."""
    return [(avatar, SpeakerReason(cause="list")) for avatar in dict.fromkeys(members)]


def manual_order(members: Sequence[str], random: Random) -> list[SpeakerChoice]:
    """Somebody: who comes first after a shuffle."""
    return _first_shuffled(members, random, SpeakerReason(cause="manual"))


def pooled_order(
    members: Sequence[str], chat: Sequence[ChatTurn], random: Random, *, is_user_input: bool
) -> list[SpeakerChoice]:
    """One of those who have not spoken since the user did; when all have, anybody but the last speaker."""
    spoken = set() if is_user_input else _spoken_since_user(chat)
    silent = [avatar for avatar in members if avatar not in spoken]
    if silent:
        return _draw(silent, random, SpeakerReason(cause="pooled"))
    last = chat[-1] if chat else None
    pool = list(members)
    if last is not None and not last.is_user and last.original_avatar and len(members) > 1:
        pool = [avatar for avatar in members if avatar != last.original_avatar]
    return _draw(pool, random, SpeakerReason(cause="pooled_again"))


def any_member(members: Sequence[str], random: Random) -> list[SpeakerChoice]:
    """Anybody, muted or not: somebody must be the character while the user's words are written."""
    return _draw(members, random, SpeakerReason(cause="impersonate"))


def speakers_of_last_message(
    group: StoryGroup, chat: Sequence[ChatTurn], random: Random, *, hidden_count: bool
) -> list[SpeakerChoice]:
    """Whoever wrote the last message; behind a message that does not count, whoever wrote the last one that does.

    In the second case the writer of the very last message is added too, where it is known. Muted members are accepted,
    and an avatar that a message names even from outside the group.
    """
    if not chat:
        return []
    choices: list[SpeakerChoice] = []
    last = chat[-1]
    if not _counts(last, hidden_count=hidden_count):
        previous = _previous_speaker(chat, hidden_count=hidden_count)
        choices += previous or _first_shuffled(group.members, random, SpeakerReason(cause="random"))
    writer = last.original_avatar or _member_named(group, last.name)
    if writer is not None:
        choices.append((writer, SpeakerReason(cause="last_speaker")))
    return choices


def _somebody(pool: Sequence[str], loaded: Mapping[str, GroupMember], random: Random) -> list[SpeakerChoice]:
    """Somebody who is at hand, drawn as many times as there are names in the pool."""
    for _ in pool:
        choice = _draw(pool, random, SpeakerReason(cause="random"))
        if choice[0][0] in loaded:
            return choice
    return []


def _draw(pool: Sequence[str], random: Random, reason: SpeakerReason) -> list[SpeakerChoice]:
    """One of the pool. A number is drawn even where there is nobody to choose from."""
    roll = random()
    if not pool:
        return []
    return [(pool[_index(roll, len(pool))], reason.with_(roll=roll, pool=len(pool)))]


def _first_shuffled(members: Sequence[str], random: Random, reason: SpeakerReason) -> list[SpeakerChoice]:
    return [(avatar, reason.with_(pool=len(members))) for avatar in _shuffled(members, random)[:1]]


def _first_of_each(choices: Sequence[SpeakerChoice]) -> list[SpeakerChoice]:
    """Everybody once, for the first of their reasons."""
    unique: dict[str, SpeakerReason] = {}
    for avatar, reason in choices:
        unique.setdefault(avatar, reason)
    return list(unique.items())


def _shuffled(members: Sequence[str], random: Random) -> list[str]:
    """Fisher-Yates from the end; the last one left costs a number too."""
    shuffled = list(members)
    for end in range(len(shuffled), 0, -1):
        other = _index(random(), end)
        shuffled[end - 1], shuffled[other] = shuffled[other], shuffled[end - 1]
    return shuffled


def _index(roll: float, length: int) -> int:
    return min(math.floor(roll * length), length - 1)


def _spoken_since_user(chat: Sequence[ChatTurn]) -> set[str]:
    spoken: set[str] = set()
    for turn in reversed(chat):
        if turn.is_user:
            break
        if turn.original_avatar and _counts(turn, hidden_count=False):
            spoken.add(turn.original_avatar)
    return spoken


def _counts(turn: ChatTurn, *, hidden_count: bool) -> bool:
    """Whether a member's turn it is: not the user's, not the narrator's, not hidden unless that is accepted."""
    return not turn.is_user and not turn.is_narrator and (hidden_count or not turn.is_system)


def _previous_speaker(chat: Sequence[ChatTurn], *, hidden_count: bool) -> list[SpeakerChoice]:
    for turn in reversed(chat):
        if turn.original_avatar and _counts(turn, hidden_count=hidden_count):
            return [(turn.original_avatar, SpeakerReason(cause="previous_speaker"))]
    return []


def _member_named(group: StoryGroup, name: str) -> str | None:
    """The first at hand who has this name and belongs to the group."""
    members = set(group.members)
    return next((member.avatar for member in group.cast if member.name == name and member.avatar in members), None)
