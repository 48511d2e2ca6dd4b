"""Texts that extensions add to the prompt: notes, summaries, depth prompts, World Info at a depth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Literal, TypeAlias, get_args

from tavernkit.prompt.parts import joined
from tavernkit.text.js_strings import js_trim
from tavernkit.values import CheckedValue, check_choice

ExtensionPlace: TypeAlias = Literal["none", "after", "chat", "before"]
ExtensionRole: TypeAlias = Literal["system", "user", "assistant"]


class ExtensionPosition(IntEnum):
    """The numbers that files give for the place of an extension's text."""

    NONE = -1
    IN_PROMPT = 0
    IN_CHAT = 1
    BEFORE_PROMPT = 2


ROLES: tuple[ExtensionRole, ...] = get_args(ExtensionRole)
"""In the order of the numbers that files give them."""
_PLACES: Mapping[int, ExtensionPlace] = {
    ExtensionPosition.IN_PROMPT: "after",
    ExtensionPosition.IN_CHAT: "chat",
    ExtensionPosition.BEFORE_PROMPT: "before",
}


class ExtensionPrompt(CheckedValue, frozen=True, kw_only=True):
    """One text of an extension: before or after the main prompt, in the chat at a depth, or nowhere.

    Depth 0 stands behind the last message. `scan` lets World Info look for its keys in the text, wherever it stands.
    """

    key: str
    content: str
    position: ExtensionPlace = "none"
    depth: int = 0
    role: ExtensionRole = "system"
    scan: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("The position of an extension prompt", self.position, ExtensionPlace)
        check_choice("The role of an extension prompt", self.role, ExtensionRole)


def extension_place(number: int) -> ExtensionPlace:
    """The place that a file's number stands for; an unknown number is nowhere."""
    return _PLACES.get(number, "none")


def extension_role(number: int) -> ExtensionRole:
    """The role that a file's number stands for; an unknown number is the system."""
    return ROLES[number] if 0 <= number < len(ROLES) else "system"


def role_named(name: str) -> ExtensionRole:
    """The role of that name; an unknown one is the system."""
    return next((role for role in ROLES if role == name), "system")


def in_key_order(prompts: Iterable[ExtensionPrompt]) -> list[ExtensionPrompt]:
    """The prompts by their keys, compared by UTF-16 units as JavaScript sorts."""
    return sorted(prompts, key=lambda prompt: prompt.key.encode("utf-16-be", "surrogatepass"))


def extension_text(prompts: Iterable[ExtensionPrompt], place: ExtensionPlace) -> str:
    """Everything at one place, by key and a line each."""
    return joined_text(prompt for prompt in prompts if prompt.position == place)


def joined_text(prompts: Iterable[ExtensionPrompt]) -> str:
    """The texts by key and a line each; those that are empty have none."""
    return joined("\n", (js_trim(prompt.content) for prompt in in_key_order(prompts) if prompt.content))
