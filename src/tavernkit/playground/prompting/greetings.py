"""What a character says first, with its macros expanded once and for all."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import datetime

from tavernkit import Character, User, Variables
from tavernkit.playground.paths.state import changed_delta
from tavernkit.playground.storable import presentable, storable
from tavernkit.sillytavern.macros import CardFields, Environment, Group, macro_engine
from tavernkit.values import Json, Value

__all__ = ["Greeting", "greetings_of"]

_MACROS = macro_engine()


class Greeting(Value, frozen=True, kw_only=True):
    """One way to begin; `state_delta` is what telling it sets, which must not happen when another one is chosen."""

    text: str
    state_delta: dict[str, Json] | None = None


def greetings_of(
    character: Character, user: User, *, group: Sequence[str], clock: Callable[[], datetime], seed: int
) -> tuple[Greeting, ...]:
    """The first message and its alternatives, those for groups too where `group` names several; none of them blank."""
    written = character.greetings + (character.group_only_greetings if len(group) > 1 else ())
    expanded = (_expanded(text, character, user, group=group, clock=clock, seed=seed) for text in written)
    return tuple(greeting for greeting in expanded if greeting.text)


def _expanded(
    text: str, character: Character, user: User, *, group: Sequence[str], clock: Callable[[], datetime], seed: int
) -> Greeting:
    variables = Variables()
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
    spoken = storable(_MACROS.expand(text, environment)).strip()
    told = {f"variables.{name}": presentable(value) for name, value in variables.snapshot().items()}
    return Greeting(text=spoken, state_delta=changed_delta(None, set=told, unset=()))
