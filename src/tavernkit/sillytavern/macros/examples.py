"""Example dialogues as a card has them, in the shape that the prompt wants them in."""

from __future__ import annotations

import re
from collections.abc import Callable

from tavernkit.sillytavern.macros.environment import Environment

_START = re.compile("<START>", re.IGNORECASE | re.ASCII)
_START_LINE = re.compile("<START>\n", re.IGNORECASE | re.ASCII)
_NAME = re.compile(r"\{\{name\}\}", re.IGNORECASE | re.ASCII)


def format_examples(examples: str, environment: Environment, expand: Callable[[str], str]) -> str:
    """The dialogues one after the other: under `<START>` for chat models, under the separator for text models.

    An active instruct template gives every line its sequences, unless it leaves examples alone.
    """
    settings = environment.settings
    separator = f"{expand(settings.context.example_separator)}\n" if settings.context.example_separator else ""
    with_instruct = bool(settings.instruct.enabled) and environment.model.api == "text"
    for_chat = environment.model.api == "chat"
    blocks = _blocks(examples, "<START>\n" if for_chat or with_instruct else separator)
    if not with_instruct:
        return "".join(blocks)
    if not settings.instruct.skip_examples:
        lines = [line for block in blocks for line in _instruct_lines(block, separator, environment, expand)]
        if lines:
            return "".join(lines)
    return "".join(_START_LINE.sub(lambda _: separator, block, count=1) for block in blocks)


def _blocks(examples: str, heading: str) -> list[str]:
    if not examples or examples == "<START>":
        return []
    if not examples.startswith("<START>"):
        examples = "<START>\n" + examples.strip()
    return [f"{heading}{block.strip()}\n" for block in _START.split(examples)[1:]]


def _instruct_lines(block: str, separator: str, environment: Environment, expand: Callable[[str], str]) -> list[str]:
    instruct = environment.settings.instruct
    user, character = environment.user_name, environment.character_name
    spoken = _spoken(_START.sub("", block, count=1).replace("\r", ""), user, character)
    if not spoken:
        return []
    between = "\n" if instruct.wrap else ""

    def sequence(text: str, name: str) -> str:
        return _NAME.sub(lambda _: name or "System", expand(text)) if instruct.macro else text

    def suffix(text: str, name: str) -> str:
        filled = sequence(text, name)
        return "\n" if instruct.macro and not filled and instruct.wrap else filled

    lines = [separator] if separator else []
    in_group = environment.group is not None and instruct.names_behavior in ("force", "always")
    for by_user, content in spoken:
        name = user if by_user else character
        named = not in_group and (
            instruct.names_behavior == "always" or (instruct.names_behavior == "force" and by_user)
        )
        before = sequence(instruct.input_sequence if by_user else instruct.output_sequence, name)
        after = suffix(instruct.input_suffix if by_user else instruct.output_suffix, name)
        message = (f"{name}: {content}" if named else content) + after
        lines.append(between.join(piece for piece in (before, message) if piece))
    return lines


def _spoken(block: str, user: str, character: str) -> list[tuple[bool, str]]:
    """Who says what: a line that starts with a name begins a message, the others go on with it."""
    messages: list[tuple[bool, list[str]]] = []
    for line in block.strip("\n").split("\n"):
        if line.startswith(f"{user}:"):
            messages.append((True, [line]))
        elif line.startswith(f"{character}:"):
            messages.append((False, [line]))
        elif messages:
            messages[-1][1].append(line)
    return [
        (by_user, "\n".join(lines).removeprefix(f"{user if by_user else character}:").strip())
        for by_user, lines in messages
    ]
