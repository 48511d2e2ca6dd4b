"""The switches that a preset or module shows in RisuAI's side bar, as the text that lists them says."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tavernkit.values import Value

ToggleType: TypeAlias = Literal["switch", "select", "text", "group", "groupEnd", "divider"]

_STRUCTURE: dict[str, ToggleType] = {"group": "group", "groupEnd": "groupEnd", "divider": "divider"}
_INPUTS: dict[str, ToggleType] = {"select": "select", "text": "text"}


class Toggle(Value, frozen=True, kw_only=True):
    """One line. `key` names the global variable `toggle_<key>`; the value of a `select` is the place of its option.

    Groups and dividers stand between the others; they have no value, and may lack a key and a label.
    """

    key: str
    label: str
    type: ToggleType
    options: tuple[str, ...] = ()


def parse_toggles(text: str) -> tuple[Toggle, ...]:
    """Read lines of `key=label`, `key=label=type` or `key=label=type=option,option`; others are passed over."""
    found = (_parse_line(line) for line in text.split("\n"))
    return tuple(toggle for toggle in found if toggle is not None)


def _parse_line(line: str) -> Toggle | None:
    parts = line.split("=")
    key, label, written = (*parts, "", "")[:3]
    if written in _STRUCTURE:
        return Toggle(key=key, label=label, type=_STRUCTURE[written])
    if not key or not label:
        return None
    listed = tuple(parts[3].split(",")) if len(parts) > 3 else ()
    return Toggle(key=key, label=label, type=_INPUTS.get(written, "switch"), options=listed)
