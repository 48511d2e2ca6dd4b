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
        variables: Sequence[str] = (),
        reads: Sequence[str] = (),
        names: Sequence[str] = (),
        fixed: Sequence[str] = (),
        guard: Guard | None = None,
    ) -> Callable[[_F], _F]:
        """Enter a function that does the effect, where the guard allows it.

        It is called with the run, the values of the `variables`, the texts of the operands that it `reads`, the `names`
        of variables with their macros expanded, and `fixed` fields as they are written.
        """

        def enter(function: _F) -> _F:
            self.effect(*types)(
                lambda fields: _guarded(guard, _prepared(fields, function, variables, reads, names, fixed))
            )
            return function

        return enter

    def answer(
        self,
        *types: str,
        variables: Sequence[str] = (),
        reads: Sequence[str] = (),
        fixed: Sequence[str] = (),
        guard: Guard | None = None,
        otherwise: str | None = None,
    ) -> Callable[[_F], _F]:
        """Enter a function as for `action`; what it returns becomes the value of the variable that the effect names.

        `otherwise` is the value where the function throws.
        """

        def enter(function: _F) -> _F:
            def build(fields: EffectFields) -> Action:
                work = _prepared(fields, function, variables, reads, (), fixed)
                return _guarded(guard, _answering(fields, work, otherwise))

            self.effect(*types)(build)
            return function

        return enter


def _prepared(
    fields: EffectFields,
    function: Callable[..., _T],
    variables: Sequence[str],
    reads: Sequence[str],
    names: Sequence[str],
    fixed: Sequence[str],
) -> Callable[[TriggerRun], _T]:
    operands = [
        *(Operand(text=fields.optional_text(key), is_variable=True) for key in variables),
        *(fields.operand(key) for key in reads),
        *(Operand(text=fields.optional_text(key)) for key in names),
    ]
    constants = [fields.text(key) for key in fixed]
    return lambda run: function(run, *[run.text(operand) for operand in operands], *constants)


def _guarded(guard: Guard | None, work: Callable[[TriggerRun], object]) -> Action:
    def act(run: TriggerRun) -> None:
        if guard is None or guard(run):
            work(run)

    return act


def _answering(
    fields: EffectFields, work: Callable[[TriggerRun], Json], otherwise: str | None
) -> Callable[[TriggerRun], None]:
    # The older effects take the name of the variable as it stands.
    output = None if fields.is_older else fields.optional_text("outputVar")
    older_output = fields.text("inputVar")

    def act(run: TriggerRun) -> None:
        try:
            found = work(run)
        except ThrownError:
            if otherwise is None:
                raise
            found = otherwise
        run.set(older_output if fields.is_older else run.expand(output), found)

    return act
