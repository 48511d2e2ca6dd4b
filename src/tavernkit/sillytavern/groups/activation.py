"""Who speaks next: what the application decided or asked for comes first, then what the group's strategy says."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tavernkit.errors import ParseError
from tavernkit.prompt.warning import BuildWarning
from tavernkit.sillytavern.errors import DepartedMemberError, GroupError
from tavernkit.sillytavern.groups.group import GroupStrategy, StoryGroup
from tavernkit.sillytavern.groups.strategies import (
    FindMentions,
    Random,
    Roll,
    SpeakerChoice,
    SpeakerReason,
    draw,
    first_shuffled,
    mentions_of_ascii_words,
    natural_order,
    pooled_order,
    speakers_of_last_message,
)
from tavernkit.sillytavern.turns import ChatTurn
from tavernkit.values import JsonObject, Value


class Decision(Value, frozen=True, kw_only=True):
    """Who speaks, as plain data: it can be stored as JSON, read back, and given to `decide` again."""

    speakers: tuple[str, ...]
    reasons: tuple[SpeakerReason, ...] = ()
    activation_text: str = ""
    is_user_input: bool = False

    @classmethod
    def of(cls, activation: GroupActivation) -> Decision:
        """The decision that the library has come to."""
        return Decision(**{name: getattr(activation, name) for name in Decision.__struct_fields__})

    @classmethod
    def from_dict(cls, source: JsonObject) -> Decision:
        """Read what `to_dict` wrote; raises ParseError when it is something else."""
        try:
            return msgspec.convert(source, cls)
        except msgspec.ValidationError as error:
            raise ParseError(f"This is not a stored decision about who speaks: {error}.") from None

    def to_dict(self) -> JsonObject:
        """The decision as JSON can hold it."""
        written: JsonObject = msgspec.to_builtins(self)
        return written


class GroupActivation(Decision, frozen=True, kw_only=True):
    """Who speaks, in this order, and one reason for each.

    `activation_text` is what was searched for names; `is_user_input` says that it was typed just now. `rolls` are the
    throws of natural order, lost ones too; `banned` is the name of who was kept from answering themselves.
    """

    speakers: tuple[str, ...] = ()
    rolls: tuple[Roll, ...] = ()
    banned: str | None = None

    def explain(self, group: StoryGroup) -> tuple[str, ...]:
        """A sentence for each speaker."""
        return tuple(
            f"{group.find(avatar).name} {reason}." for avatar, reason in zip(self.speakers, self.reasons, strict=True)
        )


def activate(
    group: StoryGroup,
    *,
    chat: Sequence[ChatTurn],
    user_input: str = "",
    generation_type: str | None = None,
    random: Random,
    by_auto_mode: bool = False,
    forced: str | None = None,
    mentions: FindMentions = mentions_of_ascii_words,
) -> GroupActivation:
    """Choose the speakers. `forced` is the avatar of somebody who was asked to speak, of the group or not.

    `mentions` finds names in a text; SillyTavern's own way knows only those in ASCII.

    Raises DepartedMemberError when the last message is to be swiped or continued and its writer is not at hand,
    UnknownMemberError when somebody was asked who is not.
    """
    is_user_input = bool(user_input) and not by_auto_mode
    last_text = chat[-1].text if chat and not chat[-1].is_system else ""
    started = GroupActivation(activation_text=user_input if is_user_input else last_text, is_user_input=is_user_input)
    if not group.members:
        return started
    if forced is not None:
        return _with_speakers(started, group, [(group.find(forced).avatar, SpeakerReason(cause="forced"))])
    match generation_type:
        case "quiet":
            return _with_speakers(started, group, _for_quiet_prompt(group, chat, random))
        case "swipe" | "continue":
            choices = speakers_of_last_message(group, chat, random, hidden_count=False)
            activation = _with_speakers(started, group, choices)
            if not activation.speakers:
                deed = "swiped" if generation_type == "swipe" else "continued"
                raise DepartedMemberError(
                    f"The last message cannot be {deed}: its writer is not in the group. Add the writer back."
                )
            return activation
        case "impersonate":
            return _with_speakers(started, group, draw(group.members, random, SpeakerReason(cause="impersonate")))
        case _:
            return _by_strategy(started, group, chat, random, mentions)


def _by_strategy(
    started: GroupActivation, group: StoryGroup, chat: Sequence[ChatTurn], random: Random, mentions: FindMentions
) -> GroupActivation:
    choices: list[SpeakerChoice] = []
    match group.activation_strategy:
        case GroupStrategy.NATURAL:
            may_answer_self = started.is_user_input or group.allow_self_responses or not chat or chat[-1].is_user
            banned = None if may_answer_self else chat[-1].name
            choices, rolls = natural_order(group, started.activation_text, random, banned=banned, mentions=mentions)
            started = started.with_(rolls=rolls, banned=banned)
        case GroupStrategy.LIST:
            choices = [(avatar, SpeakerReason(cause="list")) for avatar in dict.fromkeys(group.enabled)]
        case GroupStrategy.POOLED:
            choices = pooled_order(group.enabled, chat, random, is_user_input=started.is_user_input)
        case GroupStrategy.MANUAL if not started.is_user_input:
            choices = first_shuffled(group.enabled, random, SpeakerReason(cause="manual"))
    return _with_speakers(started, group, choices)


def _for_quiet_prompt(group: StoryGroup, chat: Sequence[ChatTurn], random: Random) -> list[SpeakerChoice]:
    loaded = group.loaded()
    choices = speakers_of_last_message(group, chat, random, hidden_count=True)
    first = [(avatar, reason) for avatar, reason in choices if avatar in loaded][:1]
    return first or [(group.members[0], SpeakerReason(cause="first_member"))]


def _with_speakers(started: GroupActivation, group: StoryGroup, choices: Sequence[SpeakerChoice]) -> GroupActivation:
    loaded = group.loaded()
    present = [(avatar, reason) for avatar, reason in choices if avatar in loaded]
    return started.with_(
        speakers=tuple(avatar for avatar, _ in present), reasons=tuple(reason for _, reason in present)
    )


DECISION_MISMATCH = "group_decision_mismatch"


class Decided(Value, frozen=True, kw_only=True):
    """The decision that counts, what the library would have chosen (None when it could not), and what was noticed."""

    decision: Decision
    activation: GroupActivation | None
    warnings: tuple[BuildWarning, ...] = ()


def decide(
    group: StoryGroup,
    *,
    chat: Sequence[ChatTurn],
    user_input: str = "",
    generation_type: str | None = None,
    random: Random,
    by_auto_mode: bool = False,
    forced: str | None = None,
    decision: Decision | None = None,
) -> Decided:
    """Settle who speaks. The application's `decision` is taken as it is; a different one of ours becomes a warning.

    Without a decision this raises what `activate` raises; with one, UnknownMemberError when it names somebody who is
    not at hand.
    """
    for avatar in decision.speakers if decision else ():
        group.find(avatar)
    try:
        activation = activate(
            group,
            chat=chat,
            user_input=user_input,
            generation_type=generation_type,
            random=random,
            by_auto_mode=by_auto_mode,
            forced=forced,
        )
    except GroupError as error:
        if decision is None:
            raise
        return Decided(decision=decision, activation=None, warnings=(_mismatch(group, decision, (), str(error)),))
    if decision is None:
        return Decided(decision=Decision.of(activation), activation=activation)
    if decision.speakers == activation.speakers:
        return Decided(decision=decision, activation=activation)
    why = " ".join(activation.explain(group))
    warning = _mismatch(group, decision, activation.speakers, why)
    return Decided(decision=decision, activation=activation, warnings=(warning,))


def _mismatch(group: StoryGroup, decision: Decision, ours: tuple[str, ...], why: str) -> BuildWarning:
    chosen, proposed = _names(group, decision.speakers), _names(group, ours)
    return BuildWarning(
        code=DECISION_MISMATCH,
        message=f"The application lets {chosen} speak where the group's rules say {proposed}. {why}".rstrip(),
        where={"application": list(decision.speakers), "library": list(ours)},
    )


def _names(group: StoryGroup, speakers: tuple[str, ...]) -> str:
    return ", ".join(group.find(avatar).name for avatar in speakers) or "nobody"
