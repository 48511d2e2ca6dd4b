"""What a template is made of. Places count characters of the template's text; `end` is the first place after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from tavernkit.sillytavern.macros.registry import MacroDefinition


@dataclass(slots=True, eq=False)
class Argument:
    """One argument of a call, without the white space around it; `plain` is its text when there is no call in it."""

    start: int
    end: int
    plain: str | None
    parts: TemplateParts = ()


@dataclass(slots=True, eq=False)
class MacroBody:
    """What stands between an opening tag and its closing tag, which ends at `closing_end`."""

    start: int
    end: int
    closing_end: int
    parts: TemplateParts


@dataclass(slots=True, eq=False)
class MacroCall:
    """`{{name::argument}}`. `values` holds the arguments when all of them are plain, and such as the macro wants;
    `sound` says that the macro cannot complain, whatever they come to. The last four
    fields get their values when the call is linked to its macro.
    """

    start: int
    end: int
    flags: str
    name: str
    arguments: tuple[Argument, ...]
    closes: bool = False
    body: MacroBody | None = None
    key: str = field(init=False)
    definition: MacroDefinition | None = field(init=False)
    values: tuple[str, ...] | None = field(init=False)
    sound: bool = field(init=False)


@dataclass(slots=True, eq=False)
class Shorthand:
    """`{{.name operator value}}`: a variable of the chat, or with `$` of all chats."""

    start: int
    end: int
    scope: str
    name: str
    operator: str
    value: Argument | None


TemplatePart: TypeAlias = str | MacroCall | Shorthand
TemplateParts: TypeAlias = tuple[TemplatePart, ...]


@dataclass(slots=True, eq=False)
class Remarks:
    """What parsing showed: `broken` openers, calls nested too `deep`, and `loose` tags with their names."""

    broken: Sequence[int] = ()
    deep: Sequence[int] = ()
    loose: Sequence[tuple[str, int]] = ()


@dataclass(slots=True, eq=False)
class Template:
    """A parsed text: `source` is `text` with the old markers rewritten, which moves places by `shifts`."""

    text: str
    source: str
    parts: TemplateParts
    shifts: Sequence[tuple[int, int]]
    remarks: Remarks
