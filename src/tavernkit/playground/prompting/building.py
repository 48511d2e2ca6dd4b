"""Building a prompt: a pure function of what was read. What it would change is returned, and changes nothing yet."""

from __future__ import annotations

import random

from tavernkit import Plan, Variables, sillytavern
from tavernkit.artifacts import include_artifacts
from tavernkit.hooks import BuildHooks
from tavernkit.playground.llm.base import ChatRequest
from tavernkit.playground.prompting.inputs import PromptInputs
from tavernkit.playground.prompting.presets import ChosenPreset, chosen_preset
from tavernkit.playground.prompting.requests import model_request
from tavernkit.playground.prompting.state import variables_in
from tavernkit.playground.prompting.story import story_of
from tavernkit.prompt.context import Context
from tavernkit.sillytavern.scene import Scene
from tavernkit.values import Value

__all__ = ["Prompt", "build_prompt"]


class Prompt(Value, frozen=True, kw_only=True):
    """A prompt with what is needed once the reply to it is there: the scene it was built in, and its variables."""

    inputs: PromptInputs
    chosen: ChosenPreset
    plan: Plan
    request: ChatRequest
    scene: Scene
    variables: Variables


def build_prompt(inputs: PromptInputs) -> Prompt:
    """Build the prompt on SillyTavern's pipeline, and the request that carries it."""
    chosen = chosen_preset(inputs.presets, inputs.settings, inputs.provider)
    variables = variables_in(inputs.state)
    scenes: list[Scene] = []
    hooks = BuildHooks()

    @hooks.after_build
    def keep_scene(ctx: Context) -> None:
        scenes.append(ctx.platform(Scene))

    if inputs.candidates:
        hooks.after_build(include_artifacts(inputs.candidates))
    plan = sillytavern.build(
        story=story_of(inputs, chosen),
        # The cache of books has the card's own as the lore engine knows it from earlier prompts.
        character=inputs.cast.character.with_(character_book=inputs.books.own),
        user=inputs.cast.user,
        history=inputs.history,
        preset=chosen.preset,
        books=inputs.books.everywhere,
        generation_type=inputs.generation_type,
        model=inputs.provider.model,
        variables=variables,
        hooks=hooks,
        clock=lambda: inputs.now,
        rng=random.Random(inputs.seed),  # noqa: S311 - chance in a story, not a secret
    )
    return Prompt(
        inputs=inputs,
        chosen=chosen,
        plan=plan,
        request=model_request(inputs, plan, has_samplers=chosen.has_samplers),
        scene=scenes[0],
        variables=variables,
    )
