"""Macros in texts that are told outside of a prompt: SillyTavern's, with a card and a person around them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import datetime

from tavernkit import Character, User, Variables
from tavernkit.sillytavern.macros import CardFields, Environment, Group, macro_engine

__all__ = ["expand_macros"]

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
) -> str:
    """The text with its macros expanded; `group` names everybody where there are several."""
    environment = Environment(
        user_name=user.name,
        character_name=character.display_name,
        group=Group(members=tuple(group)) if len(group) > 1 else None,
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
        random=random.Random(seed).random,  # noqa: S311 - chance in a story, not a secret
    )
    return _MACROS.expand(text, environment)
