"""The lines `@@name arguments` that an entry's content begins with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

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
                return f"{text} {addition}"
            case InjectionOperation.PREPEND:
                return f"{addition} {text}"
            case InjectionOperation.REPLACE:
                return replace_first(text, self.param, addition)


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


@dataclass(slots=True)
class _Reading:
    """What has been read so far."""

    depth: int = 0
    position: str = ""
    role: str = "system"
    scan_depth: float | None = None
    priority: float | None = None
    conditions: list[ChatCondition] = field(default_factory=list)
    probabilities: list[float] = field(default_factory=list)
    forces: list[Force] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)
    full_words: bool | None = None
    recursive: bool | None = None
    ignores_recursion: bool = False
    injection: LoreInjection | None = None
    problems: list[str] = field(default_factory=list)


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
        was_rejected = bool(name) and not _apply(name, arguments, reading)
    return Decorators(
        content=js_trim("\n".join(lines[start:])),
        depth=reading.depth,
        position=reading.position,
        role=reading.role,
        scan_depth=reading.scan_depth,
        priority=reading.priority,
        conditions=tuple(reading.conditions),
        probabilities=tuple(reading.probabilities),
        forces=tuple(reading.forces),
        queries=tuple(reading.queries),
        full_words=reading.full_words,
        recursive=reading.recursive,
        ignores_recursion=reading.ignores_recursion,
        injection=reading.injection,
        problems=tuple(reading.problems),
    )


def _apply(name: str, arguments: Sequence[str], reading: _Reading) -> bool:
    """Whether RisuAI accepts the decorator; one that it does not know is no problem, but rejected."""
    rule = _RULES.get(name)
    return rule is not None and rule(name, arguments, reading)


def _number(name: str, arguments: Sequence[str], reading: _Reading) -> float:
    number = parse_int(arguments[0]) if arguments else math.nan
    if math.isnan(number):
        said = f"“{arguments[0]}”" if arguments else "nothing"
        reading.problems.append(f"@@{name} needs a whole number and was given {said}.")
        return number
    return max(-_LARGEST, min(number, _LARGEST))


def _choice(name: str, arguments: Sequence[str], reading: _Reading, choices: Sequence[str]) -> str | None:
    if arguments and arguments[0] in choices:
        return arguments[0]
    said = f"“{arguments[0]}”" if arguments else "nothing"
    reading.problems.append(f"@@{name} takes {', '.join(choices)}, and was given {said}.")
    return None


def _at_depth(name: str, arguments: Sequence[str], reading: _Reading) -> bool:
    number = _number(name, arguments, reading)
    if math.isnan(number):
        return False
    reading.depth, reading.position = int(number), name
    return True


def _at_end(_name: str, _arguments: Sequence[str], reading: _Reading) -> bool:
    reading.depth, reading.position = 0, "depth"
    return True


def _at_position(name: str, arguments: Sequence[str], reading: _Reading) -> bool:
    if arguments and arguments[0].startswith(TEMPLATE_POSITION):
        reading.position = arguments[0]
        return True
    position = _choice(name, arguments, reading, (*POSITIONS, f"{TEMPLATE_POSITION}…"))
    if position is None:
        return False
    reading.position = position
    return True


def _with_role(name: str, arguments: Sequence[str], reading: _Reading) -> bool:
    role = _choice(name, arguments, reading, ROLES)
    reading.role = role or reading.role
    return role is not None


def _on_condition(name: str, arguments: Sequence[str], reading: _Reading) -> bool:
    number = _number(name, arguments, reading)
    if math.isnan(number):
        return False
    reading.conditions.append(ChatCondition(kind=name, number=int(number)))
    return True


def _scan_depth(name: str, arguments: Sequence[str], reading: _Reading) -> bool:
    reading.scan_depth = _number(name, arguments, reading)
    return True


def _probability(name: str, arguments: Sequence[str], reading: _Reading) -> bool:
    reading.probabilities.append(_number(name, arguments, reading))
    return True


def _priority(name: str, arguments: Sequence[str], reading: _Reading) -> bool:
    reading.priority = _number(name, arguments, reading)
    return True


def _drop_first(_name: str, _arguments: Sequence[str], reading: _Reading) -> bool:
    reading.priority = DROPPED_FIRST
    return True


def _force(name: str, _arguments: Sequence[str], reading: _Reading) -> bool:
    force = Force(name)
    reading.forces.append(force)
    # RisuAI rejects the two that remember, so that a fallback for applications without a memory may follow.
    return force in (Force.ACTIVATE, Force.DONT_ACTIVATE)


_QUERIES = {
    "additional_keys": QueryKind.ADDITIONAL,
    "exclude_keys": QueryKind.EXCLUDE,
    "exclude_keys_all": QueryKind.EXCLUDE_ALL,
}


def _query(name: str, arguments: Sequence[str], reading: _Reading) -> bool:
    reading.queries.append(Query(kind=_QUERIES[name], keys=tuple(arguments)))
    return True


def _full_words(name: str, _arguments: Sequence[str], reading: _Reading) -> bool:
    reading.full_words = name == "match_full_word"
    return True


def _recursion(name: str, _arguments: Sequence[str], reading: _Reading) -> bool:
    reading.recursive = name == "recursive"
    return True


def _no_recursive_search(_name: str, _arguments: Sequence[str], reading: _Reading) -> bool:
    reading.ignores_recursion = True
    return True


def _inject_where(name: str, arguments: Sequence[str], reading: _Reading) -> bool:
    injection = reading.injection or LoreInjection(operation=InjectionOperation.APPEND)
    reading.injection = injection.with_(location=" ".join(arguments), lore=name == "inject_lore")
    return True


def _inject_how(name: str, arguments: Sequence[str], reading: _Reading) -> bool:
    operation = InjectionOperation(name.removeprefix("inject_"))
    injection = reading.injection or LoreInjection(operation=operation)
    reading.injection = injection.with_(operation=operation, param=" ".join(arguments))
    return True


def _ui_prompt(name: str, arguments: Sequence[str], reading: _Reading) -> bool:
    return _choice(name, arguments, reading, UI_PROMPTS) is not None


_RULES: Mapping[str, Callable[[str, Sequence[str], _Reading], bool]] = {
    "end": _at_end,
    "depth": _at_depth,
    "reverse_depth": _at_depth,
    "position": _at_position,
    "role": _with_role,
    "scan_depth": _scan_depth,
    "activate_only_after": _on_condition,
    "activate_only_every": _on_condition,
    "is_greeting": _on_condition,
    "probability": _probability,
    "priority": _priority,
    "ignore_on_max_context": _drop_first,
    **dict.fromkeys(Force, _force),
    **dict.fromkeys(_QUERIES, _query),
    "match_full_word": _full_words,
    "match_partial_word": _full_words,
    "recursive": _recursion,
    "unrecursive": _recursion,
    "no_recursive_search": _no_recursive_search,
    "inject_lore": _inject_where,
    "inject_at": _inject_where,
    "inject_replace": _inject_how,
    "inject_prepend": _inject_how,
    "disable_ui_prompt": _ui_prompt,
}
