"""The messages of a chat as SillyTavern keeps them."""

from __future__ import annotations

from tavernkit.prompt.message import Attachment
from tavernkit.values import JsonObject, Value


class ChatTurn(Value, frozen=True, kw_only=True):
    """One message of a chat; `index` is its place in the whole chat, hidden messages counted.

    A hidden message (`is_system`) is on the page but not in the prompt. A narrator speaks without a name.
    `force_avatar` marks a message that somebody other than the chat's own two wrote: its name is worth telling.
    `original_avatar` is the card file of a group member. `bias` is what the reply to this message shall begin with.
    Tool calls and their results travel in `metadata`, under the names of OpenAI's chat format.
    """

    index: int
    text: str
    name: str = ""
    is_user: bool = False
    is_system: bool = False
    is_narrator: bool = False
    force_avatar: bool = False
    original_avatar: str | None = None
    bias: str = ""
    attachments: tuple[Attachment, ...] = ()
    metadata: JsonObject = {}

    @property
    def source(self) -> str:
        """The source that the blocks of this message name."""
        return f"message:{self.index}"
