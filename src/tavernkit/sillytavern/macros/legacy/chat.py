"""The messages of the chat."""

from __future__ import annotations

from collections.abc import Callable

from tavernkit.sillytavern.macros.environment import Environment
from tavernkit.sillytavern.macros.legacy.passes import NamePass, Pass
from tavernkit.sillytavern.macros.packs.chat import (
    current_swipe,
    last_message,
    last_message_id,
    last_swipe,
    of_character,
    of_user,
    optional_number,
)


def _pass(name: str, read: Callable[[Environment], str]) -> Pass:
    return NamePass(f"{{{{{name}}}}}", value=lambda expansion: read(expansion.environment))


def _current_swipe(environment: Environment) -> str:
    """A message without swipes has the swipe number NaN: nobody there asks whether there is one before adding one."""
    return optional_number(current_swipe(environment)) or "NaN"


CHAT_PASSES: tuple[Pass, ...] = (
    _pass("lastMessage", last_message),
    _pass("lastMessageId", lambda environment: optional_number(last_message_id(environment))),
    _pass("lastUserMessage", lambda environment: last_message(environment, of_user)),
    _pass("lastCharMessage", lambda environment: last_message(environment, of_character)),
    _pass("firstIncludedMessageId", lambda environment: optional_number(environment.first_included_message)),
    _pass("firstDisplayedMessageId", lambda environment: optional_number(environment.first_displayed_message)),
    _pass("lastSwipeId", lambda environment: optional_number(last_swipe(environment))),
    _pass("currentSwipeId", _current_swipe),
)
