"""Finding the calls in a text: one pass, in which calls inside calls are kept on a list, not on the stack.

SillyTavern's lexer changes its rules with the place it is in (text, the head of a call, its arguments), and its parser
mends what it can. What that amounts to for every text, well formed or not, is written down here:

- In text, the last two braces of a row open a call; in arguments the first two.
- After a name everything up to white space, `:`, `|` or `}` is dropped.
- A call whose head makes no sense is text, and what encloses it goes on behind that head.
- A call without its end is text; the calls in it that are whole are calls.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

from tavernkit.sillytavern.macros.nodes import Argument, MacroCall
from tavernkit.text.js_strings import JS_WHITESPACE

_WS = f"[{re.escape(JS_WHITESPACE)}]"
_NAME = "[A-Za-z][A-Za-z0-9_-]*"
_VARIABLE = "[A-Za-z](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?"

_OPEN_TEXT = rf"\{{\{{(?!\{{)(?:{_WS}*({_NAME})((?:(?:{_WS}|:)[^{{}}|]*)?)\}}\}})?"
"""An opener in text and, where the call is of the common kind, all of it: name, and arguments without braces."""

_SKIP_WS = re.compile(f"{_WS}*")
_NAME_END = re.compile(rf"{_WS}|[:|}}]")
_VARIABLE_NAME = re.compile(f"{_WS}*({_VARIABLE}){_WS}*")
_STRAY_PREFIX = re.compile(rf"{_WS}*[.$]{_WS}*({_VARIABLE}){_WS}*")
_STRAYS = re.compile(rf"(?:(?!//)[!?~#/>]|{_WS}|[.$](?:{_WS}*{_VARIABLE}{_WS}*(?:\+\+|--)?)?)*")
"""What may stand where the name of a shorthand is missing."""
_OPERATOR = re.compile(r"\+\+|--|\?\?=?|\|\|=?|-=|==|!=|>=?|<=?|\+=|=")
_STRAY_THEN_END = re.compile(
    rf"{_WS}*(?:(?:\+\+|--|=|//|[!?~#/>.$]|{_NAME}(?:(?!{_WS})[^:|}}])*){_WS}*)?\}}\}}",
)
"""The end of a shorthand; one token that does not belong there is overlooked."""

_FILTER_NAME = re.compile(_NAME)
_HEAD_NAME = re.compile(f"//|{_NAME}")

_STOPS = re.compile(r"\{\{|\}\}")
_STOPS_AND_COLONS = re.compile(r"\{\{|\}\}|::")
_STOPS_AND_PIPES = re.compile(r"\{\{|\}\}|\\?\|")
_STOPS_COLONS_AND_PIPES = re.compile(r"\{\{|\}\}|::|\\?\|")


class Grammar(Enum):
    """Which engine's language: 1.15 knows no flags, no shorthand, and gives up at a pipe."""

    V1_15 = re.compile(rf"((?:(?!//)[!?#~/.$]|{_WS})*)(?:(//|{_NAME})|(\b\B))?")
    V1_19 = re.compile(rf"((?:(?!//)[!?~#/>]|{_WS})*)(?:(//|{_NAME})|([.$]))?")

    @property
    def head(self) -> re.Pattern[str]:
        return self.value


@dataclass(slots=True, eq=False)
class RawCall:
    """A whole call: where it is, what it says, and where its arguments are.

    `scope` is `.` or `$` for a shorthand, whose value is the only argument. `spoiled` holds the numbers of the
    arguments that have a broken call in them, each with the places where heads without a name end.
    """

    start: int
    flags: str
    name: str
    scope: str = ""
    operator: str = ""
    end: int = -1
    arguments: list[tuple[int, int]] = field(default_factory=list)
    children: list[RawCall | MacroCall] = field(default_factory=list)
    spoiled: dict[int, list[int]] | None = None
    depth: int = 1


@dataclass(slots=True, eq=False)
class Scan:
    """The calls of a text, outermost ones, in order; and the places of openers that open nothing.

    Those of the common kind, without braces in their arguments, are nodes already. `unfinished` is where the outermost
    call without an end begins, which the calls behind it were meant to stand in.
    """

    calls: list[RawCall | MacroCall] = field(default_factory=list)
    broken: list[int] = field(default_factory=list)
    unfinished: int | None = None


@dataclass(slots=True, eq=False)
class _Open:
    """A call whose end has not come yet. `skipped` is a stretch that is nothing's: an argument does not end with it."""

    call: RawCall
    argument: int
    stops: re.Pattern[str]
    skipped: tuple[int, int] = (0, 0)


_OPENERS = re.compile(_OPEN_TEXT)


def scan(text: str, grammar: Grammar) -> Scan:
    """Find every call; takes time in proportion to the text, whatever is in it."""
    found = Scan()
    calls = found.calls
    pending: list[_Open] = []
    find_opener = _OPENERS.search
    match_opener = _OPENERS.match
    place = 0
    while True:
        if not pending:
            match = find_opener(text, place)
            if match is None:
                return found
            start, place = match.start(), match.end()
            if match.group(1) is not None:
                calls.append(_simple_call(match))
                continue
            place = _begin(text, start, grammar, pending, found)
            continue
        top = pending[-1]
        match = top.stops.search(text, place)
        if match is None:
            _give_up(pending, found)
            return found
        stop, place = match.group(), match.end()
        if stop == "{{":
            inner = match_opener(text, match.start())
            if inner is not None and inner.group(1) is not None:
                place = inner.end()
                _add(_simple_call(inner), pending, found)
                continue
            place = _begin(text, match.start(), grammar, pending, found)
        elif stop == "::":
            _end_argument(text, top, match.start())
            top.argument = place
        elif stop == "}}":
            pending.pop()
            _end_argument(text, top, match.start())
            top.call.end = place
            _add(top.call, pending, found)
        else:
            _abandon(pending, found)
            place = place if stop == "\\|" else _after_filter(text, place)
            if pending:
                pending[-1].skipped = match.start(), place


def _begin(text: str, start: int, grammar: Grammar, pending: list[_Open], found: Scan) -> int:
    """Read the head of the call at `start`; returns where to go on."""
    head = grammar.head.match(text, start + 2)
    if head is None or (grammar is Grammar.V1_15 and _flags(head)) or (head[2] is None and head[3] is None):
        place = head.end() if head else start + 2
        # Flags belong to the head only where the language has flags.
        head_end = start + 2 if grammar is Grammar.V1_15 else start + len(text[start:place].rstrip(JS_WHITESPACE))
        return _broken(start, place, pending, found, head_end)
    if head[3] is not None:
        return _begin_shorthand(text, start, head, pending, found)
    call = RawCall(start, _flags(head), head[2])
    place = head.end()
    if head[2] != "//":
        end = _NAME_END.search(text, place)
        place = len(text) if end is None else end.start()
    place = _after_white_space(text, place)
    if text.startswith("}}", place):
        return _add_whole(call, place + 2, pending, found)
    pipes = grammar is Grammar.V1_15
    if text.startswith("::", place):
        place += 2
        pending.append(_Open(call, place, _STOPS_COLONS_AND_PIPES if pipes else _STOPS_AND_COLONS))
    else:
        if text.startswith(":", place):
            place += 1
        pending.append(_Open(call, place, _STOPS_AND_PIPES if pipes else _STOPS))
    return place


def _begin_shorthand(text: str, start: int, head: re.Match[str], pending: list[_Open], found: Scan) -> int:
    prefix = head.end()
    name = _VARIABLE_NAME.match(text, prefix) or _STRAY_PREFIX.match(text, prefix)
    if name is None:
        end_of_nameless = _end_of_nameless(text, prefix, nested=bool(pending))
        if end_of_nameless is None:
            return _broken(start, prefix, pending, found)
        return _add_whole(RawCall(start, "", "", head[3]), end_of_nameless, pending, found)
    operator = _OPERATOR.match(text, name.end())
    if operator is not None and operator.group() not in ("++", "--"):
        call = RawCall(start, "", name[1], head[3], operator.group())
        pending.append(_Open(call, operator.end(), _STOPS))
        return operator.end()
    end = _STRAY_THEN_END.match(text, name.end() if operator is None else operator.end())
    if end is None:
        if pending:
            pending[-1].skipped = name.end(1), _after_strays(text, name.end())[0]
        return _broken(start, name.end(1), pending, found)
    call = RawCall(start, "", name[1], head[3], operator.group() if operator else "")
    return _add_whole(call, end.end(), pending, found)


def _end_of_nameless(text: str, prefix: int, *, nested: bool) -> int | None:
    """Where a shorthand without a name ends. Such a one is empty, whatever else it says, unless that is more calls;
    inside a call, arguments go to the call around it."""
    place, has_name = _after_strays(text, prefix)
    if has_name and not nested:
        stop = _STOPS.search(text, place)
        return stop.end() if stop is not None and stop.group() == "}}" else None
    return place + 2 if text.startswith("}}", place) else None


def _after_strays(text: str, place: int) -> tuple[int, bool]:
    """Behind flags and prefixes, and a name, that stand where there is no place for them; and whether one did."""
    strays = _STRAYS.match(text, place)
    place = place if strays is None else strays.end()
    name = _HEAD_NAME.match(text, place)
    if name is None:
        return place, False
    end = _NAME_END.search(text, name.end())
    return len(text) if end is None else _after_white_space(text, end.start()), True


def _add_whole(call: RawCall, end: int, pending: list[_Open], found: Scan) -> int:
    call.end = end
    _add(call, pending, found)
    return end


def _flags(head: re.Match[str]) -> str:
    return "".join(head[1].split()) if head[1] else ""


def _after_white_space(text: str, place: int) -> int:
    match = _SKIP_WS.match(text, place)
    return place if match is None else match.end()


def _add(call: RawCall | MacroCall, pending: list[_Open], found: Scan) -> None:
    if not pending:
        found.calls.append(call)
        return
    outer = pending[-1].call
    outer.children.append(call)
    depth = call.depth if isinstance(call, RawCall) else 1
    if depth >= outer.depth:
        outer.depth = depth + 1


def _broken(start: int, place: int, pending: list[_Open], found: Scan, head_end: int | None = None) -> int:
    found.broken.append(start)
    if pending:
        outer = pending[-1].call
        if outer.spoiled is None:
            outer.spoiled = {}
        heads = outer.spoiled.setdefault(len(outer.arguments), [])
        if head_end is not None:
            heads.append(head_end)
    return place


def _end_argument(text: str, top: _Open, end: int) -> None:
    start = _after_white_space(text, top.argument)
    if start >= end:
        top.call.arguments.append((end, end))
        return
    stop = _before_white_space(text, start, end)
    if stop <= top.skipped[1]:
        stop = _before_white_space(text, start, top.skipped[0])
    top.call.arguments.append((start, stop))


def _before_white_space(text: str, start: int, end: int) -> int:
    while end > start and text[end - 1] in JS_WHITESPACE:
        end -= 1
    return max(start, end)


def _abandon(pending: list[_Open], found: Scan) -> None:
    """The innermost call turns out to be text; what is whole in it moves up."""
    call = pending.pop().call
    _broken(call.start, 0, pending, found)
    for child in call.children:
        _add(child, pending, found)


def _give_up(pending: list[_Open], found: Scan) -> None:
    """The text is over: no pending call has an end."""
    found.unfinished = pending[0].call.start
    for unfinished in pending:
        found.broken.append(unfinished.call.start)
        found.calls.extend(unfinished.call.children)


def _after_filter(text: str, place: int) -> int:
    """Behind a pipe everything is dropped until a name, and after that until the name's end."""
    name = _FILTER_NAME.search(text, place)
    if name is None:
        return len(text)
    end = _NAME_END.search(text, name.end())
    return len(text) if end is None else end.start()


def _simple_call(match: re.Match[str]) -> MacroCall:
    rest = match.group(2)
    end = match.end()
    return MacroCall(match.start(), end, "", match.group(1), _simple_arguments(rest, end - 2) if rest else ())


def _simple_arguments(rest: str, end: int) -> tuple[Argument, ...]:
    """The arguments in what stands between a name and the end of its call."""
    text = rest.lstrip(JS_WHITESPACE)
    if not text:
        return ()
    place = end - len(text)
    if not text.startswith("::"):
        return (_trimmed(text[1:], place + 1) if text.startswith(":") else _trimmed(text, place),)
    arguments = []
    place += 2
    for piece in text[2:].split("::"):
        arguments.append(_trimmed(piece, place))
        place += len(piece) + 2
    return tuple(arguments)


def _trimmed(text: str, place: int) -> Argument:
    kept = text.lstrip(JS_WHITESPACE)
    place += len(text) - len(kept)
    kept = kept.rstrip(JS_WHITESPACE)
    return Argument(place, place + len(kept), kept)
