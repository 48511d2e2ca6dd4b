"""The form of an entry: the fields people use, as texts in boxes, and back into World Info.

Only what was changed is written, so that a field that the form shows in its own way stays as its file wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pydantic import BaseModel, ConfigDict

from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.storable import presentable, storable
from tavernkit.playground.edge.web.forms import as_lines, one_newline, whole_number
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.values import Json, JsonObject

POSITIONS: Final = {
    "0": "Before the character",
    "1": "After the character",
    "2": "Above the author's note",
    "3": "Below the author's note",
    "4": "In the chat, at a depth",
    "5": "Above the example messages",
    "6": "Below the example messages",
    "7": "Where an outlet asks for it",
}
LOGICS: Final = {
    "0": "any of them is there too",
    "3": "all of them are there too",
    "1": "not all of them are there",
    "2": "none of them is there",
}
ROLES: Final = {"0": "System", "1": "User", "2": "Assistant"}
LABELS: Final = {
    "comment": "Name",
    "keys": "Keys",
    "secondary_keys": "Secondary keys",
    "logic": "Secondary keys count when",
    "content": "Text",
    "constant": "Always on",
    "enabled": "In use",
    "position": "Where it goes",
    "depth": "Depth",
    "role": "Role at a depth",
    "outlet": "Outlet",
    "order": "Order",
    "probability": "Probability",
    "sticky": "Stays for",
    "cooldown": "Rests for",
    "delay": "Not before",
    "exclude_recursion": "Deaf to other entries",
    "prevent_recursion": "Wakes no other entries",
    "delay_until_recursion": "Waits for round",
}
"""What the page calls the fields."""


class EntryForm(BaseModel):
    """The boxes as they stand; a box with a tick says `on`."""

    model_config = ConfigDict(frozen=True)

    comment: str = ""
    keys: str = ""
    secondary_keys: str = ""
    logic: str = "0"
    content: str = ""
    constant: str = ""
    enabled: str = ""
    position: str = "0"
    depth: str = "4"
    role: str = "0"
    outlet: str = ""
    order: str = "100"
    probability: str = "100"
    sticky: str = ""
    cooldown: str = ""
    delay: str = ""
    exclude_recursion: str = ""
    prevent_recursion: str = ""
    delay_until_recursion: str = "0"

    def tidy(self) -> EntryForm:
        """The same with line breaks as they are stored."""
        return EntryForm(**{name: one_newline(value) for name, value in self})


def entry_form(data: JsonObject) -> EntryForm:
    """An entry as the boxes show it."""
    entry = LooseObject({storable(key): presentable(value) for key, value in data.items()}, ReportBuilder())
    return EntryForm(
        comment=entry.text("comment"),
        keys="\n".join(entry.texts("key")),
        secondary_keys="\n".join(entry.texts("keysecondary")),
        logic=str(entry.integer("selectiveLogic")),
        content=entry.text("content"),
        constant=_tick(entry.flag("constant")),
        enabled=_tick(not entry.flag("disable")),
        # As the library reads it: an entry that says nothing stands behind the character.
        position=str(entry.integer("position", default=1)),
        depth=str(entry.integer("depth", default=4)),
        role=str(entry.integer("role")),
        outlet=entry.text("outletName"),
        order=str(entry.integer("order", default=100)),
        probability=f"{entry.number('probability', default=100):g}",
        sticky=_count(entry.optional_integer("sticky")),
        cooldown=_count(entry.optional_integer("cooldown")),
        delay=_count(entry.optional_integer("delay")),
        exclude_recursion=_tick(entry.flag("excludeRecursion")),
        prevent_recursion=_tick(entry.flag("preventRecursion")),
        delay_until_recursion=_level(entry),
    ).tidy()


def changed_fields(before: EntryForm, after: EntryForm) -> dict[str, Json]:
    """The World Info fields of the boxes that were changed."""
    after = after.tidy()
    fields: dict[str, Json] = {}
    for name, write in _WRITERS.items():
        value = getattr(after, name)
        if value != getattr(before, name):
            fields |= write(value)
    return fields


def _tick(value: bool) -> str:
    return "on" if value else ""


def _count(value: int | None) -> str:
    return "" if not value else str(value)


def _level(entry: LooseObject) -> str:
    """Which round of recursion the entry waits for; older files say only that it waits."""
    value = entry.raw("delayUntilRecursion")
    return str(int(value)) if isinstance(value, bool) else str(entry.integer("delayUntilRecursion"))


Written = Callable[[str], Mapping[str, Json]]


def _number(field: str, *, name: str, least: int = 0, most: int, **beside: Json) -> Written:
    def write(text: str) -> Mapping[str, Json]:
        return {field: whole_number(text, name=name, least=least, most=most), **beside}

    return write


def _messages(field: str, *, name: str) -> Written:
    def write(text: str) -> Mapping[str, Json]:
        return {field: whole_number(text or "0", name=name, least=0, most=1_000_000) or None}

    return write


def _choice(field: str, choices: Mapping[str, str], *, name: str) -> Written:
    def write(text: str) -> Mapping[str, Json]:
        if text in choices:
            return {field: int(text)}
        raise Refused(code="invalid", sentence=f"“{name}” is one of those that the list shows.")

    return write


def _secondary(text: str) -> dict[str, Json]:
    keys = as_lines(text)
    # SillyTavern looks at them only where this is set.
    return {"keysecondary": keys, "selective": True} if keys else {"keysecondary": keys}


_WRITERS: Final[Mapping[str, Written]] = {
    "comment": lambda text: {"comment": text, "addMemo": bool(text)},
    "keys": lambda text: {"key": as_lines(text)},
    "secondary_keys": _secondary,
    "logic": _choice("selectiveLogic", LOGICS, name=LABELS["logic"]),
    "content": lambda text: {"content": text},
    "constant": lambda text: {"constant": bool(text)},
    "enabled": lambda text: {"disable": not text},
    "position": _choice("position", POSITIONS, name=LABELS["position"]),
    "depth": _number("depth", name="The depth", most=10_000),
    "role": _choice("role", ROLES, name=LABELS["role"]),
    "outlet": lambda text: {"outletName": text.strip()},
    "order": _number("order", name="The order", least=-1_000_000, most=1_000_000),
    "probability": _number("probability", name="The probability", most=100, useProbability=True),
    "sticky": _messages("sticky", name="For how many messages it stays"),
    "cooldown": _messages("cooldown", name="For how many messages it rests"),
    "delay": _messages("delay", name="The number of messages before it"),
    "exclude_recursion": lambda text: {"excludeRecursion": bool(text)},
    "prevent_recursion": lambda text: {"preventRecursion": bool(text)},
    "delay_until_recursion": _number("delayUntilRecursion", name="The round of recursion", most=1000),
}
