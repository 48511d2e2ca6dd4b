"""A trigger made ready to run: its conditions, and its effects as instructions that know where they jump to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tavernkit.risuai.trigger import Trigger
from tavernkit.risuai.triggers.conditions import TriggerCondition, read_condition
from tavernkit.risuai.triggers.effects import Action, build_action
from tavernkit.risuai.triggers.operand import EffectFields, Jump

_LOOPS = ("v2Loop", "v2LoopNTimes")
_SCRIPTED = ("triggerlua", "triggercode")


class Instruction:
    """One effect; `indent` is the level that it sets, or None where it leaves the one before."""

    __slots__ = ("action", "indent", "type")

    def __init__(self, fields: EffectFields, action: Action) -> None:
        self.type = fields.type
        self.action = action
        is_level = fields.level is not None and fields.level >= 0
        self.indent = (fields.level if is_level else None) if fields.has("indent") else 0


class Program:
    """A trigger, read once. Code in another language takes part in every mode."""

    __slots__ = ("conditions", "instructions", "is_scripted")

    def __init__(self, trigger: Trigger) -> None:
        effects = [EffectFields(effect) for effect in trigger.effects]
        self.conditions: tuple[TriggerCondition, ...] = tuple(map(read_condition, trigger.conditions))
        _find_jumps(effects)
        self.instructions = tuple(Instruction(fields, build_action(fields)) for fields in effects)
        self.is_scripted = bool(effects) and effects[0].type in _SCRIPTED


class _ByIdentity:
    """A trigger that is equal to itself only; it cannot be hashed by what it holds."""

    __slots__ = ("trigger",)

    def __init__(self, trigger: Trigger) -> None:
        self.trigger = trigger

    def __hash__(self) -> int:
        return id(self.trigger)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and other.trigger is self.trigger


def program_of(trigger: Trigger) -> Program:
    """The trigger made ready; asking again for the same one costs nothing."""
    return _remembered(_ByIdentity(trigger))


@lru_cache(maxsize=1024)
def _remembered(identity: _ByIdentity) -> Program:
    return Program(identity.trigger)


def _find_jumps(effects: Sequence[EffectFields]) -> None:
    """Tell each effect where it may go on: blocks end at the next end of their level, loops begin at the last."""
    for fields in effects:
        fields.jump = Jump(place=len(effects))
    begins: dict[int, int] = {}
    for place, fields in enumerate(effects):
        if fields.type in _LOOPS and fields.level is not None:
            begins[fields.level] = place
        elif fields.type == "v2EndIndent" and fields.flag("endOfLoop"):
            begin = None if fields.level is None else begins.get(fields.level - 1)
            # Without its beginning, an end of a loop starts the whole trigger again.
            fields.jump = Jump(place=0) if begin is None else Jump(place=begin + 1, loop=begin, begin=effects[begin])
    ends: dict[int, int] = {}
    loop_end = len(effects) - 1
    for place in range(len(effects) - 1, -1, -1):
        fields = effects[place]
        match fields.type:
            case "v2EndIndent":
                if fields.level is not None:
                    ends[fields.level] = place
                if fields.flag("endOfLoop"):
                    loop_end = place
            case "v2BreakLoop":
                fields.jump = Jump(place=loop_end + 1)
            case "v2Else" | "v2If" | "v2IfAdvanced" if fields.level is not None:
                after = ends.get(fields.level + 1, len(effects) - 1) + 1
                if fields.type != "v2Else" and after < len(effects) and _is_else(effects[after], fields.level):
                    after += 1
                fields.jump = Jump(place=after)


def _is_else(fields: EffectFields, level: int) -> bool:
    return fields.type == "v2Else" and fields.level == level
