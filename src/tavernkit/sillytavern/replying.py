"""What a build leaves for the reply, and everything that happens to the reply, in SillyTavern's order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

import msgspec

from tavernkit.lore.verdicts import LazyVerdicts, LoreVerdict
from tavernkit.macros.variables import VariablesStore
from tavernkit.prompt.built import BuildResult, Built, Reply, common_fields, snapshot
from tavernkit.prompt.context import Context
from tavernkit.prompt.reasons import BY_KEY
from tavernkit.prompt.warning import BuildWarning
from tavernkit.sillytavern.cleanup import clean_reply
from tavernkit.sillytavern.findings import findings_of
from tavernkit.sillytavern.layout import LayoutState
from tavernkit.sillytavern.macros.engine import EngineName
from tavernkit.sillytavern.macros.environment import Environment, MacroInputs
from tavernkit.sillytavern.macros.problems import MacroProblem
from tavernkit.sillytavern.reasoning import receive_reply
from tavernkit.sillytavern.regex_scripts import Placement, RegexBudget, RegexScripts, apply_scripts, macro_expander
from tavernkit.sillytavern.scene import Api, Scene, shared_macros
from tavernkit.sillytavern.settings import UserSettings
from tavernkit.sillytavern.world_info import WorldInfoResult
from tavernkit.sillytavern.world_info.fields import split_decorators

SCRIPT_SECONDS = 5.0
"""What the regex scripts for one reply may take together."""


class SillyTavernResult(BuildResult, frozen=True, kw_only=True):
    """The result of a build, with what its reply needs: the settings, the scripts, what macros may read, the members of
    the group, and what stands between a message and a reply that continues it. `layout_state` is for the next build."""

    settings: UserSettings
    regex_scripts: RegexScripts
    engine: EngineName
    macros: MacroInputs
    api: Api
    group_names: tuple[str, ...] = ()
    continue_postfix: str = ""
    layout_state: LayoutState = LayoutState()


def result_of(ctx: Context) -> SillyTavernResult:
    """The result of the build that has just ended."""
    scene = ctx.platform(Scene)
    world = scene.world
    story, environment = scene.plain or (scene.story, scene.environment)
    fields = common_fields(ctx)
    fields["now"] = fields["now"].astimezone(story.zone)
    return SillyTavernResult(
        **fields,
        dialect=scene.dialect,
        lore=() if world is None else LazyVerdicts(partial(_verdicts, world)),
        findings=findings_of(ctx, scene, fields["variables"]),
        timed=None if world is None else world.timed,
        settings=story.settings,
        regex_scripts=story.regex_scripts,
        engine=story.macros,
        macros=environment.inputs,
        api=scene.api,
        group_names=() if story.group is None else tuple(member.name for member in story.group.present),
        continue_postfix=scene.continue_postfix,
        layout_state=scene.layout_state,
    )


def _verdicts(world: WorldInfoResult) -> list[LoreVerdict]:
    inserted = {id(activation.entry.source): str(activation.content) for activation in world.activations}
    return [
        LoreVerdict(
            book=verdict.world,
            entry=verdict.entry.id,
            name=verdict.entry.name or verdict.entry.comment,
            reason=verdict.reason,
            sentence=str(verdict),
            content=inserted.get(id(verdict.entry)) or split_decorators(verdict.entry.content)[1],
            is_activated=verdict.is_activated,
            cause=verdict.lore_cause,
            key=verdict.key,
        )
        for verdict in world.verdicts
        if verdict.cause or verdict.key or (verdict.near_miss is not None and verdict.near_miss.kind in BY_KEY)
    ]


def take_reply(
    built: Built[SillyTavernResult],
    text: str,
    *,
    thoughts: str = "",
    continued: str | None = None,
    ends: Sequence[str] = (),
    stop: Sequence[str] | None = None,
    variables: VariablesStore | None = None,
    now: datetime | None = None,
    rng: random.Random | None = None,
) -> Reply:
    """Make a message of what the model has answered.

    In this order: the text is cut off at `ends`, thoughts are taken out and pass the scripts for them, the beginning of
    a `stop` at the end goes, the scripts for replies run, and what does not belong to the speaker is cut off. A reply
    to a build of the type `continue` is put behind `continued`.

    `thoughts` are those that the provider has told apart itself. `continued` is the last message of the chat if nobody
    says otherwise, `stop` what the plan stops at, `variables` those of the result, in a store of their own; `now` and
    `rng` come from the result as well.
    """
    result = built.result
    settings = result.settings
    store = result.variables_store() if variables is None else variables
    moment = result.now if now is None else now
    warnings: list[BuildWarning] = []
    environment = Environment(
        **msgspec.structs.asdict(result.macros),
        variables=store,
        clock=lambda: moment,
        zone=moment.tzinfo or UTC,
        random=(rng or result.rng()).random,
    )
    is_impersonate, is_continue = (result.generation_type == kind for kind in ("impersonate", "continue"))
    budget = RegexBudget(SCRIPT_SECONDS)
    expand_in_scripts = macro_expander(shared_macros(result.engine), environment)

    def scripted(placement: Placement, text: str) -> str:
        scripts = result.regex_scripts
        return apply_scripts(
            text, scripts, placement, expand=expand_in_scripts, on_problem=warnings.append, budget=budget
        )

    for end in ends:
        text = text.partition(end)[0]
    received = receive_reply(
        text,
        settings.reasoning,
        known=thoughts or None,
        trim_spaces=settings.trim_spaces,
        apply_regex=partial(scripted, Placement.REASONING),
    )
    content = clean_reply(
        received.content,
        settings=settings,
        user_name=environment.user_name,
        character_name=environment.character_name,
        group_names=result.group_names,
        is_impersonate=is_impersonate,
        is_continue=is_continue,
        stopping_strings=_planned_stop(built) if stop is None else stop,
        api=result.api,
        expand=partial(
            shared_macros(result.engine).expand,
            environment=environment,
            on_problem=lambda problem: warnings.append(_warning(problem)),
        ),
        apply_regex=partial(scripted, Placement.USER_INPUT if is_impersonate else Placement.AI_OUTPUT),
    )
    if content and is_continue:
        if continued is None:
            continued = result.macros.chat[-1].text if result.macros.chat else ""
        between = result.continue_postfix if continued and not continued[-1].isspace() else ""
        content = continued + between + content
    return Reply(text=content, reasoning=received.reasoning or "", variables=snapshot(store), warnings=tuple(warnings))


def _planned_stop(built: Built[SillyTavernResult]) -> list[str]:
    planned = built.plan.llm_options.get("stop")
    return [text for text in planned if isinstance(text, str)] if isinstance(planned, list | tuple) else []


def _warning(problem: MacroProblem) -> BuildWarning:
    where = {"macro": problem.name, "position": problem.position}
    return BuildWarning(code=problem.code, message=problem.message, where=where)
