"""Blocks: what the head of one opens, and what becomes of its body."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from tavernkit.prompt.parts import lines_joined
from tavernkit.risuai.arrays import parse_array
from tavernkit.risuai.cbs.when import WhenCondition, is_true, read_condition
from tavernkit.risuai.scene import RisuScene
from tavernkit.text.js_strings import JS_WHITESPACE, join_halves, js_trim
from tavernkit.text.js_values import to_text

_ELSE: Final = "{{:else}}"
_ESCAPES: Final = str.maketrans("{}()", "\ue9b8\ue9b9\ue9ba\ue9bb")
_CODE_POINT: Final = re.compile(r"\\u([0-9A-Fa-f]{4})")
_BACKSLASHED: Final = re.compile(r"\\([^\n\r\u2028\u2029])")
_CONTROLS: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "x": "\0"}


class CBSBlock:
    """An open block: its name, what its body becomes, and whether macros in it are left alone until it closes."""

    __slots__ = ("finish", "is_raw", "name")

    def __init__(self, name: str, finish: Callable[[str], str], *, is_raw: bool = False) -> None:
        self.name = name
        self.finish = finish
        self.is_raw = is_raw


class Each(CBSBlock):
    """`#each`: the body once for every item of the list, which then stands in the text as if written there."""

    __slots__ = ("finish_all", "items", "slot")

    def __init__(self, head: str) -> None:
        rest = js_trim(head.removeprefix("#each"))
        keeps = rest.startswith("::keep ")
        if keeps:
            rest = js_trim(rest.removeprefix("::keep "))
        if rest.startswith("as "):
            rest = js_trim(rest.removeprefix("as "))
        super().__init__("each", _unchanged if keeps else _trim_lines, is_raw=True)
        self.finish_all = _unchanged if keeps else js_trim
        listed, _, name = rest.rpartition(" ")
        self.items = [to_text(item) for item in parse_array(listed)]
        self.slot = f"{{{{slot::{name}}}}}"


class Function(CBSBlock):
    """`#func`: the body is kept for `{{call::name}}`."""

    __slots__ = ("function",)

    def __init__(self, function: str) -> None:
        super().__init__("func", js_trim, is_raw=True)
        self.function = function


Head: TypeAlias = CBSBlock | Callable[[RisuScene], CBSBlock] | None
"""What a head opens: always the same block, one that depends on the scene, or nothing."""


def read_head(head: str) -> Head:
    """What `{{head}}` opens."""
    if head.startswith("#when"):
        return _read_when(head)
    if head.startswith("#if"):
        return _read_if(head)
    if head.startswith("#each"):
        return Each(head)
    if head.startswith("#func"):
        words = head.split(" ")
        return Function(words[1]) if len(words) > 1 else None
    if head.startswith("#escape") and js_trim(head.removeprefix("#escape")) == "::keep":
        return _ESCAPE_KEEPING
    return _PLAIN_BLOCKS.get(head)


def legacy_if(text: str) -> str | None:
    """What `{#if …` with its text behind the first line comes to; None for anything else."""
    logic, newline, content = text.partition("\n")
    words = logic.split(" ")
    if not newline or words[0] != "if":
        return None
    return "" if len(words) > 1 and words[1] in {"", "0", "-1"} else js_trim(content)


def _read_when(head: str) -> CBSBlock | Callable[[RisuScene], CBSBlock]:
    condition = read_condition(head)
    if isinstance(condition, WhenCondition):
        return _WHENS[condition]
    return lambda scene: _WHENS[condition(scene)]


def _read_if(head: str) -> CBSBlock:
    words = head.split(" ")
    if len(words) == 1 or not is_true(words[1]):
        return _IGNORED
    return _IF_PURE if head.startswith("#if_pure") else _IF


def _unchanged(body: str) -> str:
    return body


def _nothing(_: str) -> str:
    return ""


def _trim_lines(body: str) -> str:
    if "\n" not in body:
        return js_trim(body)
    text = js_trim(body)
    return js_trim(lines_joined([line.lstrip(JS_WHITESPACE) for line in text.split("\n")], text))


def _side(place: int, *, keeps: bool = False) -> Callable[[str], str]:
    """What of a `#when` stands before or behind its `{{:else}}`, which in a body of many lines has a line to itself."""

    def finish(body: str) -> str:
        if "\n" not in body:
            return body.partition(_ELSE)[2 * place]
        side = _around_else_line(body)[place]
        return side if keeps else _without_blank_edges(side)

    return finish


def _around_else_line(body: str) -> tuple[str, str]:
    place = body.find(_ELSE)
    while place >= 0:
        start = body.rfind("\n", 0, place) + 1
        end = body.find("\n", place)
        line = body[start:] if end < 0 else body[start:end]
        if js_trim(line) == _ELSE:
            return body[: max(start - 1, 0)], "" if end < 0 else body[end + 1 :]
        place = body.find(_ELSE, end) if end >= 0 else -1
    return body, ""


def _without_blank_edges(body: str) -> str:
    """The lines from the first to the last one that is not blank."""
    if body[:1] not in JS_WHITESPACE and body[-1:] not in JS_WHITESPACE:
        return body
    text_ends = len(body.rstrip(JS_WHITESPACE))
    if not text_ends:
        return ""
    last = body.find("\n", text_ends)
    text_starts = len(body) - len(body.lstrip(JS_WHITESPACE))
    return body[body.rfind("\n", 0, text_starts) + 1 : last if last >= 0 else None]


def _show(body: str) -> str:
    return js_trim(body).replace("{{", "\\{\\{").replace("}}", "\\}\\}")


def _read_code(body: str) -> str:
    """One line, with what is spelt behind backslashes in its place."""
    line = js_trim(body).replace("\n", "").replace("\t", "")
    line = _CODE_POINT.sub(lambda match: chr(int(match[1], 16)), line)
    return join_halves(_BACKSLASHED.sub(lambda match: _CONTROLS.get(match[1], match[1]), line))


_IGNORED: Final = CBSBlock("if", _nothing, is_raw=True)
_IF: Final = CBSBlock("if", _trim_lines)
_IF_PURE: Final = CBSBlock("if_pure", _unchanged)
_WHENS: Final[Mapping[WhenCondition, CBSBlock]] = {
    WhenCondition(True): CBSBlock("when", _side(0)),
    WhenCondition(False): CBSBlock("when", _side(1)),
    WhenCondition(True, "keep"): CBSBlock("when", _side(0, keeps=True)),
    WhenCondition(False, "keep"): CBSBlock("when", _side(1, keeps=True)),
    WhenCondition(True, "legacy"): CBSBlock("when", _trim_lines),
    WhenCondition(False, "legacy"): CBSBlock("when", _nothing, is_raw=True),
}
_ESCAPE_KEEPING: Final = CBSBlock("escape", lambda body: body.translate(_ESCAPES), is_raw=True)
_PLAIN_BLOCKS: Final[Mapping[str, CBSBlock]] = {
    "#pure": CBSBlock("pure", js_trim, is_raw=True),
    "#puredisplay": CBSBlock("puredisplay", _show, is_raw=True),
    "#pure_display": CBSBlock("pure_display", _show, is_raw=True),
    "#code": CBSBlock("code", _read_code),
    "#escape": CBSBlock("escape", lambda body: js_trim(body).translate(_ESCAPES), is_raw=True),
}
