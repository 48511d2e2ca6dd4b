"""What a character says first, with its macros expanded once and for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from tavernkit import Character, User, Variables
from tavernkit.playground.paths.state import changed_delta
from tavernkit.playground.prompting.macros import expand_macros
from tavernkit.playground.storable import presentable, storable
from tavernkit.values import Json, Value

__all__ = ["Greeting", "greetings_of"]


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
    told = expand_macros(text, character, user, variables=variables, group=group, clock=clock, seed=seed)
    changes = {f"variables.{name}": presentable(value) for name, value in variables.snapshot().items()}
    return Greeting(text=storable(told).strip(), state_delta=changed_delta(None, set=changes, unset=()))
