"""A chat as RisuAI keeps it; triggers and scripts may change it while a prompt is built."""

from __future__ import annotations

from dataclasses import dataclass, field

from tavernkit.reading import LooseObject
from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.stored import StoredNoun
from tavernkit.values import Json


class RisuMessage(StoredNoun, frozen=True, kw_only=True):
    """One message; `role` is `user` or `char`, `data` its text, `time` milliseconds since 1970, `saying` the id of
    the character who speaks. `disabled` is True, False, or `allBefore`. `written` is the object it was read from."""

    SPELT = {"id": "chatId", "disabled": None}

    role: str
    data: str = ""
    time: float | None = None
    id: str | None = None
    saying: str | None = None
    name: str | None = None
    disabled: bool | str = False


@dataclass(kw_only=True)
class RisuChat:
    """A chat; a `greeting_index` of -1 is the first message, others count the alternate greetings."""

    messages: list[RisuMessage] = field(default_factory=list)
    greeting_index: int = -1
    id: str = ""
    note: str = ""
    lore: tuple[LoreEntry, ...] = ()
    memory: str = ""


def read_message(source: LooseObject) -> RisuMessage:
    """Read a message as RisuAI stores it."""
    disabled = source.raw("disabled")
    return RisuMessage.read(source, disabled=disabled if disabled == "allBefore" else bool(disabled))


def write_message(message: RisuMessage) -> dict[str, Json]:
    """The message as RisuAI stores it: what it was read from, with the role and the text that it has now."""
    fields: dict[str, Json] = {**message.written, "role": message.role, "data": message.data}
    for spelt, value in (("time", message.time), ("chatId", message.id), ("saying", message.saying)):
        if value is not None:
            fields[spelt] = value
    return fields
