"""Quoted texts in templates, with JavaScript's escapes."""

from __future__ import annotations

import re

__all__ = ["unquote"]

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{0,4})|([0-7]{1,3})|(.))", re.DOTALL)
_SIGNS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def unquote(quoted: str) -> str:
    """The text between the quotes; `\\n`, `\\u0041` and `\\101` are characters, any other escape is its own letter."""
    inside = quoted[1:-1]
    return _ESCAPE.sub(_character, inside) if "\\" in inside else inside


def _character(match: re.Match[str]) -> str:
    code, octal, sign = match.groups()
    if code is not None:
        return chr(int(code or "0", 16))
    if octal is not None:
        return chr(int(octal, 8))
    return _SIGNS.get(sign, sign)
