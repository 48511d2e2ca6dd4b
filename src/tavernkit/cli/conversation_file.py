"""A conversation in a file of any kind: a JSON list of messages, SillyTavern's chat, or another application's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tavernkit.chats import ChatFile, read_chat, to_messages
from tavernkit.cli.errors import about, display_name
from tavernkit.cli.files import read_input
from tavernkit.errors import ParseError
from tavernkit.prompt.message import Message
from tavernkit.reading import ImportReport, LooseObject, ReportBuilder, parse_json
from tavernkit.sillytavern import AuthorsNote, Story
from tavernkit.sillytavern.extension_prompts import ROLES, ExtensionPosition, extension_place, extension_role
from tavernkit.values import Json, JsonObject, Value

_HISTORY_FIELDS = ("role", "content", "name")

_CHAT_FIELDS = ("role", "content", "name", "send_date", "tool_calls", "tool_call_id")
NOBODY = "unused"
"""What SillyTavern writes where a chat's header once had a name."""


class LoadedChat(Value, frozen=True, kw_only=True):
    """The messages of a chat, and what its header says about it."""

    messages: tuple[Message, ...] = ()
    user_name: str = ""
    metadata: JsonObject = {}
    report: ImportReport = ImportReport(format="chat")

    @property
    def variables(self) -> dict[str, Json]:
        return LooseObject(self.metadata, ReportBuilder()).object("variables")

    @property
    def book_name(self) -> str:
        """The name of the book that belongs to the chat."""
        return LooseObject(self.metadata, ReportBuilder()).text("world_info")

    def in_story(self, story: Story, report: ReportBuilder | None = None) -> Story:
        """The story with the author's note and the texts that belong to this chat; the report gets what is broken."""
        chat = LooseObject(self.metadata, report or ReportBuilder(), "chat_metadata")
        story = story.with_(
            scenario=chat.text("scenario"), examples=chat.text("mes_example"), system_prompt=chat.text("system_prompt")
        )
        if not chat.has("note_prompt"):
            return story
        usual = AuthorsNote()
        return story.with_(
            note=story.note.with_(
                text=chat.text("note_prompt"),
                position=extension_place(chat.one_of("note_position", tuple(ExtensionPosition), default=1)),
                depth=chat.integer("note_depth", default=usual.depth),
                role=extension_role(chat.one_of("note_role", range(len(ROLES)))),
                interval=chat.integer("note_interval", default=usual.interval),
            )
        )


def read_conversation(file: Path, *, user_name: str, character_name: str) -> LoadedChat:
    """Read the one conversation of a file; the names are for what other applications do not say."""
    data = read_input(file)
    with about(file):
        listed = _listed(data)
        if listed is not None:
            messages = _messages_from(listed, _CHAT_FIELDS)
            for number, message in enumerate(messages, start=1):
                _check_tools(number, message)
            return LoadedChat(messages=messages)
        chats, report = read_chat(data, user_name=user_name, character_name=character_name)
        if len(chats) > 1:
            raise ParseError(
                f"The file contains {len(chats)} chats. Split it with `tavernkit chat convert FILE -o NAME.jsonl`"
                " and use one of the parts."
            )
    chat, notes = _conversation(chats[0]), ReportBuilder()
    chat.in_story(Story(), notes)
    report = report.with_(file=display_name(file), notes=(*report.notes, *notes.build(report.format).notes))
    return chat.with_(report=report)


def _listed(data: bytes) -> list[Json] | None:
    """The messages of a JSON document that lists them by role; None for everything else."""
    try:
        document = parse_json(data, what="The history")
    except ParseError:
        return None
    match document:
        case list(messages) | {"messages": [] as messages} | {"messages": [{"role": _}, *_] as messages}:
            return messages
        case _:
            return None


def _check_tools(number: int, message: Message) -> None:
    calls, answered = message.metadata.get("tool_calls"), message.metadata.get("tool_call_id")
    problem = ""
    if calls is not None and not (isinstance(calls, list) and all(map(_is_call, calls))):
        problem = "tool_calls must be a list of objects with a function"
    elif answered is not None and not isinstance(answered, str):
        problem = "tool_call_id must be text"
    if problem:
        raise ParseError(f"Message {number} of the history cannot be read: {problem}.")


def _is_call(call: Json) -> bool:
    return isinstance(call, dict) and isinstance(call.get("function"), dict)


def _conversation(chat: ChatFile) -> LoadedChat:
    messages = to_messages(chat)
    if chat.header is None:
        return LoadedChat(messages=messages)
    name = chat.header.user_name
    return LoadedChat(messages=messages, user_name="" if name == NOBODY else name, metadata=chat.header.chat_metadata)


def read_history(file: Path) -> tuple[Message, ...]:
    """Read a list of messages, or an object that has one under `messages`; of each, role, content and name count."""
    data = read_input(file)
    with about(file):
        match parse_json(data, what="The history"):
            case list(messages) | {"messages": list(messages)}:
                return _messages_from(messages)
            case _:
                raise ParseError("The history is not a JSON list of messages.")


def _messages_from(messages: Sequence[Json], fields: Sequence[str] = _HISTORY_FIELDS) -> tuple[Message, ...]:
    """The messages of a JSON list; of each, the named fields count."""
    return tuple(_message(number, item, fields) for number, item in enumerate(messages, start=1))


def _message(number: int, item: Json, fields: Sequence[str]) -> Message:
    if not isinstance(item, dict):
        raise ParseError(f"Message {number} of the history is not an object with role and content.")
    try:
        return Message.coerce({key: item[key] for key in fields if key in item})
    except (TypeError, ValueError) as error:
        raise ParseError(f"Message {number} of the history cannot be read: {error}.") from None
