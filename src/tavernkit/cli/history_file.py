"""A conversation in a JSON file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tavernkit.cli.errors import about
from tavernkit.cli.files import read_input
from tavernkit.errors import ParseError
from tavernkit.prompt.message import Message
from tavernkit.reading import parse_json
from tavernkit.values import Json

FIELDS = ("role", "content", "name")


def read_history(file: Path) -> tuple[Message, ...]:
    """Read a list of messages, or an object that has one under `messages`; of each, role, content and name count."""
    data = read_input(file)
    with about(file):
        match parse_json(data, what="The history"):
            case list(messages) | {"messages": list(messages)}:
                return messages_from(messages)
            case _:
                raise ParseError("The history is not a JSON list of messages.")


def messages_from(messages: Sequence[Json], fields: Sequence[str] = FIELDS) -> tuple[Message, ...]:
    """The messages of a JSON list; of each, the named fields count."""
    return tuple(_message(number, item, fields) for number, item in enumerate(messages, start=1))


def _message(number: int, item: Json, fields: Sequence[str]) -> Message:
    if not isinstance(item, dict):
        raise ParseError(f"Message {number} of the history is not an object with role and content.")
    try:
        return Message.coerce({key: item[key] for key in fields if key in item})
    except (TypeError, ValueError) as error:
        raise ParseError(f"Message {number} of the history cannot be read: {error}.") from None
