"""How an effect is entered under its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from tavernkit.risuai.triggers.operand import EffectFields, Operand
from tavernkit.risuai.triggers.run import ThrownError, TriggerRun
from tavernkit.values import Json

Action: TypeAlias = Callable[[TriggerRun], int | None]
"""Does the effect; answers with the place of the next one where that is not the one behind it."""

Builder: TypeAlias = Callable[[EffectFields], Action]
Guard: TypeAlias = Callable[[TriggerRun], bool]

_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., object])


def always(_: TriggerRun) -> bool:
    return True


def low_level(run: TriggerRun) -> bool:
    return run.has_low_level_access


class EffectPack:
    """Effects of one topic."""

    def __init__(self) -> None:
        self.builders: dict[str, Builder] = {}

    def effect(self, *types: str) -> Callable[[Builder], Builder]:
        """Enter a function that reads an effect's fields and gives its action."""

        def enter(build: Builder) -> Builder:
            self.builders.update(dict.fromkeys(types, build))
            return build

        return enter

    def action(
        self,
        *types: str,
        reads: Sequence[str] = (),
        names: Sequence[str] = (),
        fixed: Sequence[str] = (),
        guard: Guard = always,
    ) -> Callable[[_F], _F]:
        """Enter a function that does the effect.

        Where the guard allows it, the function is called with the run, the texts of the operands that it `reads`, the
        `names` of variables with their macros expanded, and `fixed` fields as they are written.
        """

        def enter(function: _F) -> _F:
            def build(fields: EffectFields) -> Action:
                work = _prepared(fields, function, reads, names, fixed)

                def act(run: TriggerRun) -> None:
                    if guard(run):
                        work(run)

                return act

            self.effect(*types)(build)
            return function

        return enter

    def answer(
        self,
        *types: str,
        reads: Sequence[str] = (),
        fixed: Sequence[str] = (),
        guard: Guard = always,
        otherwise: str | None = None,
    ) -> Callable[[_F], _F]:
        """Enter a function as for `action`; what it returns becomes the value of the variable that the effect names.

        `otherwise` is the value where the function throws.
        """

        def enter(function: _F) -> _F:
            def build(fields: EffectFields) -> Action:
                work: Callable[[TriggerRun], Json] = _prepared(fields, function, reads, (), fixed)
                put = _output(fields)

                def act(run: TriggerRun) -> None:
                    if not guard(run):
                        return
                    try:
                        found = work(run)
                    except ThrownError:
                        if otherwise is None:
                            raise
                        found = otherwise
                    put(run, found)

                return act

            self.effect(*types)(build)
            return function

        return enter


def _prepared(
    fields: EffectFields,
    function: Callable[..., _T],
    reads: Sequence[str],
    names: Sequence[str],
    fixed: Sequence[str],
) -> Callable[[TriggerRun], _T]:
    operands = [fields.operand(key) for key in reads] + [Operand(text=fields.optional_text(key)) for key in names]
    constants = [fields.text(key) for key in fixed]
    return lambda run: function(run, *[run.text(operand) for operand in operands], *constants)


def _output(fields: EffectFields) -> Callable[[TriggerRun, Json], None]:
    """Writes the answer; the older effects take the name of the variable as it stands."""
    if fields.is_older:
        name = fields.text("inputVar")
        return lambda run, value: run.set(name, value)
    output = fields.optional_text("outputVar")
    return lambda run, value: run.put(output, value)
