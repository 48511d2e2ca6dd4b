"""Instruct sequences: what stands before and after a message, and what the reply is asked for with."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from tavernkit.sillytavern.extension_prompts import ExtensionRole
from tavernkit.sillytavern.text_completion.scene import TextScene
from tavernkit.text.js_strings import JS_WHITESPACE

__all__ = ["Place", "fill", "instruct_line", "instruct_message", "separator"]

Place: TypeAlias = Literal["first", "last", "between"]
"""Where in the chat a message stands: the first and the last may have sequences of their own."""

_NAME = re.compile(r"\{\{name\}\}", re.IGNORECASE | re.ASCII)


def separator(scene: TextScene) -> str:
    return "\n" if scene.settings.instruct.wrap else ""


def fill(scene: TextScene, sequence: str, name: str) -> str:
    """A sequence with its macros expanded and `{{name}}` filled in, if the template wants that."""
    if not sequence or not scene.settings.instruct.macro:
        return sequence
    return _NAME.sub(lambda _: name, scene.expand(sequence))


def instruct_message(
    scene: TextScene, text: str, *, name: str, role: ExtensionRole, force_name: bool = False, place: Place = "between"
) -> tuple[str, str]:
    """A message in its sequences: everything up to the end of its text, and the suffix."""
    instruct = scene.settings.instruct
    prefix, suffix = _sequences(scene, role, place)
    filler = name or "System"
    prefix = fill(scene, prefix, filler)
    suffix = fill(scene, suffix, filler) or separator(scene)
    told = instruct.names_behavior == "always" or (
        instruct.names_behavior == "force" and (scene.group is not None or force_name) and name != scene.user_name
    )
    message = f"{name}: {text}" if told and name and role != "system" else text
    between = separator(scene) if prefix and message + suffix else ""
    return f"{prefix}{between}{message}", suffix


def _sequences(scene: TextScene, role: ExtensionRole, place: Place) -> tuple[str, str]:
    instruct = scene.settings.instruct
    if role == "system" and not instruct.system_same_as_user:
        return instruct.system_sequence, instruct.system_suffix
    if role == "system":
        return instruct.input_sequence, instruct.input_suffix
    special = {
        ("user", "first"): instruct.first_input_sequence,
        ("user", "last"): instruct.last_input_sequence,
        ("assistant", "first"): instruct.first_output_sequence,
        ("assistant", "last"): instruct.last_output_sequence,
    }.get((role, place), "")
    if role == "user":
        return special or instruct.input_sequence, instruct.input_suffix
    return special or instruct.output_sequence, instruct.output_suffix


def instruct_line(scene: TextScene) -> tuple[str, str]:
    """The line behind the chat that asks for the reply, and the words that the reply shall begin with."""
    instruct = scene.settings.instruct
    in_background = bool(scene.quiet_prompt) and not scene.quiet_to_loud
    is_quiet = bool(scene.quiet_prompt) and scene.generation_type == "quiet"
    name = _speaker(scene, in_background=in_background)
    told = (
        bool(name)
        and (instruct.names_behavior == "always" or (scene.group is not None and instruct.names_behavior == "force"))
        and not (is_quiet and in_background)
    )
    sequence = _last_sequence(scene, in_background=is_quiet and in_background)
    # Some templates end their output sequence, but not the last one, with the space that parts it from the name.
    filler = instruct.output_sequence[-1:] if told and _lost_space(scene, sequence) else ""
    between = separator(scene)
    start = "" if is_quiet else between
    line = start + fill(scene, sequence, name or "System")
    if told:
        line += f"{between}{filler}{name}:"
    bias = ""
    if scene.bias and not scene.is_impersonation:
        bias = scene.bias if told else between + scene.bias.lstrip(JS_WHITESPACE)
    whole = line + bias
    if instruct.wrap:
        whole = whole.rstrip(JS_WHITESPACE)
    whole += "" if told else between
    return whole[: len(line)] if bias else whole, whole[len(line) :] if bias else ""


def _speaker(scene: TextScene, *, in_background: bool) -> str:
    if scene.is_impersonation:
        return scene.user_name
    if in_background:
        return "System" if scene.quiet_name is None else scene.quiet_name
    return scene.character_name


def _last_sequence(scene: TextScene, *, in_background: bool) -> str:
    instruct = scene.settings.instruct
    if scene.is_impersonation:
        return instruct.input_sequence
    if in_background:
        return instruct.last_system_sequence or instruct.output_sequence
    return instruct.last_output_sequence or instruct.output_sequence


def _lost_space(scene: TextScene, sequence: str) -> bool:
    last, ordinary = scene.settings.instruct.last_output_sequence, scene.settings.instruct.output_sequence
    return bool(last) and sequence == last and _ends_in_space(ordinary) and not _ends_in_space(last)


def _ends_in_space(text: str) -> bool:
    return bool(text) and text[-1] in JS_WHITESPACE
