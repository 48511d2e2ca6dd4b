"""A chat of RisuAI as a chat file, and back without loss.

RisuAI keeps the greeting with the character, and a chat says by a number which one it begins with; in a chat file it is
the first message. What RisuAI says of a message or a chat beside that stands in it under `risuai`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from tavernkit.chats import ChatFile, ChatHeader, ChatMessage
from tavernkit.chats.chat import Date
from tavernkit.migration.risuai.branches import read_link
from tavernkit.text.js_json import to_json
from tavernkit.values import Json, JsonObject, Value

OWN = "risuai"
MESSAGE, SHOWN, GREETING, CHOSEN = "message", "shown", "greeting", "chosen"
"""What stands under `risuai` in a message: RisuAI's own object, and the text that is shown where it is not that of the
object; in a greeting, the numbers of the greetings that it can be, and which of them it was."""
FIRST_GREETING = -1
CUTS = "allBefore"
VARIABLE = "$"
APART = frozenset({"message", "localLore", "scriptstate"})
"""Fields of a chat that have places of their own."""


class ChatNames(Value, frozen=True, kw_only=True):
    """Who talks: the user, the character of the chat, and in groups each character by its id. A message of one whose
    name others of the group have, too, says the id where files of SillyTavern name a card."""

    user: str
    character: str
    members: Mapping[str, str] = {}

    def is_shared(self, id: str) -> bool:
        """Whether others of the group have the name of this one."""
        return list(self.members.values()).count(self.members.get(id, "")) > 1


def chat_to_file(chat: JsonObject, greetings: Sequence[str], names: ChatNames) -> ChatFile:
    """The chat file of a chat; `greetings` are the first message of its character and the alternate ones."""
    listed = chat.get("message")
    messages = listed if isinstance(listed, list) else []
    hidden = _hidden(messages)
    said = [_message(one, is_hidden, names) for one, is_hidden in zip(messages, hidden, strict=True)]
    first = _greeting(chat, greetings, names, messages, is_hidden=any(map(_cuts, messages)))
    metadata: dict[str, Json] = {}
    note, variables = chat.get("note"), variables_of(chat)
    if isinstance(note, str) and note:
        metadata["note_prompt"] = note
    if variables:
        metadata["variables"] = variables
    header = ChatHeader(
        user_name=names.user,
        character_name=names.character,
        chat_metadata=metadata,
        unknown={OWN: {key: value for key, value in chat.items() if key not in APART}},
    )
    return ChatFile(header=header, messages=(*([first] if first else ()), *said))


def file_to_chat(
    file: ChatFile,
    original: JsonObject,
    *,
    greetings: Sequence[str] = (),
    members: Mapping[str, str] | None = None,
    lore: Sequence[Json] | None = None,
) -> dict[str, Json]:
    """The chat that a file now is: `original` is what it was read from, or the fields of a new chat. What nobody has
    changed is as it was. `members` are the ids of the characters of a group by name; `lore` replaces that of the chat.
    """
    chat = dict(original)
    messages = list(file.messages)
    if messages and (greeting := _chosen_greeting(messages[0], greetings)) is not None:
        first = messages.pop(0)
        if greeting != _own(first).get(CHOSEN, chat.get("fmIndex", FIRST_GREETING)):
            chat["fmIndex"] = greeting
    before = [_own(message).get(MESSAGE) for message in messages]
    written = [_written(message, members or {}) for message in messages]
    chat["message"] = _with_hidden(written, _hidden(before), [message.is_system for message in messages])
    metadata = {} if file.header is None else file.header.chat_metadata
    note = metadata.get("note_prompt", "")
    if note != (chat.get("note") or "") and isinstance(note, str):
        chat["note"] = note
    variables = _object(metadata.get("variables"))
    if not _are_same(variables, variables_of(chat)):
        state = chat.get("scriptstate")
        kept = {key: value for key, value in _object(state).items() if not key.startswith(VARIABLE)}
        chat["scriptstate"] = kept | {f"{VARIABLE}{name}": value for name, value in variables.items()}
    if lore is not None:
        chat["localLore"] = list(lore)
    return chat


def variables_of(chat: JsonObject) -> dict[str, Json]:
    """The variables of a chat by their names."""
    state = _object(chat.get("scriptstate"))
    return {key.removeprefix(VARIABLE): value for key, value in state.items() if key.startswith(VARIABLE)}


def _are_same(now: JsonObject, before: JsonObject) -> bool:
    """Whether two sets of variables are the same once they are written: a large number may be whole or not."""
    return now == before or (
        now.keys() == before.keys() and all(to_json(value) == to_json(before[name]) for name, value in now.items())
    )


def _message(message: Json, is_hidden: bool, names: ChatNames) -> ChatMessage:
    fields = _object(message)
    data, is_user = fields.get("data"), fields.get("role") == "user"
    text = data if isinstance(data, str) else ""
    link = read_link(data)
    if link is not None:
        text = f"Branch of “{link.chat_name}”"
    own: dict[str, Json] = {MESSAGE: {**fields, "data": None}}
    if not isinstance(message, dict) or text != data:
        own = {MESSAGE: message, SHOWN: text}
    name, saying = fields.get("name"), fields.get("saying")
    speaker = names.members.get(saying, names.character) if isinstance(saying, str) else names.character
    is_comment = bool(fields.get("isComment")) or not isinstance(message, dict)
    return ChatMessage(
        name=name if isinstance(name, str) and name else names.user if is_user else speaker,
        text=text,
        is_user=is_user and not is_comment,
        is_system=is_hidden,
        send_date=_date(fields.get("time")),
        extra={"type": "narrator"} if is_comment else {},
        original_avatar=saying if isinstance(saying, str) and names.is_shared(saying) else None,
        unknown={OWN: own},
    )


def _greeting(
    chat: JsonObject, greetings: Sequence[str], names: ChatNames, messages: Sequence[Json], *, is_hidden: bool
) -> ChatMessage | None:
    """The message that the chat begins with; all other greetings are further versions of it."""
    index = chat.get("fmIndex")
    chosen = index if isinstance(index, int) and FIRST_GREETING <= index < len(greetings) - 1 else FIRST_GREETING
    choices = [(place + FIRST_GREETING, text) for place, text in enumerate(greetings) if text.strip()]
    active = next((place for place, (number, _) in enumerate(choices) if number == chosen), None)
    if active is None:
        return None
    texts = tuple(text for _, text in choices)
    return ChatMessage(
        name=names.character,
        text=texts[active],
        is_system=is_hidden,
        send_date=_date(next((_object(one).get("time") for one in messages), None)),
        swipes=texts if len(texts) > 1 else (),
        swipe_id=active if len(texts) > 1 else None,
        unknown={OWN: {GREETING: [number for number, _ in choices], CHOSEN: chosen}},
    )


def _chosen_greeting(message: ChatMessage, greetings: Sequence[str]) -> int | None:
    """The number of the greeting that a first message is; None for one that is none."""
    active = message.swipe_id or 0
    numbers = _own(message).get(GREETING)
    if isinstance(numbers, list):
        number = numbers[active] if 0 <= active < len(numbers) else FIRST_GREETING
        return number if isinstance(number, int) else FIRST_GREETING
    # A chat that was begun here: its first message has a version for each greeting that is not blank.
    choices = [place + FIRST_GREETING for place, text in enumerate(greetings) if text.strip()]
    is_greeting = MESSAGE not in _own(message) and not message.is_user and len(choices) == max(1, len(message.swipes))
    return choices[active] if is_greeting and 0 <= active < len(choices) else None


def _written(message: ChatMessage, members: Mapping[str, str]) -> Json:
    own = _own(message)
    if MESSAGE not in own:
        fields: dict[str, Json] = {"role": "user" if message.is_user else "char", "data": message.text}
        if not message.is_user and message.name in members:
            fields["saying"] = members[message.name]
        time = _milliseconds(message.send_date)
        return fields if time is None else {**fields, "time": time}
    if SHOWN not in own:
        return {**_object(own[MESSAGE]), "data": message.text}
    return own[MESSAGE] if own[SHOWN] == message.text else {**_object(own[MESSAGE]), "data": message.text}


def _hidden(messages: Iterable[Json]) -> list[bool]:
    """Which messages are no part of the prompt: disabled ones, comments, and all up to one that cuts them off."""
    listed = list(messages)
    last = max((place for place, message in enumerate(listed) if _cuts(message)), default=-1)
    return [
        place <= last or bool(_object(message).get("disabled")) or bool(_object(message).get("isComment"))
        for place, message in enumerate(listed)
    ]


def _cuts(message: Json) -> bool:
    return _object(message).get("disabled") == CUTS


def _with_hidden(messages: list[Json], before: list[bool], now: list[bool]) -> list[Json]:
    """The messages, each disabled or not as it is now; as they were, where that has not changed."""
    if before == now:
        return messages
    written: list[Json] = []
    for message, is_hidden in zip(messages, now, strict=True):
        fields = _object(message)
        kept = {key: value for key, value in fields.items() if key != "disabled"}
        is_same = bool(fields.get("disabled")) == is_hidden and not _cuts(message)
        written.append(message if is_same else {**kept, "disabled": True} if is_hidden else kept)
    return written


def _own(message: ChatMessage) -> dict[str, Json]:
    return _object(message.unknown.get(OWN))


def _date(time: Json) -> Date:
    return time if isinstance(time, int | float) and not isinstance(time, bool) and time > 0 else None


def _milliseconds(date: Date) -> Json:
    if not isinstance(date, str):
        return date
    try:
        moment = datetime.fromisoformat(date)
    except ValueError:
        return None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def _object(value: Json) -> dict[str, Json]:
    return dict(value) if isinstance(value, Mapping) else {}
