"""The first line of a chat file and what a conversation knows beside its messages: variables and the author's note."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tavernkit.chats import ChatFile, ChatHeader, StrayLine
from tavernkit.playground.story.chatfiles.messages import OURS
from tavernkit.playground.story.paths.state import State
from tavernkit.values import Json, JsonObject

CHAT_FILE = "chat_file"
"""Where the settings of a conversation keep what its file said."""

VARIABLE = "variables."

# SillyTavern's numbers for places and roles.
_POSITIONS = {"none": -1, "after": 0, "chat": 1, "before": 2}
_ROLES = {"system": 0, "user": 1, "assistant": 2}


def kept_of(chat: ChatFile) -> dict[str, Json]:
    """What a conversation keeps of its file's header and stray lines."""
    kept: dict[str, Json] = {"header": None}
    if chat.header is not None:
        header = msgspec.to_builtins(chat.header)
        header["chat_metadata"] = {
            key: value
            for key, value in chat.header.chat_metadata.items()
            if not (key == OURS and isinstance(value, dict))
        }
        header["unknown"] = dict(chat.header.unknown)
        kept["header"] = header
    if chat.strays:
        kept["strays"] = [[stray.before, stray.text] for stray in chat.strays]
    return kept


def strays_of(kept: JsonObject) -> tuple[StrayLine, ...]:
    """The lines of a file that were no messages."""
    strays = msgspec.convert(kept.get("strays", []), list[tuple[int, str]])
    return tuple(StrayLine(before=before, text=text) for before, text in strays)


def variables_of(chat: ChatFile) -> State:
    """The chat variables as part of the state behind the last message."""
    variables = None if chat.header is None else chat.header.chat_metadata.get("variables")
    return {f"{VARIABLE}{name}": value for name, value in variables.items()} if isinstance(variables, dict) else {}


def beginning_of(chat: ChatFile) -> State:
    """The state before the first message: as we wrote it, or else what the variables are."""
    ours = None if chat.header is None else chat.header.chat_metadata.get(OURS)
    beginning = ours.get("beginning") if isinstance(ours, dict) else None
    return dict(beginning) if isinstance(beginning, dict) else variables_of(chat)


def note_patch(chat: ChatFile) -> dict[str, Json]:
    """The author's note of the file as a patch of a conversation's settings."""
    metadata = {} if chat.header is None else chat.header.chat_metadata
    note = {
        "text": metadata.get("note_prompt"),
        "interval": metadata.get("note_interval"),
        "position": _named(_POSITIONS, metadata.get("note_position")),
        "depth": metadata.get("note_depth"),
        "role": _named(_ROLES, metadata.get("note_role")),
    }
    return {key: value for key, value in note.items() if value is not None}


def written_header(
    kept: JsonObject | None,
    *,
    user_name: str,
    character_name: str,
    beginning: JsonObject,
    state: JsonObject,
    note: JsonObject,
) -> ChatHeader | None:
    """The header of a file: as it was read, with the variables and the note as they are now.

    A file that had none gets one only if there is something to say.
    """
    theirs = None if kept is None else kept.get("header")
    header = ChatHeader(user_name=user_name, character_name=character_name)
    if isinstance(theirs, Mapping):
        header = msgspec.convert(theirs, ChatHeader)
    metadata = dict(header.chat_metadata)
    variables = {key.removeprefix(VARIABLE): value for key, value in state.items() if key.startswith(VARIABLE)}
    before = metadata.get("variables")
    if variables != (before if isinstance(before, dict) else {}):
        metadata["variables"] = variables
    for key, value in _note_fields(note).items():
        if key not in metadata or metadata[key] != value:
            metadata[key] = value
    if beginning != {f"{VARIABLE}{name}": value for name, value in variables.items()}:
        metadata[OURS] = {"beginning": dict(beginning)}
    if kept is not None and theirs is None and not metadata:
        return None
    return header.with_(chat_metadata=metadata)


def _note_fields(note: JsonObject) -> dict[str, Json]:
    fields = {
        "note_prompt": note.get("text"),
        "note_interval": note.get("interval"),
        "note_position": _POSITIONS.get(str(note.get("position"))),
        "note_depth": note.get("depth"),
        "note_role": _ROLES.get(str(note.get("role"))),
    }
    return {key: value for key, value in fields.items() if value is not None}


def _named(numbers: Mapping[str, int], value: Json) -> str | None:
    return next((name for name, number in numbers.items() if number == value and not isinstance(value, bool)), None)
