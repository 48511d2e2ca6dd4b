"""The lines `@@name arguments` that an entry's content begins with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any

from tavernkit.prompt.parts import TracedText, carried, joined, spans_of
from tavernkit.prompt.tracing import realigned
from tavernkit.text.js_numbers import parse_int
from tavernkit.text.js_strings import js_trim, replace_first
from tavernkit.values import Value


class InjectionOperation(StrEnum):
    """What an injection does to the text it goes into."""

    APPEND = "append"
    PREPEND = "prepend"
    REPLACE = "replace"


class LoreInjection(Value, frozen=True, kw_only=True):
    """Where lore goes: into the lore of the name `location` with `lore`, else into the part of the prompt that is
    called so. `param` is what `replace` replaces."""

    operation: InjectionOperation
    location: str = ""
    param: str = ""
    lore: bool = False

    def into(self, text: str, addition: str) -> str:
        """The text with the addition; what is to be replaced is replaced once, where it is first."""
        match self.operation:
            case InjectionOperation.APPEND:
                return joined(" ", (text, addition))
            case InjectionOperation.PREPEND:
                return joined(" ", (addition, text))
            case InjectionOperation.REPLACE:
                return put_in(text, self.param, addition)


def is_known(text: str) -> bool:
    """Whether a text knows where its characters come from."""
    return isinstance(text, TracedText) or bool(spans_of(text))


def put_in(text: str, mark: str, addition: str) -> str:
    """The text with the addition where the mark is first, as JavaScript replaces it; both keep their parts."""
    result = replace_first(text, mark, addition)
    if not (is_known(text) or is_known(addition)):
        return result
    place = text.find(mark)
    if place < 0:
        return text
    before, behind = text[:place], text[place + len(mark) :]
    put = result[place : len(result) - len(behind)]
    return joined("", (before, carried(addition, realigned(addition, put)), behind))


ROLES = ("user", "assistant", "system")
POSITIONS = ("after_desc", "before_desc", "personality", "scenario")
TEMPLATE_POSITION = "pt_"
UI_PROMPTS = ("post_history_instructions", "system_prompt")
DROPPED_FIRST = -1000
_LARGEST = 2.0**53
_REMEMBERED = 4096


class QueryKind(StrEnum):
    """What keys are for: the entry's own, its secondary ones, further ones that must be found, and those that must
    not: any of them, or all of them in every text."""

    KEYS = "keys"
    SECONDARY = "secondary"
    ADDITIONAL = "additional"
    EXCLUDE = "exclude"
    EXCLUDE_ALL = "exclude_all"

    @property
    def is_negative(self) -> bool:
        return self in (QueryKind.EXCLUDE, QueryKind.EXCLUDE_ALL)


class Query(Value, frozen=True, kw_only=True):
    """Keys that are looked for together; they are trimmed, and none is blank."""

    kind: QueryKind
    keys: tuple[str, ...]


class Force(StrEnum):
    """What decides over an entry before its keys are asked; the last one that speaks is right. `keep` and `never_again`
    speak only once the entry has matched in an earlier turn."""

    ACTIVATE = "activate"
    DONT_ACTIVATE = "dont_activate"
    KEEP = "keep_activate_after_match"
    NEVER_AGAIN = "dont_activate_after_match"


class ChatCondition(Value, frozen=True, kw_only=True):
    """What must hold for the length of the chat (`after`, `every`) or for the greeting's number."""

    kind: str
    number: int


class Decorators(Value, frozen=True, kw_only=True):
    """What an entry's decorators say; `content` is what comes after them.

    A `scan_depth` that is not a number means the whole chat, a `probability` that is not one means always, and a
    `priority` that is not one is equal to every other; None is for what was not said. `problems` are sentences about
    decorators that could not be read.
    """

    content: str
    depth: int = 0
    position: str = ""
    role: str = "system"
    scan_depth: float | None = None
    priority: float | None = None
    conditions: tuple[ChatCondition, ...] = ()
    probabilities: tuple[float, ...] = ()
    forces: tuple[Force, ...] = ()
    queries: tuple[Query, ...] = ()
    full_words: bool | None = None
    recursive: bool | None = None
    ignores_recursion: bool = False
    injection: LoreInjection | None = None
    problems: tuple[str, ...] = ()

    @property
    def remembers(self) -> bool:
        """Whether a match is remembered in the chat's variables."""
        return Force.KEEP in self.forces or Force.NEVER_AGAIN in self.forces


class _Reading:
    """What has been read so far, and the decorator that is being read."""

    def __init__(self) -> None:
        self.told = Decorators(content="")
        self.name = ""
        self.arguments: Sequence[str] = ()

    def apply(self, name: str, arguments: Sequence[str]) -> bool:
        """Whether RisuAI accepts the decorator; one that it does not know is no problem, but rejected."""
        self.name, self.arguments = name, arguments
        rule = _RULES.get(name)
        return rule is not None and rule(self)

    def say(self, **changes: Any) -> bool:
        """Note what the decorator says, and accept it."""
        self.told = self.told.with_(**changes)
        return True

    def number(self) -> float:
        """The argument as a whole number; not-a-number is a problem."""
        number = parse_int(self.arguments[0]) if self.arguments else math.nan
        if math.isnan(number):
            self._object("needs a whole number and")
            return number
        return max(-_LARGEST, min(number, _LARGEST))

    def choice(self, choices: Sequence[str]) -> str | None:
        """The argument as one of the choices; anything else is a problem."""
        if self.arguments and self.arguments[0] in choices:
            return self.arguments[0]
        self._object(f"takes {', '.join(choices)}, and")
        return None

    def _object(self, wanted: str) -> None:
        given = f"“{self.arguments[0]}”" if self.arguments else "nothing"
        self.say(problems=(*self.told.problems, f"@@{self.name} {wanted} was given {given}."))


@lru_cache(maxsize=_REMEMBERED)
def read_decorators(content: str) -> Decorators:
    """Read the leading lines of a content. A line `@@@name` is a fallback: it counts if the decorator before it was
    rejected."""
    lines = js_trim(content).split("\n")
    reading = _Reading()
    was_rejected = False
    start = len(lines)
    for number, untrimmed in enumerate(lines):
        line = js_trim(untrimmed)
        if not line.startswith("@@"):
            start = number
            break
        if line == "@@@end":  # an old spelling, which is no fallback
            line = "@@end"
        is_fallback = line.startswith("@@@")
        if is_fallback and not was_rejected:
            continue
        name, space, rest = line[3 if is_fallback else 2 :].partition(" ")
        arguments = [trimmed for part in (space + rest).split(",") if (trimmed := js_trim(part))]
        was_rejected = bool(name) and not reading.apply(name, arguments)
    return reading.told.with_(content=js_trim("\n".join(lines[start:])))


def _at_depth(reading: _Reading) -> bool:
    number = reading.number()
    return not math.isnan(number) and reading.say(depth=int(number), position=reading.name)


def _at_position(reading: _Reading) -> bool:
    if reading.arguments and reading.arguments[0].startswith(TEMPLATE_POSITION):
        return reading.say(position=reading.arguments[0])
    position = reading.choice((*POSITIONS, f"{TEMPLATE_POSITION}…"))
    return position is not None and reading.say(position=position)


def _with_role(reading: _Reading) -> bool:
    role = reading.choice(ROLES)
    return role is not None and reading.say(role=role)


def _on_condition(reading: _Reading) -> bool:
    number = reading.number()
    if math.isnan(number):
        return False
    condition = ChatCondition(kind=reading.name, number=int(number))
    return reading.say(conditions=(*reading.told.conditions, condition))


def _probability(reading: _Reading) -> bool:
    number = reading.number()
    return reading.say(probabilities=(*reading.told.probabilities, number))


def _force(reading: _Reading) -> bool:
    force = Force(reading.name)
    reading.say(forces=(*reading.told.forces, force))
    # RisuAI rejects the two that remember, so that a fallback for applications without a memory may follow.
    return force in (Force.ACTIVATE, Force.DONT_ACTIVATE)


_QUERIES = {
    "additional_keys": QueryKind.ADDITIONAL,
    "exclude_keys": QueryKind.EXCLUDE,
    "exclude_keys_all": QueryKind.EXCLUDE_ALL,
}


def _query(reading: _Reading) -> bool:
    query = Query(kind=_QUERIES[reading.name], keys=tuple(reading.arguments))
    return reading.say(queries=(*reading.told.queries, query))


def _inject_where(reading: _Reading) -> bool:
    injection = reading.told.injection or LoreInjection(operation=InjectionOperation.APPEND)
    location = " ".join(reading.arguments)
    return reading.say(injection=injection.with_(location=location, lore=reading.name == "inject_lore"))


def _inject_how(reading: _Reading) -> bool:
    operation = InjectionOperation(reading.name.removeprefix("inject_"))
    injection = reading.told.injection or LoreInjection(operation=operation)
    return reading.say(injection=injection.with_(operation=operation, param=" ".join(reading.arguments)))


_RULES: Mapping[str, Callable[[_Reading], bool]] = {
    "end": lambda reading: reading.say(depth=0, position="depth"),
    "depth": _at_depth,
    "reverse_depth": _at_depth,
    "position": _at_position,
    "role": _with_role,
    "scan_depth": lambda reading: reading.say(scan_depth=reading.number()),
    "activate_only_after": _on_condition,
    "activate_only_every": _on_condition,
    "is_greeting": _on_condition,
    "probability": _probability,
    "priority": lambda reading: reading.say(priority=reading.number()),
    "ignore_on_max_context": lambda reading: reading.say(priority=DROPPED_FIRST),
    **dict.fromkeys(Force, _force),
    **dict.fromkeys(_QUERIES, _query),
    "match_full_word": lambda reading: reading.say(full_words=True),
    "match_partial_word": lambda reading: reading.say(full_words=False),
    "recursive": lambda reading: reading.say(recursive=True),
    "unrecursive": lambda reading: reading.say(recursive=False),
    "no_recursive_search": lambda reading: reading.say(ignores_recursion=True),
    "inject_lore": _inject_where,
    "inject_at": _inject_where,
    "inject_replace": _inject_how,
    "inject_prepend": _inject_how,
    "disable_ui_prompt": lambda reading: reading.choice(UI_PROMPTS) is not None,
}

DECORATORS = tuple(_RULES)
"""The names of all decorators that RisuAI knows."""
