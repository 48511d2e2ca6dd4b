"""A script made ready: its flags read, its directive understood, its replacement in the form that is inserted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cmp_to_key, lru_cache
from typing import Literal

from tavernkit.risuai.regex_script import RisuRegexScript
from tavernkit.text.js_numbers import parse_int
from tavernkit.text.js_strings import js_trim
from tavernkit.values import Value

_ACTIONS = re.compile(r"<([^\n\r\u2028\u2029]+?)>")
_NOT_A_FLAG = re.compile(r"[^dgimsuvy]")
_ORDER = "order "
_EMOTION = "@@emo "
_MOVE_TOP, _MOVE_BOTTOM = "@@move_top", "@@move_bottom"


class PreparedScript(Value, frozen=True, kw_only=True):
    """What one script does.

    `looks_first` says that it asks whether its pattern is there before it does anything, as all with a directive or an
    action do. Then it sets the `emotion`, or takes the match out and keeps the text in the message (`injects`), or
    moves the match (`moves`), or else replaces. `repeats_back` is where to put what an earlier message has when the
    pattern is not there: `end`, `start`, `end_nl`, `start_nl`, or empty for `end`; None when it does not repeat.
    """

    name: str
    pattern: str
    flags: str
    replacement: str
    order: float = 0.0
    has_order: bool = False
    expands_pattern: bool = False
    looks_first: bool = False
    emotion: str | None = None
    injects: bool = False
    moves: Literal["top", "bottom"] | None = None
    repeats_back: str | None = None

    @property
    def keeps_its_place(self) -> bool:
        """Whether the pattern remembers where it matched, so that its next use begins there."""
        return "g" in self.flags or "y" in self.flags

    @property
    def may_be_passed_over(self) -> bool:
        """Whether nothing happens where its pattern, which is known beforehand, is not found."""
        return self.repeats_back is None and not self.expands_pattern


def in_order(scripts: Iterable[RisuRegexScript]) -> list[PreparedScript]:
    """The scripts as they run: by falling order where any has one, and as they are listed where it is the same."""
    prepared = [_prepare(s.comment, s.pattern, s.replacement, s.flags or "", s.has_flags) for s in scripts]
    if any(script.has_order for script in prepared):
        # An order that is no number counts as equal to each other one, which no key can say.
        prepared.sort(key=cmp_to_key(_compare))
    return prepared


def _compare(one: PreparedScript, other: PreparedScript) -> int:
    return (other.order > one.order) - (other.order < one.order)


@lru_cache(maxsize=4096)
def _prepare(comment: str, pattern: str, written: str, flags: str, has_flags: bool) -> PreparedScript:
    actions: list[str] = []
    order: float | None = None
    if has_flags:
        for listed in _ACTIONS.findall(flags):
            for action in map(js_trim, listed.split(",")):
                if action.startswith(_ORDER):
                    order = parse_int(action.removeprefix(_ORDER))
                else:
                    actions.append(action)
        flags = _ACTIONS.sub("", flags)
    replacement = written.replace("$n", "\n")
    moves_top = replacement.startswith(_MOVE_TOP) or "move_top" in actions
    moves = moves_top or replacement.startswith(_MOVE_BOTTOM) or "move_bottom" in actions
    has_emotion = replacement.startswith(_EMOTION)
    injects = replacement.startswith("@@inject") or "inject" in actions
    repeats = replacement.startswith("@@repeat_back") or "repeat_back" in actions
    if replacement.endswith(">") and "no_end_nl" not in actions:
        replacement += "\n"
    return PreparedScript(
        name=comment or pattern[:40],
        pattern=pattern,
        flags=_flags((flags or "g") if has_flags else "g", moves=moves),
        replacement=replacement,
        order=order or 0.0,
        has_order=order is not None,
        expands_pattern="cbs" in actions,
        looks_first=replacement.startswith("@@") or bool(actions),
        emotion=js_trim(written[len(_EMOTION) :]) if has_emotion else None,
        injects=injects,
        moves=("top" if moves_top else "bottom") if moves else None,
        repeats_back=_second_word(replacement) if repeats else None,
    )


def _flags(written: str, *, moves: bool) -> str:
    if moves:
        written = written.replace("g", "", 1)
    known = _NOT_A_FLAG.sub("", written)
    return "".join(dict.fromkeys(known)) or "u"


def _second_word(text: str) -> str:
    words = text.split(" ")
    return words[1] if len(words) > 1 else ""
