"""The messages of the chat, and the one whose text is parsed."""

from __future__ import annotations

from collections.abc import Iterable

from tavernkit.risuai.arrays import write_array
from tavernkit.risuai.cbs.call import CBSCall, LeftAsText
from tavernkit.risuai.cbs.functions.arguments import character, flag, number_at
from tavernkit.risuai.cbs.registry import FunctionPack
from tavernkit.risuai.chat import RisuChat, RisuMessage, write_message
from tavernkit.text.js_json import to_json

HISTORY = FunctionPack(
    "history",
    {
        "userhistory usermessages": lambda call: _history_of(call, "user"),
        "charhistory charmessages": lambda call: _history_of(call, "char"),
        "chatindex": lambda call: str(call.options.chat_index),
        "lastmessageid lastmessageindex": lambda call: (
            "" if call.scene.character is None else str(len(call.scene.chat.messages) - 1)
        ),
        "firstmsgindex firstmessageindex": lambda call: str(chat_of(call).greeting_index),
        "isfirstmsg isfirstmessage": lambda call: flag(call.options.is_first_message),
    },
)


def chat_of(call: CBSCall) -> RisuChat:
    """The chat with the chosen character; without one the macro stays in the text."""
    character(call)
    return call.scene.chat


def message_at(call: CBSCall, index: int) -> RisuMessage:
    """A message of the chat; where there is none the macro stays in the text."""
    messages = chat_of(call).messages
    if not 0 <= index < len(messages):
        raise LeftAsText
    return messages[index]


def _greeting(call: CBSCall) -> str:
    """The greeting as it was written; one that does not exist leaves the macro in the text."""
    chosen, index = character(call), call.scene.chat.greeting_index
    if index == -1:
        return chosen.first_message
    if not 0 <= index < len(chosen.alternate_greetings):
        raise LeftAsText
    return chosen.alternate_greetings[index]


def _last_before(call: CBSCall, place: int, role: str) -> str:
    messages = chat_of(call).messages
    if place >= len(messages):
        raise LeftAsText
    found = (message.data for message in reversed(messages[: max(place + 1, 0)]) if message.role == role)
    text = next(found, None)
    return _greeting(call) if text is None else text


@HISTORY.function("previouscharchat", "lastcharmessage")
def previous_char_chat(call: CBSCall) -> str:
    index = call.options.chat_index
    return _last_before(call, (len(chat_of(call).messages) if index == -1 else index) - 1, "char")


@HISTORY.function("previoususerchat", "lastusermessage")
def previous_user_chat(call: CBSCall) -> str:
    index = call.options.chat_index
    return "" if index == -1 else _last_before(call, index - 1, "user")


def _as_objects(call: CBSCall, messages: Iterable[RisuMessage]) -> str:
    return write_array(to_json(write_message(message.with_(data=call.parse(message.data)))) for message in messages)


def _history_of(call: CBSCall, role: str) -> str:
    return _as_objects(call, [message for message in chat_of(call).messages if message.role == role])


@HISTORY.function("history", "messages")
def history(call: CBSCall) -> str:
    messages = chat_of(call).messages
    if not call.arguments:
        return _as_objects(call, [RisuMessage(role="char", data=_greeting(call)), *messages])
    names_roles = "role" in call.arguments
    return write_array(f"{message.role}: {message.data}" if names_roles else message.data for message in messages)


@HISTORY.function("lastmessage")
def last_message(call: CBSCall) -> str:
    if call.scene.character is None:
        return ""
    return message_at(call, len(call.scene.chat.messages) - 1).data


@HISTORY.function("previouschatlog")
def previous_chat_log(call: CBSCall) -> str:
    index = number_at(call, 0)
    messages = call.scene.chat.messages if call.scene.character is not None else []
    if index.is_integer() and 0 <= index < len(messages):
        return messages[int(index)].data
    return "Out of range"


@HISTORY.function("role")
def role(call: CBSCall) -> str:
    options = call.options
    if options.chat_role:
        return options.chat_role
    if options.is_first_message:
        return "char"
    if options.chat_index != -1:
        return message_at(call, options.chat_index).role
    return "null" if options.role is None else options.role
