"""What a template is made of. Places count characters of the template's text; `end` is the first place after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from tavernkit.sillytavern.macros.registry import MacroDefinition


class Argument:
    """One argument of a call, without the white space around it; `plain` is its text when there is no call in it."""

    __slots__ = ("end", "parts", "plain", "start")

    def __init__(self, start: int, end: int, plain: str | None, parts: TemplateParts = ()) -> None:
        self.start = start
        self.end = end
        self.plain = plain
        self.parts = parts


class MacroBody:
    """What stands between an opening tag and its closing tag, which ends at `closing_end`."""

    __slots__ = ("closing_end", "end", "parts", "start")

    def __init__(self, start: int, end: int, closing_end: int, parts: TemplateParts) -> None:
        self.start = start
        self.end = end
        self.closing_end = closing_end
        self.parts = parts


class MacroCall:
    """`{{name::argument}}`. `values` holds the arguments when all of them are plain, and such as the macro wants;
    `sound` says that the macro cannot complain, whatever they come to. The four
    fields without a value get theirs when the call is linked to its macro.
    """

    __slots__ = ("arguments", "body", "closes", "definition", "end", "flags", "key", "name", "sound", "start", "values")

    key: str
    definition: MacroDefinition | None
    values: tuple[str, ...] | None
    sound: bool

    def __init__(self, start: int, end: int, flags: str, name: str, arguments: tuple[Argument, ...]) -> None:
        self.start = start
        self.end = end
        self.flags = flags
        self.name = name
        self.arguments = arguments
        self.closes = False
        self.body: MacroBody | None = None


class Shorthand:
    """`{{.name operator value}}`: a variable of the chat, or with `$` of all chats."""

    __slots__ = ("end", "name", "operator", "scope", "start", "value")

    def __init__(self, start: int, end: int, scope: str, name: str, operator: str, value: Argument | None) -> None:
        self.start = start
        self.end = end
        self.scope = scope
        self.name = name
        self.operator = operator
        self.value = value


TemplatePart: TypeAlias = str | MacroCall | Shorthand
TemplateParts: TypeAlias = tuple[TemplatePart, ...]


class Remarks:
    """What parsing showed: `broken` openers, calls nested too `deep`, and `loose` tags with their names."""

    __slots__ = ("broken", "deep", "loose")

    def __init__(
        self, broken: Sequence[int] = (), deep: Sequence[int] = (), loose: Sequence[tuple[str, int]] = ()
    ) -> None:
        self.broken = broken
        self.deep = deep
        self.loose = loose


class Template:
    """A parsed text: `source` is `text` with the old markers rewritten, which moves places by `shifts`."""

    __slots__ = ("parts", "remarks", "shifts", "source", "text")

    def __init__(
        self, text: str, source: str, parts: TemplateParts, shifts: Sequence[tuple[int, int]], remarks: Remarks
    ) -> None:
        self.text = text
        self.source = source
        self.parts = parts
        self.shifts = shifts
        self.remarks = remarks
