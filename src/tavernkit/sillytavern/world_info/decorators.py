"""Decorators: lines such as `@@activate` that stand at the very start of an entry's content."""

from __future__ import annotations

ACTIVATE = "@@activate"
DONT_ACTIVATE = "@@dont_activate"

_KNOWN = (ACTIVATE, DONT_ACTIVATE)


def split_decorators(content: str) -> tuple[tuple[str, ...], str]:
    """The decorators that were recognised, and the content behind them.

    `@@@name` is tried only when the decorator before it was not known. A content of nothing but decorators is kept
    whole, as SillyTavern does.
    """
    if not content.startswith("@@"):
        return (), content
    decorators: list[str] = []
    was_unknown = False
    lines = content.split("\n")
    for number, line in enumerate(lines):
        if not line.startswith("@@"):
            return tuple(decorators), "\n".join(lines[number:])
        is_fallback = line.startswith("@@@")
        if is_fallback and not was_unknown:
            continue
        decorator = line[1:] if is_fallback else line
        # A line that only begins like a known decorator is recognised, too, but no exact match will find it.
        was_unknown = not decorator.startswith(_KNOWN)
        if not was_unknown:
            decorators.append(decorator)
    return tuple(decorators), content
