"""Prompts on SillyTavern's pipeline, and what their replies need of it."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tavernkit import Plan, Variables, sillytavern
from tavernkit.hooks import BuildHooks
from tavernkit.playground.prompting.inputs import PromptInputs
from tavernkit.playground.prompting.presets import ChosenPreset
from tavernkit.playground.prompting.scenes import LoreVerdict, ReplyPart, Scripts
from tavernkit.playground.prompting.story import story_of
from tavernkit.prompt.context import Context
from tavernkit.sillytavern.regex_scripts import Placement, RegexBudget, apply_scripts
from tavernkit.sillytavern.scene import Scene
from tavernkit.sillytavern.world_info import TimedState
from tavernkit.sillytavern.world_info.decorators import split_decorators

__all__ = ["SillyTavernScene", "build_on_sillytavern"]

SCRIPT_SECONDS = 5.0

_PLACEMENTS: dict[ReplyPart, Placement] = {
    "reasoning": Placement.REASONING,
    "reply": Placement.AI_OUTPUT,
    "input": Placement.USER_INPUT,
}


class SillyTavernScene:
    """SillyTavern's scene as replies and records see it."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def expand(self, text: str) -> str:
        return self._scene.expand(text)

    def scripts(self) -> Scripts:
        budget = RegexBudget(SCRIPT_SECONDS)

        def run(part: ReplyPart, text: str) -> str:
            return apply_scripts(
                text,
                self._scene.story.regex_scripts,
                _PLACEMENTS[part],
                expand=self._scene.expand_in_scripts,
                budget=budget,
            )

        return run

    def lore(self) -> Sequence[LoreVerdict]:
        world = self._scene.world
        return [
            LoreVerdict(
                book=verdict.world,
                entry=verdict.entry.id,
                name=verdict.entry.name or verdict.entry.comment,
                reason=verdict.reason,
                sentence=str(verdict),
                content=split_decorators(verdict.entry.content)[1],
            )
            for verdict in (() if world is None else world.verdicts)
            if verdict.cause or verdict.key or verdict.near_miss
        ]

    def timers(self) -> TimedState | None:
        return None if self._scene.world is None else self._scene.world.timed

    def said(self, reply: str) -> str:
        return reply


def build_on_sillytavern(
    inputs: PromptInputs, chosen: ChosenPreset, variables: Variables, hooks: BuildHooks
) -> tuple[Plan, SillyTavernScene]:
    """Build the prompt as SillyTavern would."""
    scenes: list[Scene] = []

    @hooks.after_build
    def keep_scene(ctx: Context) -> None:
        scenes.append(ctx.platform(Scene))

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
    return plan, SillyTavernScene(scenes[0])
