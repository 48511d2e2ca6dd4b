"""Macros in texts that are told outside of a prompt, with a card and a person around them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from tavernkit import Character, User, Variables
from tavernkit.playground.story.prompting.platforms import Platform
from tavernkit.risuai import RisuSettings
from tavernkit.risuai.cards import from_card
from tavernkit.risuai.cbs import CBSOptions, expand
from tavernkit.risuai.chat import RisuChat
from tavernkit.risuai.scene import RisuScene
from tavernkit.sillytavern.macros import CardFields, Environment, GroupNames, macro_engine

_MACROS = macro_engine()


def expand_macros(
    text: str,
    character: Character,
    user: User,
    *,
    variables: Variables,
    group: Sequence[str],
    clock: Callable[[], datetime],
    seed: int,
    platform: Platform,
) -> str:
    """The text with the platform's macros expanded; `group` names everybody where there are several."""
    if platform == "risuai":
        return _expand_cbs(text, character, user, variables=variables, clock=clock, seed=seed)
    environment = Environment(
        user_name=user.name,
        character_name=character.display_name,
        group=GroupNames(members=tuple(group)) if len(group) > 1 else None,
        card=CardFields(
            description=character.description,
            personality=character.personality,
            scenario=character.scenario,
            first_message=character.first_mes,
            alternate_greetings=character.alternate_greetings,
            message_examples=character.mes_example,
            system_prompt=character.system_prompt,
            post_history_instructions=character.post_history_instructions,
            creator_notes=character.creator_notes,
            version=character.character_version,
        ),
        persona=user.persona,
        variables=variables,
        clock=clock,
        zone=clock().tzinfo or UTC,
        random=random.Random(seed).random,  # noqa: S311 - chance in a story, not a secret
    )
    return _MACROS.expand(text, environment)


def _expand_cbs(
    text: str, character: Character, user: User, *, variables: Variables, clock: Callable[[], datetime], seed: int
) -> str:
    scene = RisuScene(
        character=from_card(character),
        chat=RisuChat(),
        settings=RisuSettings(),
        now=clock,
        random=random.Random(seed).random,  # noqa: S311 - chance in a story, not a secret
        user_name=user.name,
        persona=user.persona,
        variables=variables,
    )
    return expand(text, scene, CBSOptions(runs_variables=True, is_first_message=True))
