"""Building a prompt, and from its plan what a model's client sends: a pure function of what was read.

What a prompt would change is returned, and changes nothing yet.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC

import msgspec

from tavernkit import Built, Message, Plan, TimedEffect, TimedState, Variables, sillytavern
from tavernkit.artifacts import include_artifacts
from tavernkit.hooks import BuildHook, BuildHooks
from tavernkit.playground.base.database.models import Provider
from tavernkit.playground.base.llm.base import ChatRequest
from tavernkit.playground.base.llm.kinds import ProviderKind, dialect_of, kind_of, request_fields
from tavernkit.playground.base.storable import presentable, storable
from tavernkit.playground.story.paths.injections import injections_in
from tavernkit.playground.story.paths.state import State, changed_delta
from tavernkit.playground.story.paths.variables import (
    MAX_NAME_CHARACTERS,
    MAX_VALUE_CHARACTERS,
    MAX_VARIABLES,
    VARIABLES,
    GlobalChanges,
)
from tavernkit.playground.story.prompting.cast import Platform, platform_for
from tavernkit.playground.story.prompting.inputs import PromptInputs
from tavernkit.playground.story.prompting.on_risuai import build_on_risuai
from tavernkit.playground.story.prompting.presets import ChosenPreset, chosen_preset
from tavernkit.prompt.trace import Instrumenter, TraceCollector, TraceStage
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.risuai import RisuResult
from tavernkit.risuai import RisuSettings as RisuSettings
from tavernkit.sillytavern import AuthorsNote, CharacterNote, NotePlacement, SillyTavernResult, Story
from tavernkit.sillytavern.layout import FrozenEntry, LayoutState
from tavernkit.sillytavern.regex_scripts import RegexScripts, embedded_scripts
from tavernkit.sillytavern.world_info import InsertionStrategy
from tavernkit.sillytavern.world_info import WorldInfoSettings as LibraryWorldInfo
from tavernkit.values import Json, JsonObject, Value

_NO_SAMPLERS = {"context_tokens", "max_tokens", "stop", "stream", "record"}
_EFFORTS = {"min": "low", "low": "low", "medium": "medium", "high": "high", "max": "high"}


def model_request(inputs: PromptInputs, plan: Plan, *, has_samplers: bool) -> ChatRequest:
    """The request, of which every text can be stored as it is sent.

    Without a preset that somebody chose, the provider's own samplers count, except where the story's settings say
    otherwise.
    """
    provider, kind = inputs.provider, kind_of(inputs.provider)
    wanted = {**(_known(plan.llm_options) if has_samplers else {}), **_explicit(inputs)}
    most = (_read(plan.llm_options).optional_integer("max_tokens"), inputs.limits.max_tokens)
    written = presentable(plan.to_messages(dialect_of(provider), model=provider.model, **_unchosen(kind, plan)))
    return ChatRequest(
        model=provider.model,
        messages=tuple(item for item in written if isinstance(item, dict)) if isinstance(written, list) else (),
        prompt=written if isinstance(written, str | dict) else None,
        max_tokens=min((tokens for tokens in most if tokens is not None), default=None),
        temperature=_read(wanted).optional_number("temperature"),
        stop=kind.stops(dict.fromkeys(_stops(inputs, plan))),
        options={**kind.sampling(wanted), **request_fields(provider)},
    )


def step_request(
    provider: Provider,
    messages: Sequence[Message],
    *,
    model: str | None = None,
    sampling: JsonObject | None = None,
    json_schema: JsonObject | None = None,
) -> ChatRequest:
    """A question beside the story: a few messages, with samplers in OpenAI's words as far as the provider knows them.

    `json_schema` is what the answer must fit, for providers that can be held to it.
    """
    wanted, kind = _read(sampling or {}), kind_of(provider)
    options = kind.sampling(wanted.source)
    if json_schema is not None and kind.takes_json_schema:
        options["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": dict(json_schema)},
        }
    return ChatRequest(
        model=model or provider.model,
        messages=tuple(presentable({"role": message.role, "content": message.content}) for message in messages),
        max_tokens=wanted.optional_integer("max_tokens") or provider.response_tokens,
        temperature=wanted.optional_number("temperature"),
        stop=kind.stops(wanted.texts("stop")),
        options={**options, **request_fields(provider)},
    )


def _read(options: JsonObject) -> LooseObject:
    return LooseObject(presentable(options), ReportBuilder())


def _unchosen(kind: ProviderKind, plan: Plan) -> dict[str, Json]:
    """The kind's own options of its dialect, where nobody has chosen others."""
    chosen = plan.dialect_options
    return {name: value for name, value in kind.dialect_options.items() if chosen.get(name, "none") == "none"}


def _known(options: Mapping[str, Json]) -> dict[str, Json]:
    effort = _EFFORTS.get(str(options.get("reasoning_effort")))
    return {
        **{name: value for name, value in options.items() if name != "reasoning_effort"},
        **({} if effort is None else {"reasoning_effort": effort}),
    }


def _explicit(inputs: PromptInputs) -> dict[str, Json]:
    """What the story's settings say themselves."""
    llm = inputs.settings.llm.model_dump(exclude=_NO_SAMPLERS, exclude_none=True)
    if llm.get("seed") == -1:
        del llm["seed"]
    effort = _EFFORTS.get(inputs.settings.reasoning.effort)
    return llm if effort is None else {**llm, "reasoning_effort": effort}


def _stops(inputs: PromptInputs, plan: Plan) -> Iterator[str]:
    """Those of who asked, the plan's own, then the names of everybody who is not to speak: what they would say is cut
    off anyway."""
    yield from inputs.limits.stop
    yield from _read(plan.llm_options).texts("stop")
    cast = inputs.cast
    speaking, other = cast.character.name, cast.user.name
    if inputs.generation_type == "impersonate":
        speaking, other = other, speaking
    yield presentable(f"\n{other}:")
    if cast.group is not None and not inputs.settings.space.relax_message_trim:
        for member in cast.group.present:
            if member.name != speaking:
                yield presentable(f"\n{member.name}:")


LORE_TIMERS = "lore_timers."
_STICKY = f"{LORE_TIMERS}sticky."
_COOLDOWN = f"{LORE_TIMERS}cooldown."


def timer(kind: str, effect: str, timed: TimedEffect) -> tuple[str, Json]:
    """An effect, `sticky` or `cooldown`, as the state of a story has it: its key, and its value."""
    return f"{LORE_TIMERS}{kind}.{storable(effect)}", msgspec.to_builtins(timed)


LAYOUT = "prompt_layout."
_FIRST_MESSAGE = f"{LAYOUT}first_message"
_FROZEN = f"{LAYOUT}frozen."


def variables_in(state: State, global_variables: Mapping[str, Json]) -> Variables:
    """The variables, in a store of the prompt's own: what macros write is kept only with the reply."""
    return Variables(dict(_below(VARIABLES, state)), global_variables)


def timers_in(state: State) -> TimedState:
    """Which lore stays or rests, and until when."""
    return TimedState(sticky=_effects(_STICKY, state), cooldown=_effects(_COOLDOWN, state))


def layout_in(state: State) -> LayoutState:
    """Where the prompt before began, and which lore has its place in the chat."""
    first = state.get(_FIRST_MESSAGE)
    return LayoutState(
        first_message=first if isinstance(first, int) else 0,
        frozen=dict(_frozen_in(state)),
    )


def _frozen_in(state: State) -> Iterator[tuple[str, FrozenEntry]]:
    for name, value in _below(_FROZEN, state):
        # What is not as we write it is inserted anew.
        with suppress(msgspec.ValidationError):
            yield name, msgspec.convert(value, FrozenEntry)


def _layout_state(layout: LayoutState) -> dict[str, Json]:
    """The layout as the state of a story has it."""
    kept: dict[str, Json] = {_FIRST_MESSAGE: layout.first_message} if layout.first_message else {}
    for name, entry in layout.frozen.items():
        kept[f"{_FROZEN}{storable(name)}"] = presentable(msgspec.to_builtins(entry))
    return kept


def state_changes(
    state: State, variables: Mapping[str, Json], timed: TimedState | None, layout: LayoutState | None
) -> dict[str, Json] | None:
    """The delta from the state to what a prompt has made of it; None when that is the same.

    A variable that cannot be kept stays as it was. `timed` is None where no lore was looked for, `layout` where the
    platform has none.
    """
    after = {VARIABLES + name: value for name, value in _storable_variables(variables)}
    changed = _changes(dict(_below(VARIABLES, state, whole=True)), after)
    delta = changed_delta(None, set=changed[0], unset=changed[1])
    if timed is not None:
        timers = {
            **dict(timer("sticky", name, effect) for name, effect in timed.sticky.items()),
            **dict(timer("cooldown", name, effect) for name, effect in timed.cooldown.items()),
        }
        put, gone = _changes(dict(_below(LORE_TIMERS, state, whole=True)), timers)
        delta = changed_delta(delta, set=put, unset=gone)
    if layout is not None:
        put, gone = _changes(dict(_below(LAYOUT, state, whole=True)), _layout_state(layout))
        delta = changed_delta(delta, set=put, unset=gone)
    return delta


def global_changes(before: Mapping[str, Json], after: Mapping[str, Json]) -> GlobalChanges:
    """What a prompt and its reply have changed in the global variables; one that cannot be kept stays as it was."""
    put, _ = _changes(before, dict(_storable_variables(after)))
    return GlobalChanges(set=put, unset=tuple(name for name in before if name not in after))


def _below(prefix: str, state: State, *, whole: bool = False) -> Iterator[tuple[str, Json]]:
    for key, value in state.items():
        if key.startswith(prefix):
            yield (key if whole else key.removeprefix(prefix)), value


def _changes(before: Mapping[str, Json], after: Mapping[str, Json]) -> tuple[dict[str, Json], list[str]]:
    put = {key: value for key, value in after.items() if key not in before or before[key] != value}
    return put, [key for key in before if key not in after]


def _storable_variables(variables: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """As many variables as a story may have, of names and lengths that it may have."""
    kept = 0
    for name, value in variables.items():
        value = presentable(value)
        fits = len(json.dumps(value, ensure_ascii=False)) <= MAX_VALUE_CHARACTERS
        if fits and 0 < len(storable(name)) <= MAX_NAME_CHARACTERS and kept < MAX_VARIABLES:
            kept += 1
            yield storable(name), value


def _effects(prefix: str, state: State) -> dict[str, TimedEffect]:
    effects = {}
    for name, value in _below(prefix, state):
        if isinstance(value, dict):
            source = LooseObject(value, ReportBuilder())
            start, end, fingerprint = source.integer("start"), source.integer("end"), source.text("fingerprint")
            protected = source.flag("protected")
            effects[name] = TimedEffect(start=start, end=end, fingerprint=fingerprint, protected=protected)
    return effects


def story_of(inputs: PromptInputs, chosen: ChosenPreset) -> Story:
    """Everything about the chat beside the character, the person, the history and the preset."""
    cast, books = inputs.cast, inputs.books
    prompt, world_info, note = inputs.settings.prompt, inputs.settings.world_info, inputs.settings.authors_note
    return Story(
        settings=chosen.settings,
        macros=prompt.macro_engine,
        world_info=LibraryWorldInfo(**dict(world_info) | {"strategy": InsertionStrategy[world_info.strategy.upper()]}),
        persona=cast.persona,
        note=AuthorsNote(**{name: getattr(note, name) for name in AuthorsNote.__struct_fields__}),
        character_note=CharacterNote(
            text=note.character_text, placement=NotePlacement[note.character_placement.upper()]
        )
        if note.character_text
        else None,
        group=cast.group,
        speaker=None if cast.group is None else cast.avatar,
        character_books=books.character,
        chat_books=books.chat,
        persona_books=books.persona,
        timed=timers_in(inputs.state),
        layout="stable" if prompt.stable_layout else "sillytavern",
        freeze_lore=prompt.freeze_lore,
        layout_state=layout_in(inputs.state),
        regex_scripts=RegexScripts(
            global_=inputs.scripts.sillytavern,
            preset=embedded_scripts(chosen.preset.extensions),
            scoped=embedded_scripts(cast.character.extensions),
        )
        if prompt.regex_scripts
        else RegexScripts(),
        scenario=prompt.scenario_override or "",
        examples=prompt.examples_override or "",
        system_prompt=prompt.system_prompt_override or "",
        character_file=cast.file,
        character_tags=cast.tags,
        chat_id=str(inputs.chat_id),
        zone=inputs.now.tzinfo or UTC,
    )


def build_on_sillytavern(
    inputs: PromptInputs,
    chosen: ChosenPreset,
    variables: Variables,
    hooks: BuildHooks,
    instrumenter: Instrumenter | None = None,
    *,
    is_traced: bool = False,
) -> Built[SillyTavernResult]:
    """Build the prompt as SillyTavern would."""
    return sillytavern.build(
        story=story_of(inputs, chosen),
        # The cache of books has the card's own as the lore engine knows it from earlier prompts.
        character=inputs.cast.character.with_(character_book=inputs.books.own),
        user=inputs.cast.user,
        history=inputs.history,
        preset=chosen.preset,
        books=inputs.books.everywhere,
        keep_user_message=True,
        generation_type=inputs.generation_type,
        model=inputs.provider.model,
        estimator=inputs.estimator,
        variables=variables,
        injections=injections_in(inputs.injections, inputs.state),
        hooks=hooks,
        instrumenter=instrumenter,
        trace=is_traced,
        clock=lambda: inputs.now,
        rng=random.Random(inputs.seed),  # noqa: S311 - chance in a story, not a secret
    )


class BuiltPrompt(Value, frozen=True, kw_only=True):
    """A prompt, and the request that carries it; `stages` are those of its build, with the time that each took.

    Where it is traced, each of its characters knows where it comes from.
    """

    inputs: PromptInputs
    chosen: ChosenPreset
    built: Built[SillyTavernResult] | Built[RisuResult]
    request: ChatRequest
    platform: Platform
    stages: tuple[TraceStage, ...]
    is_traced: bool = False

    @property
    def plan(self) -> Plan:
        return self.built.plan


def build_prompt(
    inputs: PromptInputs, *, is_traced: bool = False, before_trimming: BuildHook | None = None
) -> BuiltPrompt:
    """Build the prompt on the platform that it is for, and the request that carries it."""
    chosen = chosen_preset(inputs.presets, inputs.settings, inputs.provider)
    variables = variables_in(inputs.state, inputs.global_variables)
    hooks = BuildHooks()
    if inputs.candidates:
        hooks.before_trimming(include_artifacts(inputs.candidates))
    if before_trimming is not None:
        hooks.before_trimming(before_trimming)
    built: Built[SillyTavernResult] | Built[RisuResult]
    platform, watch = _platform(inputs), None if is_traced else TraceCollector()
    match platform:
        case "sillytavern":
            built = build_on_sillytavern(inputs, chosen, variables, hooks, watch, is_traced=is_traced)
        case "risuai":
            built = build_on_risuai(inputs, chosen, variables, hooks, watch, is_traced=is_traced)
    return BuiltPrompt(
        inputs=inputs,
        chosen=chosen,
        built=built,
        request=model_request(inputs, built.plan, has_samplers=chosen.has_samplers),
        platform=platform,
        stages=_stages(built.plan, watch),
        is_traced=is_traced,
    )


def _stages(plan: Plan, watch: TraceCollector | None) -> tuple[TraceStage, ...]:
    if watch is not None:
        return watch.stages
    return () if plan.trace is None else plan.trace.stages


def _platform(inputs: PromptInputs) -> Platform:
    """RisuAI never writes for a person, and its prompts are lists of messages: what is said in somebody's place, and a
    text completion that nobody wants to be built its way, are SillyTavern's."""
    choice = inputs.settings.prompt.platform
    if inputs.generation_type == "impersonate":
        return "sillytavern"
    if choice == "auto" and kind_of(inputs.provider).is_text:
        return "sillytavern"
    if choice == "auto" and isinstance(inputs.presets.preset, RisuSettings):
        return "risuai"
    return platform_for(choice, inputs.cast.character)
