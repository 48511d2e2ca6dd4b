"""A message of the prompt while it is put together."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Self

from tavernkit.prompt.message import Attachment
from tavernkit.text.js_strings import js_trim
from tavernkit.values import JsonObject

HEADER = "NewChat"
"""The memo of the line that opens the chat; that of an example's opening begins with it."""

HEADER_TEXT = "[Start a new chat]"
MEMORY = "supaMemory"


@dataclass(eq=False, kw_only=True)
class Line:
    """One message on its way into the prompt.

    It is mutable and has an identity on purpose: RisuAI lets several cards show the same object, and what one of them
    appends to it the next one shows as well. `memo` is the id of a message of the chat, or says what else a line is;
    system lines are joined only when their memos are the same. `parts` are the sources that were joined in it, `title`
    is the name of the card that made it, and `left_out` says why it is not told.
    """

    role: str
    content: str
    source: str
    slot: str
    stage: str | None = None
    memo: str | None = None
    name: str | None = None
    removable: bool = False
    has_name_in_text: bool = False
    is_cache_point: bool = False
    group: str = "system"
    priority: int = 100
    thoughts: tuple[str, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    message_metadata: JsonObject = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)
    title: str = ""
    left_out: str | None = None

    @property
    def says_something(self) -> bool:
        return bool(js_trim(self.content) or self.attachments)

    def copy(self) -> Self:
        twin = copy.copy(self)
        twin.parts = list(self.parts)
        return twin
