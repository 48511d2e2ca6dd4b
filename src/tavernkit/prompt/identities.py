"""What makes a source the same one in two prompts."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import TypeAlias

from tavernkit.prompt.sources import (
    AnySource,
    FromArtifact,
    FromBlock,
    FromCard,
    FromChat,
    FromHistory,
    FromInjection,
    FromLore,
    FromMacro,
    FromPersona,
    FromPreset,
    FromRegex,
    FromTemplate,
    FromTrigger,
)

Identity: TypeAlias = tuple[Hashable, ...]

_TEMPLATE_CARD = re.compile(r"card:\d+:")
"""How cards of RisuAI's templates are called; those that have a name keep it wherever they stand."""


def identity_of(source: AnySource) -> Identity:
    """What stays of a source while its text, its place in the chat or its version change."""
    match source:
        case FromCard():
            return "card", source.character, source.field
        case FromPersona():
            return "persona", source.field
        case FromPreset():
            return "preset", prompt_key(source)
        case FromTemplate():
            return "template", source.what
        case FromChat():
            return "chat", source.field
        case FromInjection():
            return "injection", source.id
        case FromLore():
            return "lore", source.book, source.entry
        case FromHistory():
            return "history", source.part
        case FromArtifact():
            return "artifact", source.artifact
        case FromMacro():
            inside = None if source.inside is None else identity_of(source.inside)
            return "macro", source.name, inside
        case FromRegex():
            return "regex", source.script, None if source.inside is None else identity_of(source.inside)
        case FromTrigger():
            return "trigger", source.place
        case FromBlock():
            return "block", source.stage, source.id


def prompt_key(source: FromPreset) -> str:
    """What the facts call a prompt."""
    return source.name if source.name and _TEMPLATE_CARD.match(source.prompt) else source.prompt


def place_of(source: AnySource) -> int | None:
    """The place in the chat of the message that a text comes from, directly or through macros and rules."""
    match source:
        case FromHistory():
            return source.message
        case FromMacro() | FromRegex() if source.inside is not None:
            return place_of(source.inside)
        case _:
            return None


def is_template(source: AnySource) -> bool:
    """Whether the platform writes a text around others, itself or with macros."""
    if isinstance(source, FromMacro | FromRegex) and source.inside is not None:
        return is_template(source.inside)
    return isinstance(source, FromTemplate)
