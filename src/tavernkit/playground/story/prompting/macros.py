"""Macros in texts that are told outside of a prompt, with a card and a person around them; greetings above all."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from tavernkit import Character, User, Variables
from tavernkit.history import ChatHistory
from tavernkit.playground.base.storable import presentable, storable
from tavernkit.playground.story.paths.state import changed_delta
from tavernkit.playground.story.prompting.cast import Platform
from tavernkit.risuai import RisuSettings
from tavernkit.risuai.cards import from_card
from tavernkit.risuai.cbs import CBSOptions, expand
from tavernkit.risuai.chat import RisuChat
from tavernkit.risuai.scene import RisuScene
from tavernkit.sillytavern.macros import CardFields, Environment, GroupNames
from tavernkit.sillytavern.macros.engine import EngineName
from tavernkit.sillytavern.macros.environment import ChatLine
from tavernkit.sillytavern.scene import shared_macros
from tavernkit.values import Json, Value


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
    engine: EngineName,
    chat: Sequence[ChatLine] = (),
    typed: str = "",
) -> str:
    """The text with the platform's macros expanded; `group` names everybody where there are several, and `engine` is
    the one of SillyTavern's. `typed` is what stands in the composer."""
    if platform == "risuai":
        return _expand_cbs(text, character, user, variables=variables, clock=clock, seed=seed)
    environment = macro_environment(
        character, user, variables=variables, group=group, clock=clock, seed=seed, chat=chat, typed=typed
    )
    return shared_macros(engine).expand(text, environment)


def macro_environment(
    character: Character,
    user: User,
    *,
    variables: Variables,
    group: Sequence[str],
    clock: Callable[[], datetime],
    seed: int,
    chat: Sequence[ChatLine] = (),
    typed: str = "",
) -> Environment:
    """What SillyTavern's macros see outside of a prompt."""
    return Environment(
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
        chat=chat,
        input_text=typed,
        variables=variables,
        clock=clock,
        zone=clock().tzinfo or UTC,
        random=random.Random(seed).random,  # noqa: S311 - chance in a story, not a secret
    )


def chat_lines(history: ChatHistory, character: Character, user: User) -> Sequence[ChatLine]:
    """A chat as macros read it; of messages that are not at hand there is only that they were there."""
    lines = [
        ChatLine(
            text=message.content,
            name=message.name or (user.name if message.role == "user" else character.name),
            is_user=message.role == "user",
            is_system=message.role == "system",
            sent=message.send_date if isinstance(message.send_date, str | int) else None,
        )
        for message in history
    ]
    return [*[ChatLine(text="")] * (len(history) - len(lines)), *lines]


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
    engine: EngineName,
    global_variables: Mapping[str, Json],
) -> tuple[ExpandedGreeting, ...]:
    """The first message and its alternatives, those for groups too where `group` names several; none of them blank."""
    written = character.greetings + (character.group_only_greetings if len(group) > 1 else ())

    def expand(text: str) -> ExpandedGreeting:
        variables = Variables(global_=global_variables)
        expanded = expand_macros(
            text,
            character,
            user,
            variables=variables,
            group=group,
            clock=clock,
            seed=seed,
            platform=platform,
            engine=engine,
        )
        changes = {f"variables.{name}": presentable(value) for name, value in variables.snapshot().items()}
        delta = changed_delta(None, set=changes, unset=())
        return ExpandedGreeting(text=storable(expanded).strip(), state_delta=delta)

    return tuple(greeting for greeting in map(expand, written) if greeting.text)
