"""Who decides: the library, or the application, whose word counts even where the library would have said otherwise."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tavernkit.errors import ParseError
from tavernkit.prompt.warning import BuildWarning
from tavernkit.sillytavern.errors import GroupError
from tavernkit.sillytavern.groups.activation import GroupActivation, activate
from tavernkit.sillytavern.groups.group import StoryGroup
from tavernkit.sillytavern.groups.reasons import SpeakerReason
from tavernkit.sillytavern.groups.strategies import Random
from tavernkit.sillytavern.turns import ChatTurn
from tavernkit.values import JsonObject, Value

DECISION_MISMATCH = "group_decision_mismatch"


class Decision(Value, frozen=True, kw_only=True):
    """Who speaks, as plain data: it can be stored as JSON, read back, and given to `decide` again."""

    speakers: tuple[str, ...]
    reasons: tuple[SpeakerReason, ...] = ()
    activation_text: str = ""
    is_user_input: bool = False

    @classmethod
    def of(cls, activation: GroupActivation) -> Decision:
        """The decision that the library has come to."""
        return cls(
            speakers=activation.speakers,
            reasons=activation.reasons,
            activation_text=activation.activation_text,
            is_user_input=activation.is_user_input,
        )

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
