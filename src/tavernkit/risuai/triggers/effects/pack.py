"""How an effect is entered under its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tavernkit.risuai.triggers.operand import EffectFields
from tavernkit.risuai.triggers.run import TriggerRun
from tavernkit.values import Value

Action: TypeAlias = Callable[[TriggerRun], int | None]
"""Does the effect; answers with the place of the next one where that is not the one behind it."""


class Jump(Value, frozen=True, kw_only=True):
    """Where an effect jumps to, if it does; the end of a loop also knows the place and the fields of its beginning."""

    place: int
    loop: int | None = None
    begin: EffectFields | None = None


Builder: TypeAlias = Callable[[EffectFields, Jump], Action]


class EffectPack:
    """Effects of one topic: functions that read an effect's fields and give its action."""

    def __init__(self) -> None:
        self.builders: dict[str, Builder] = {}

    def effect(self, *types: str) -> Callable[[Callable[[EffectFields], Action]], Callable[[EffectFields], Action]]:
        """Enter an effect that needs its fields alone."""

        def enter(build: Callable[[EffectFields], Action]) -> Callable[[EffectFields], Action]:
            for type in types:
                self.builders[type] = lambda fields, _: build(fields)
            return build

        return enter

    def jumping(self, *types: str) -> Callable[[Builder], Builder]:
        """Enter an effect that may go on elsewhere."""

        def enter(build: Builder) -> Builder:
            self.builders.update(dict.fromkeys(types, build))
            return build

        return enter
