"""A regex script of a character, preset or module, as RisuAI stores it."""

from __future__ import annotations

from collections.abc import Iterable

from tavernkit.reading import LooseObject
from tavernkit.values import JsonObject, Value


class RisuRegexScript(Value, frozen=True, kw_only=True):
    """What to look for, what to put in its place, and when: `type` is a mode such as `editinput`.

    `flags` counts only where `has_flags` is on; `written` is the object that the script was read from.
    """

    type: str
    pattern: str = ""
    replacement: str = ""
    flags: str | None = None
    has_flags: bool = False
    comment: str = ""
    written: JsonObject = {}


def read_scripts(scripts: Iterable[LooseObject]) -> tuple[RisuRegexScript, ...]:
    """Read a list of scripts."""
    return tuple(
        RisuRegexScript(
            type=script.text("type"),
            pattern=script.text("in"),
            replacement=script.text("out"),
            flags=script.optional_text("flag"),
            has_flags=script.flag("ableFlag"),
            comment=script.text("comment"),
            written=dict(script.source),
        )
        for script in scripts
    )
