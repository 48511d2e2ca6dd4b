"""Running triggers: which of them, in which order, and what their effects come to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tavernkit.risuai.errors import TriggerError, TriggerRecursionError
from tavernkit.risuai.scene import RisuScene
from tavernkit.risuai.trigger import Trigger
from tavernkit.risuai.triggers.budget import BudgetSpentError, TriggerBudget
from tavernkit.risuai.triggers.host import REFUSING, TriggerHost
from tavernkit.risuai.triggers.program import Program, program_of
from tavernkit.risuai.triggers.result import SystemPrompts, TriggerMode, TriggerOutcome, TriggerResult
from tavernkit.risuai.triggers.run import Returned, SharedTriggerState, ThrownError, TriggerRun
from tavernkit.risuai.triggers.variables import ChatVariables, TriggerVariables
from tavernkit.values import Json

_HARMLESS = frozenset(
    {
        *("v2SetVar", "v2DeclareLocalVar", "v2Random", "v2Calculate", "v2Comment", "v2ConsoleLog"),
        *("v2If", "v2IfAdvanced", "v2Else", "v2EndIndent", "v2LoopNTimes", "v2BreakLoop", "v2StopTrigger"),
        *("v2ExtractRegex", "v2RegexTest", "v2SplitString", "v2ConcatString", "v2JoinArrayVar"),
        *("v2GetCharAt", "v2SetCharAt", "v2GetCharCount", "v2ToLowerCase", "v2ToUpperCase"),
        *("v2MakeArrayVar", "v2GetArrayVarLength", "v2GetArrayVar", "v2SetArrayVar", "v2PushArrayVar", "v2PopArrayVar"),
        *("v2ShiftArrayVar", "v2UnshiftArrayVar", "v2SpliceArrayVar", "v2SliceArrayVar"),
        *("v2GetIndexOfValueInArrayVar", "v2RemoveIndexFromArrayVar"),
    }
)
_ALLOWED_EFFECTS: Mapping[TriggerMode, frozenset[str]] = {
    "display": _HARMLESS | {"v2GetDisplayState", "v2SetDisplayState"},
    "request": _HARMLESS
    | {
        "v2GetRequestState",
        "v2SetRequestState",
        "v2GetRequestStateRole",
        "v2SetRequestStateRole",
        "v2GetRequestStateLength",
    },
}

MOST_RUNS = 10
"""Runs that one run may start; those that they start count too. Triggers with low-level access may start more."""

DEEPEST_RUN = 64
"""Runs within runs, whatever their access."""

_ONE_VARIABLE = 16
"""Characters that one variable counts for when a run takes its copy of all."""


def run_triggers(
    scene: RisuScene,
    mode: TriggerMode,
    *,
    manual_name: str | None = None,
    trigger_id: str | None = None,
    display_data: str | None = None,
    temporary: Mapping[str, Json] | None = None,
    host: TriggerHost = REFUSING,
    budget: TriggerBudget | None = None,
    strict: bool = False,
) -> TriggerResult:
    """Run the triggers of a mode, or those of a name in whatever mode, of the character and then of the modules.

    `display_data` is what is about to be shown, or as JSON what is about to be sent; a run that has it keeps its
    variables in `temporary` instead of the chat. `trigger_id` is what `{{trigger_id}}` tells. A run that fails ends
    there with a warning; a strict one raises TriggerError, or TriggerRecursionError where triggers run each other too
    often.
    """
    character = scene.character
    triggers = list(_triggers(scene))
    if character is None or not triggers:
        return TriggerResult(
            outcome=TriggerOutcome.NO_TRIGGERS, messages=tuple(scene.chat.messages), note=scene.chat.note
        )
    shared = SharedTriggerState(
        host=host,
        budget=TriggerBudget() if budget is None else budget,
        strict=strict,
        start_run=_start_run,
        chat_variables=ChatVariables(scene),
    )
    kept = None if display_data is None else dict(temporary or {})
    run = TriggerRun(
        scene=scene,
        mode=mode,
        shared=shared,
        character=character,
        messages=list(scene.chat.messages),
        note=scene.chat.note,
        variables=TriggerVariables(scene, shared.chat_variables, temporary=kept),
        manual_name=manual_name,
        display_data=display_data,
    )
    with shared.budget.time.running():
        outcome = _finish(run, trigger_id)
    return _result(run, outcome)


def _triggers(scene: RisuScene) -> Iterator[tuple[Trigger, bool]]:
    """Every trigger, with whether it has low-level access, which its character or module gives it."""
    if scene.character is not None:
        for trigger in scene.character.triggers:
            yield trigger, scene.character.low_level_access
    for module in scene.modules:
        for trigger in module.triggers:
            yield trigger, module.low_level_access


def _finish(run: TriggerRun, trigger_id: str | None) -> TriggerOutcome:
    """Run to the end, however that comes about."""
    before = run.scene.trigger_id
    if run.display_data is None and run.mode != "display":
        run.scene.trigger_id = trigger_id or None
    try:
        _run_all(run)
    except Returned:
        return TriggerOutcome.RETURNED
    except TriggerError as error:
        if run.shared.strict:
            raise
        run.shared.running = ""  # the sentence names the trigger itself
        run.shared.warn("trigger_failed", str(error), trigger=error.trigger_type, effect=error.effect_type)
        return TriggerOutcome.FAILED
    finally:
        # After a click the page still tells which element it was, until the next run.
        if run.mode != "manual":
            run.scene.trigger_id = before
    return TriggerOutcome.DONE


def _result(run: TriggerRun, outcome: TriggerOutcome) -> TriggerResult:
    shared, chat = run.shared, run.scene.chat
    left = TriggerResult(
        outcome=outcome,
        messages=tuple(chat.messages),
        note=chat.note,
        variables=shared.chat_variables.written(),
        log=tuple(shared.log),
        warnings=tuple(shared.warnings),
    )
    if outcome is not TriggerOutcome.DONE:
        return left
    return left.with_(
        messages=tuple(run.messages),
        note=run.note,
        prompts=SystemPrompts(**shared.prompts),
        tokens=sum(run.scene.count_tokens(prompt) for prompt in shared.prompts.values() if prompt),
        stop_sending=run.stop_sending,
        send_ai_prompt=run.send_ai_prompt,
        display_data=run.display_data,
        temporary=run.variables.temporary or {},
    )


def _start_run(parent: TriggerRun, name: str) -> None:
    """Run the triggers of this name as part of another run."""
    if parent.runs_started >= MOST_RUNS and not parent.has_low_level_access:
        message = f"Triggers ran each other more than {MOST_RUNS} times; {name!r} was not run again."
        if parent.shared.strict:
            raise TriggerRecursionError(message, trigger_type=parent.mode, effect_type="runtrigger")
        parent.shared.warn("trigger_recursion", message)
        return
    if parent.depth >= DEEPEST_RUN:
        raise BudgetSpentError(f"Triggers ran each other more than {DEEPEST_RUN} levels deep.")
    shared = parent.shared
    shared.budget.step(_ONE_VARIABLE * len(parent.variables.copy))
    parent.runs_started += 1
    run = TriggerRun(
        scene=parent.scene,
        mode="manual",
        shared=shared,
        character=parent.character,
        messages=list(parent.messages),
        note=parent.note,
        variables=TriggerVariables(parent.scene, shared.chat_variables, copy=dict(parent.variables.copy)),
        manual_name=name,
        runs_started=parent.runs_started,
        depth=parent.depth + 1,
        stop_sending=parent.stop_sending,
    )
    parent.scene.trigger_id = None
    try:
        _run_all(run)
    except Returned:
        return
    parent.variables.copy = run.variables.copy
    parent.messages = run.messages
    parent.note = run.note
    parent.stop_sending = run.stop_sending


def _run_all(run: TriggerRun) -> None:
    for trigger, has_low_level_access in _triggers(run.scene):
        program = program_of(trigger)
        if not program.is_scripted:
            if run.manual_name:
                if trigger.comment != run.manual_name:
                    continue
            elif trigger.type != run.mode:
                continue
        run.has_low_level_access = has_low_level_access
        around, run.shared.running = run.shared.running, trigger.comment or trigger.type
        _execute(run, trigger, program)
        run.shared.running = around
    run.variables.finish()


def _execute(run: TriggerRun, trigger: Trigger, program: Program) -> None:
    """One trigger, if its conditions hold."""
    budget, variables = run.shared.budget, run.variables
    allowed = _ALLOWED_EFFECTS.get(run.mode)
    instructions = program.instructions
    run.loops = {}
    effect: str | None = None
    try:
        if not all(holds(run) for holds in program.conditions):
            return
        place = 0
        while place < len(instructions):
            budget.step()
            instruction = instructions[place]
            place += 1
            if allowed is not None and instruction.type not in allowed:
                continue
            effect = instruction.type
            if instruction.indent is not None:
                variables.indent = instruction.indent
            jump = instruction.action(run)
            if jump is not None:
                place = jump
    except (ThrownError, BudgetSpentError) as error:
        at = f" at {effect}" if effect else ""
        message = f"The trigger {trigger.comment!r} failed{at}. {error}"
        raise TriggerError(message, trigger_type=trigger.type, effect_type=effect) from error
