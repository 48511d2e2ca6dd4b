"""The messages of the chat."""

from __future__ import annotations

from collections.abc import Callable

from tavernkit.sillytavern.macros.environment import ChatLine, Environment
from tavernkit.sillytavern.macros.registry import Pack

CHAT = Pack("chat")
CHAT_RANGE = Pack("chat")


def _last_message_id(environment: Environment, by_user: bool | None = None) -> int | None:
    """The number of the last message, of the user or not, whose swipe is not being written just now."""
    chat = environment.chat
    for number in range(len(chat) - 1, -1, -1):
        line = chat[number]
        is_being_written = line.swipe is not None and line.swipe_count and line.swipe >= line.swipe_count
        if not is_being_written and (by_user is None or (line.is_user is by_user and not line.is_system)):
            return number
    return None


def _message(name: str, description: str, by_user: bool | None = None) -> None:
    def read(environment: Environment) -> str:
        number = _last_message_id(environment, by_user)
        return "" if number is None else environment.chat[number].text

    CHAT.value(name, description, lambda expansion: read(expansion.environment))


def _number(name: str, description: str, read: Callable[[Environment], int | None]) -> None:
    def written(environment: Environment) -> str:
        number = read(environment)
        return "" if number is None else str(number)

    CHAT.value(name, description, lambda expansion: written(expansion.environment), returns=("integer",))


def _of_last(read: Callable[[ChatLine], int | None]) -> Callable[[Environment], int | None]:
    return lambda environment: read(environment.chat[-1]) if environment.chat else None


_message("lastMessage", "The last message.")
_number("lastMessageId", "The number of the last message.", _last_message_id)
_message("lastUserMessage", "The user's last message.", by_user=True)
_message("lastCharMessage", "The last message of a character.", by_user=False)
_number(
    "firstIncludedMessageId",
    "The number of the first message that fits into the prompt.",
    lambda environment: environment.first_included_message,
)
_number(
    "firstDisplayedMessageId",
    "The number of the first message on the page.",
    lambda environment: environment.first_displayed_message,
)
_number("lastSwipeId", "How many swipes the last message has.", _of_last(lambda line: line.swipe_count or None))
_number(
    "currentSwipeId",
    "Which swipe of the last message is shown, from 1.",
    _of_last(lambda line: None if line.swipe is None else line.swipe + 1),
)
CHAT_RANGE.value(
    "allChatRange",
    "The numbers of the first and the last message, such as `0-12`.",
    lambda expansion: f"0-{len(expansion.environment.chat) - 1}" if expansion.environment.chat else "",
)
