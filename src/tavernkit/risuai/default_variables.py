"""The variables of a chat with the values that they have before anybody sets them, and those of all chats."""

from __future__ import annotations

from functools import lru_cache

from tavernkit.risuai.scene import RisuScene
from tavernkit.text.js_values import to_text

MISSING = "null"
"""What a variable reads as that nobody has set."""


def parse_key_values(text: str) -> list[tuple[str, str]]:
    """The pairs in lines of `key=value`; a value ends at a second `=`, and a pair that lacks a side is passed over."""
    pairs = (line.split("=") for line in text.split("\n"))
    return [(key, value) for key, value, *_ in (pair for pair in pairs if len(pair) > 1) if key and value]


@lru_cache(maxsize=64)
def _first_values(text: str) -> dict[str, str]:
    return dict(reversed(parse_key_values(text)))  # of two lines with the same key the first counts


def get_chat_variable(scene: RisuScene, name: str) -> str:
    """The chat's variable, or the default that the character or else the prompt template gives it, or `null`."""
    if scene.character is None:  # without a character there is no chat to have variables
        return MISSING
    value = scene.variables.get(name)
    return default_value(scene, name) if value is None else to_text(value)


def default_value(scene: RisuScene, name: str) -> str:
    """What the chat's variable reads as while nobody has set it."""
    if scene.character is None:
        return MISSING
    for defaults in (scene.character.default_variables, scene.settings.template_default_variables):
        found = _first_values(defaults).get(name)
        if found is not None:
            return found
    return MISSING


def get_global_variable(scene: RisuScene, name: str) -> str:
    """The variable that all chats share, or `null`; a toggle `x` is the variable `toggle_x`."""
    value = scene.variables.get(name, "global")
    return MISSING if value is None else to_text(value)
