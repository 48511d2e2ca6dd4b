"""A regex script of a character, preset or module, as RisuAI stores it."""

from __future__ import annotations

from collections.abc import Iterable

from tavernkit.reading import LooseObject
from tavernkit.risuai.stored import StoredNoun
from tavernkit.values import Json


class RisuRegexScript(StoredNoun, frozen=True, kw_only=True):
    """What to look for, what to put in its place, and when: `type` is a mode such as `editinput`.

    `flags` counts only where `has_flags` is on; `written` is the object that the script was read from.
    """

    SPELT = {"pattern": "in", "replacement": "out", "has_flags": "ableFlag", "flags": "flag"}
    ALWAYS = ("comment", "pattern", "replacement", "type", "has_flags")

    comment: str = ""
    pattern: str = ""
    replacement: str = ""
    type: str
    has_flags: bool = False
    flags: str | None = None


def read_scripts(scripts: Iterable[LooseObject]) -> tuple[RisuRegexScript, ...]:
    """Read a list of scripts."""
    return tuple(map(RisuRegexScript.read, scripts))


def write_script(script: RisuRegexScript) -> dict[str, Json]:
    """The regex script as RisuAI stores it."""
    return script.write()
