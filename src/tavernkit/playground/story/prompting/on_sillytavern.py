"""Prompts on SillyTavern's pipeline."""

from __future__ import annotations

import random

from tavernkit import Built, Variables, sillytavern
from tavernkit.hooks import BuildHooks
from tavernkit.playground.story.prompting.inputs import PromptInputs
from tavernkit.playground.story.prompting.presets import ChosenPreset
from tavernkit.playground.story.prompting.story import story_of
from tavernkit.sillytavern import SillyTavernResult


def build_on_sillytavern(
    inputs: PromptInputs, chosen: ChosenPreset, variables: Variables, hooks: BuildHooks
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
        generation_type=inputs.generation_type,
        model=inputs.provider.model,
        variables=variables,
        hooks=hooks,
        clock=lambda: inputs.now,
        rng=random.Random(inputs.seed),  # noqa: S311 - chance in a story, not a secret
    )
