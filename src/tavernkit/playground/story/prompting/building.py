"""Building a prompt: a pure function of what was read. What it would change is returned, and changes nothing yet."""

from __future__ import annotations

from tavernkit import Built, Plan
from tavernkit.artifacts import include_artifacts
from tavernkit.hooks import BuildHooks
from tavernkit.playground.base.llm.base import ChatRequest
from tavernkit.playground.base.llm.kinds import kind_of
from tavernkit.playground.story.prompting.inputs import PromptInputs
from tavernkit.playground.story.prompting.on_risuai import build_on_risuai
from tavernkit.playground.story.prompting.on_sillytavern import build_on_sillytavern
from tavernkit.playground.story.prompting.platforms import Platform, platform_for
from tavernkit.playground.story.prompting.presets import ChosenPreset, chosen_preset
from tavernkit.playground.story.prompting.requests import model_request
from tavernkit.playground.story.prompting.state import variables_in
from tavernkit.risuai import RisuResult
from tavernkit.risuai import RisuSettings as RisuSettings
from tavernkit.sillytavern import SillyTavernResult
from tavernkit.values import Value


class BuiltPrompt(Value, frozen=True, kw_only=True):
    """A prompt, and the request that carries it."""

    inputs: PromptInputs
    chosen: ChosenPreset
    built: Built[SillyTavernResult] | Built[RisuResult]
    request: ChatRequest
    platform: Platform

    @property
    def plan(self) -> Plan:
        return self.built.plan


def build_prompt(inputs: PromptInputs) -> BuiltPrompt:
    """Build the prompt on the platform that it is for, and the request that carries it."""
    chosen = chosen_preset(inputs.presets, inputs.settings, inputs.provider)
    variables = variables_in(inputs.state, inputs.global_variables)
    hooks = BuildHooks()
    if inputs.candidates:
        hooks.before_trimming(include_artifacts(inputs.candidates))
    built: Built[SillyTavernResult] | Built[RisuResult]
    platform = _platform(inputs)
    match platform:
        case "sillytavern":
            built = build_on_sillytavern(inputs, chosen, variables, hooks)
        case "risuai":
            built = build_on_risuai(inputs, chosen, variables, hooks)
    return BuiltPrompt(
        inputs=inputs,
        chosen=chosen,
        built=built,
        request=model_request(inputs, built.plan, has_samplers=chosen.has_samplers),
        platform=platform,
    )


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
