"""What a character says first, with its macros expanded once and for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from tavernkit import Character, User, Variables
from tavernkit.playground.base.storable import presentable, storable
from tavernkit.playground.story.paths.state import changed_delta
from tavernkit.playground.story.prompting.macros import expand_macros
from tavernkit.playground.story.prompting.platforms import Platform
from tavernkit.values import Json, Value


class ExpandedGreeting(Value, frozen=True, kw_only=True):
    """One way to begin; `state_delta` is what choosing it sets, which must not happen when another one is chosen."""

    text: str
    state_delta: dict[str, Json] | None = None


def greetings_of(
    character: Character,
    user: User,
    *,
    group: Sequence[str],
    clock: Callable[[], datetime],
    seed: int,
    platform: Platform,
    global_variables: Mapping[str, Json],
) -> tuple[ExpandedGreeting, ...]:
    """The first message and its alternatives, those for groups too where `group` names several; none of them blank."""
    written = character.greetings + (character.group_only_greetings if len(group) > 1 else ())

    def expand(text: str) -> ExpandedGreeting:
        variables = Variables(global_=global_variables)
        expanded = expand_macros(
            text, character, user, variables=variables, group=group, clock=clock, seed=seed, platform=platform
        )
        return _greeting(expanded, variables)

    return tuple(greeting for greeting in map(expand, written) if greeting.text)


def _greeting(expanded: str, variables: Variables) -> ExpandedGreeting:
    changes = {f"variables.{name}": presentable(value) for name, value in variables.snapshot().items()}
    return ExpandedGreeting(text=storable(expanded).strip(), state_delta=changed_delta(None, set=changes, unset=()))
