"""The messages of the chat."""

from __future__ import annotations

from collections.abc import Callable

from tavernkit.sillytavern.macros.environment import ChatLine, Environment
from tavernkit.sillytavern.macros.registry import Pack

CHAT = Pack("chat")
CHAT_RANGE = Pack("chat")


def of_user(line: ChatLine) -> bool:
    return line.is_user and not line.is_system


def of_character(line: ChatLine) -> bool:
    return not line.is_user and not line.is_system


def last_message_id(environment: Environment, wanted: Callable[[ChatLine], bool] = lambda _: True) -> int | None:
    """The number of the last wanted message whose swipe is not being written just now."""
    chat = environment.chat
    for number in range(len(chat) - 1, -1, -1):
        line = chat[number]
        if line.swipe is not None and line.swipe_count and line.swipe >= line.swipe_count:
            continue
        if wanted(line):
            return number
    return None


def last_message(environment: Environment, wanted: Callable[[ChatLine], bool] = lambda _: True) -> str:
    number = last_message_id(environment, wanted)
    return "" if number is None else environment.chat[number].text


def last_swipe(environment: Environment) -> int | None:
    """How many swipes the last message has."""
    return (environment.chat[-1].swipe_count or None) if environment.chat else None


def current_swipe(environment: Environment) -> int | None:
    """Which swipe of the last message is shown, counted from 1."""
    if not environment.chat or environment.chat[-1].swipe is None:
        return None
    return environment.chat[-1].swipe + 1


def optional_number(number: int | None) -> str:
    return "" if number is None else str(number)


CHAT.value("lastMessage", "The last message.", lambda expansion: last_message(expansion.environment))
CHAT.value(
    "lastMessageId",
    "The number of the last message.",
    lambda expansion: optional_number(last_message_id(expansion.environment)),
    returns=("integer",),
)
CHAT.value(
    "lastUserMessage", "The user's last message.", lambda expansion: last_message(expansion.environment, of_user)
)
CHAT.value(
    "lastCharMessage",
    "The last message of a character.",
    lambda expansion: last_message(expansion.environment, of_character),
)
CHAT.value(
    "firstIncludedMessageId",
    "The number of the first message that fits into the prompt.",
    lambda expansion: optional_number(expansion.environment.first_included_message),
    returns=("integer",),
)
CHAT.value(
    "firstDisplayedMessageId",
    "The number of the first message on the page.",
    lambda expansion: optional_number(expansion.environment.first_displayed_message),
    returns=("integer",),
)
CHAT.value(
    "lastSwipeId",
    "How many swipes the last message has.",
    lambda expansion: optional_number(last_swipe(expansion.environment)),
    returns=("integer",),
)
CHAT.value(
    "currentSwipeId",
    "Which swipe of the last message is shown, from 1.",
    lambda expansion: optional_number(current_swipe(expansion.environment)),
    returns=("integer",),
)
CHAT_RANGE.value(
    "allChatRange",
    "The numbers of the first and the last message, such as `0-12`.",
    lambda expansion: f"0-{len(expansion.environment.chat) - 1}" if expansion.environment.chat else "",
)
