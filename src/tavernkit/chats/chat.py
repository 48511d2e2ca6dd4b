"""A chat as SillyTavern stores it: a header, the messages, and the lines that are neither; and limits on all that."""

from __future__ import annotations

from typing import TypeAlias

from tavernkit.values import JsonObject, Value

MIB = 1024 * 1024


class ChatLimits(Value, frozen=True, kw_only=True):
    """Bounds on untrusted chats. A file over `file_bytes`, `lines` or `values` is refused; a single line over
    `line_length` or `line_values` counts as a damaged line."""

    file_bytes: int = 256 * MIB
    lines: int = 1_000_000
    values: int = 5_000_000
    line_length: int = 32 * MIB
    line_values: int = 500_000


DEFAULT_LIMITS = ChatLimits()


Date: TypeAlias = str | int | float | None
"""As it was written: SillyTavern has used milliseconds and several spellings of a date over the years."""

HEADER_KEYS = ("chat_metadata", "user_name", "character_name")
MESSAGE_KEYS = ("name", "is_user", "is_system", "send_date", "mes", "extra")


class ChatHeader(Value, frozen=True, kw_only=True):
    """The first line of a chat. `unknown` and `keys` are as in `ChatMessage`."""

    user_name: str = ""
    character_name: str = ""
    create_date: Date = None
    chat_metadata: JsonObject = {}
    unknown: JsonObject = {}
    keys: tuple[str, ...] = HEADER_KEYS


class ChatMessage(Value, frozen=True, kw_only=True):
    """One message. `is_system` means hidden: on the page, but not in the prompt.

    `unknown` holds what the file has beyond the named fields, and the original of a field whose value was of another
    type than usual; `keys` is the order in which the file has them.
    """

    name: str = ""
    text: str = ""
    is_user: bool = False
    is_system: bool = False
    send_date: Date = None
    swipes: tuple[str, ...] = ()
    swipe_id: int | None = None
    swipe_info: tuple[JsonObject, ...] = ()
    extra: JsonObject = {}
    force_avatar: str | None = None
    original_avatar: str | None = None
    unknown: JsonObject = {}
    keys: tuple[str, ...] = MESSAGE_KEYS

    @property
    def is_narrator(self) -> bool:
        """Whether nobody of the story says this."""
        return self.extra.get("type") == "narrator"


class StrayLine(Value, frozen=True, kw_only=True):
    """A line that is no message, blank or damaged, kept for writing the file back.

    `before` says how many headers and messages stand before it.
    """

    before: int
    text: str


class ChatFile(Value, frozen=True, kw_only=True):
    """One chat. Files of groups may have no header."""

    header: ChatHeader | None = None
    messages: tuple[ChatMessage, ...] = ()
    strays: tuple[StrayLine, ...] = ()

    @property
    def is_group(self) -> bool:
        """Whether messages name the card of their speaker, as only those of group chats do."""
        return any(message.original_avatar is not None for message in self.messages)
