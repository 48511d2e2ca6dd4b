"""Which rules choose the next speaker, each drawing numbers in the application's order, and what reasons they give."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from tavernkit.sillytavern.groups.group import GroupMember, StoryGroup
from tavernkit.sillytavern.turns import ChatTurn
from tavernkit.values import Value

SpeakerCause: TypeAlias = Literal[
    "forced",
    "mention",
    "talkativeness",
    "random",
    "list",
    "manual",
    "pooled",
    "pooled_again",
    "last_speaker",
    "previous_speaker",
    "first_member",
    "impersonate",
]

CAUSES: Mapping[SpeakerCause, str] = {
    "forced": "was asked to speak",
    "mention": "was mentioned as {word!r}",
    "talkativeness": "rolled {roll}, which is not above a talkativeness of {threshold}",
    "random": "was drawn from {pool}, as there was no reason for anybody in particular",
    "list": "speaks because everybody does, in the group's order",
    "manual": "was drawn from {pool}, as the group waits to be told who speaks",
    "pooled": "was drawn from the {pool} who have not spoken since the user did",
    "pooled_again": "was drawn from {pool}, as everybody has spoken since the user did",
    "last_speaker": "wrote the last message",
    "previous_speaker": "wrote the last message that counts",
    "first_member": "is the first of the group, as nobody has spoken yet",
    "impersonate": "was drawn from {pool} to be the character while the user's words are written",
}
"""The words for each cause."""


class Roll(Value, frozen=True, kw_only=True):
    """One member's throw: it speaks when `roll` is not above `threshold`, its talkativeness."""

    avatar: str
    roll: float
    threshold: float

    @property
    def speaks(self) -> bool:
        return self.threshold >= self.roll


class SpeakerReason(Value, frozen=True, kw_only=True):
    """Why one speaker was chosen.

    `word` is the word that mentioned it; `roll` the number that was drawn, `threshold` what it was held against, and
    `pool` how many were drawn from.
    """

    cause: SpeakerCause
    word: str | None = None
    roll: float | None = None
    threshold: float | None = None
    pool: int | None = None

    def __str__(self) -> str:
        return CAUSES[self.cause].format(word=self.word, roll=self.roll, threshold=self.threshold, pool=self.pool)


Mention: TypeAlias = tuple[str, str]
"""An avatar, and the word that names it."""
FindMentions: TypeAlias = Callable[[Mapping[str, GroupMember], str], list[Mention]]
"""Takes members by avatar and a text; gives who is mentioned, in the order of the text."""

_ASCII_WORD = re.compile(r"\w+", re.ASCII)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def mentions_of_ascii_words(members: Mapping[str, GroupMember], text: str) -> list[Mention]:
    """SillyTavern's rule: any word of a name counts, and only ASCII letters, digits and underscores make words."""
    owners: dict[str, str] = {}
    for avatar, member in members.items():
        for word in _ascii_words(member.name):
            owners.setdefault(word, avatar)
    return [(owners[word], word) for word in dict.fromkeys(_ascii_words(text)) if word in owners]


def mentions_in_any_script(members: Mapping[str, GroupMember], text: str) -> list[Mention]:
    """Names in every script, and without their small words: "the" mentions nobody, although Kael the Tall is here.

    Where letters have no case, words often touch each other: there a name is found inside of them.
    """
    searched = _plain(text)
    found: dict[str, tuple[int, str]] = {}
    for avatar, member in members.items():
        for word in _telling_words(_nfc(member.name)):
            place = _place(_plain(word), searched)
            if place is not None and (avatar not in found or place < found[avatar][0]):
                found[avatar] = (place, word)
    return [(avatar, word) for avatar, (_, word) in sorted(found.items(), key=lambda item: item[1][0])]


def _ascii_words(text: str) -> list[str]:
    return [word.lower() for word in _ASCII_WORD.findall(text)]


def _telling_words(name: str) -> Iterator[str]:
    """The words of a name that could not be anybody's; all of them where every word is small."""
    words = [piece for part in name.split() for piece in ([part] if _is_caseless(part) else _WORD.findall(part))]
    telling = [word for word in words if not word[0].islower()]
    yield from telling or words


def _place(word: str, text: str) -> int | None:
    if _is_caseless(word):
        place = text.find(word)
        return None if place < 0 else place
    # An underscore is around words: it emphasises them.
    match = re.search(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", text)
    return None if match is None else match.start()


def _is_caseless(word: str) -> bool:
    return any(character.isalpha() for character in word) and word.lower() == word.upper()


def _plain(text: str) -> str:
    return _nfc(text).casefold()


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


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


def pooled_order(
    members: Sequence[str], chat: Sequence[ChatTurn], random: Random, *, is_user_input: bool
) -> list[SpeakerChoice]:
    """One of those who have not spoken since the user did; when all have, anybody but the last speaker."""
    spoken = set() if is_user_input else _spoken_since_user(chat)
    silent = [avatar for avatar in members if avatar not in spoken]
    if silent:
        return draw(silent, random, SpeakerReason(cause="pooled"))
    last = chat[-1] if chat else None
    pool = list(members)
    if last is not None and not last.is_user and last.original_avatar and len(members) > 1:
        pool = [avatar for avatar in members if avatar != last.original_avatar]
    return draw(pool, random, SpeakerReason(cause="pooled_again"))


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
        choices += previous or first_shuffled(group.members, random, SpeakerReason(cause="random"))
    # Without an avatar it is the first at hand who has this name and belongs to the group.
    members = set(group.members)
    named = (member.avatar for member in group.cast if member.name == last.name and member.avatar in members)
    writer = last.original_avatar or next(named, None)
    if writer is not None:
        choices.append((writer, SpeakerReason(cause="last_speaker")))
    return choices


def _somebody(pool: Sequence[str], loaded: Mapping[str, GroupMember], random: Random) -> list[SpeakerChoice]:
    """Somebody who is at hand, drawn as many times as there are names in the pool."""
    for _ in pool:
        choice = draw(pool, random, SpeakerReason(cause="random"))
        if choice[0][0] in loaded:
            return choice
    return []


def draw(pool: Sequence[str], random: Random, reason: SpeakerReason) -> list[SpeakerChoice]:
    """One of the pool. A number is drawn even where there is nobody to choose from."""
    roll = random()
    if not pool:
        return []
    return [(pool[_index(roll, len(pool))], reason.with_(roll=roll, pool=len(pool)))]


def first_shuffled(members: Sequence[str], random: Random, reason: SpeakerReason) -> list[SpeakerChoice]:
    """Somebody: who comes first after a shuffle."""
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
