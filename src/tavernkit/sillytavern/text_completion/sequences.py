"""Instruct sequences, and what stands behind the chat: a quiet instruction, and the line that asks for the reply."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias, get_args

from tavernkit.prompt.parts import SEPARATOR, joined
from tavernkit.prompt.tracing import NAME
from tavernkit.sillytavern.extension_prompts import ROLES, ExtensionRole
from tavernkit.sillytavern.text_completion.scene import TextPiece, TextScene, TextSpeakers
from tavernkit.text.js_strings import JS_WHITESPACE

SequencePlace: TypeAlias = Literal["first", "last", "between"]
"""Where in the chat a message stands: the first and the last may have sequences of their own."""

_PLACES: tuple[SequencePlace, ...] = get_args(SequencePlace)
_CHANGING = re.compile(r"\{\{(?!(?:user|char|name|newline)\}\})", re.IGNORECASE | re.ASCII)


def is_changing(text: str) -> bool:
    """Whether a macro in it may give something else each time it is expanded."""
    return _CHANGING.search(text) is not None


class MessageFrame(NamedTuple):
    """What is put around somebody's words; `label` is the speaker's name where names are told."""

    prefix: str
    label: str
    suffix: str


class Sequences:
    """The sequences of one prompt, worked out only once for each speaker where they always come out the same.

    `are_fixed` says that they do; `are_alike` that they do not depend on where in the chat a message stands. Where
    tokens are counted, nothing need be known of where they come from.
    """

    def __init__(self, speakers: TextSpeakers, *, is_counting: bool = False) -> None:
        self._speakers = speakers
        self._is_plain = is_counting or not speakers.is_traced
        self._between = str(speakers.line_break) if is_counting else speakers.line_break
        self._known: dict[tuple[str, ExtensionRole, bool, SequencePlace], MessageFrame] = {}
        self._heads: dict[tuple[int, ...], tuple[tuple[str, ...], str]] = {}
        self.are_fixed = not is_changing("\n".join(_all_sequences(speakers)))
        instruct = speakers.settings.instruct
        self.are_alike = not (
            instruct.first_input_sequence
            or instruct.last_input_sequence
            or instruct.first_output_sequence
            or instruct.last_output_sequence
        )

    def around(
        self, name: str, role: ExtensionRole, force_name: bool = False, place: SequencePlace = "between"
    ) -> MessageFrame:
        key = (name, role, force_name, place)
        around = self._known.get(key)
        if around is None:
            around = _around(self._speakers, *key)
            if self._is_plain:
                around = MessageFrame(*map(str, around))
            if self.are_fixed:
                self._known[key] = around
        return around

    def write(
        self, text: str, name: str, role: ExtensionRole, force_name: bool = False, place: SequencePlace = "between"
    ) -> tuple[str, str]:
        """A message in its sequences: everything up to the end of its text, and the suffix."""
        prefix, label, suffix = self.around(name, role, force_name, place)
        between = self._between if prefix and (label or text or suffix) else ""
        if self._is_plain:
            return f"{prefix}{between}{label}" + text, suffix
        return joined("", (self._head(prefix, between, label), text)), suffix

    def whole(
        self, text: str, name: str, role: ExtensionRole, force_name: bool = False, place: SequencePlace = "between"
    ) -> str:
        """A message in its sequences, with the suffix."""
        if self._is_plain:
            written, end = self.write(text, name, role, force_name, place)
            return written + end
        prefix, label, suffix = self.around(name, role, force_name, place)
        between = self._between if prefix and (label or text or suffix) else ""
        return joined("", (self._head(prefix, between, label), text, suffix))

    def _head(self, *pieces: str) -> str:
        """What stands before the words of a speaker, which is the same for many messages."""
        key = tuple(map(id, pieces))
        known = self._heads.get(key)
        if known is None:
            known = self._heads[key] = pieces, joined("", pieces)
        return known[1]


def _around(
    speakers: TextSpeakers, name: str, role: ExtensionRole, force_name: bool, place: SequencePlace
) -> MessageFrame:
    instruct = speakers.settings.instruct
    prefix, suffix = _sequences(speakers, role, place)
    filler = name or "System"
    prefix = instruct.fill(prefix, filler, speakers.expand)
    suffix = instruct.fill(suffix, filler, speakers.expand) or speakers.line_break
    told = instruct.names_behavior == "always" or (
        instruct.names_behavior == "force" and (speakers.group is not None or force_name) and name != speakers.user_name
    )
    label = speakers.written(f"{name}: ", NAME.what) if told and name and role != "system" else ""
    return MessageFrame(prefix, label, suffix)


def _all_sequences(speakers: TextSpeakers) -> Iterator[str]:
    for role, place in itertools.product(ROLES, _PLACES):
        yield from _sequences(speakers, role, place)


def _sequences(speakers: TextSpeakers, role: ExtensionRole, place: SequencePlace) -> tuple[str, str]:
    instruct = speakers.settings.instruct
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
    between = scene.line_break
    start = "" if is_quiet else between
    line = start + instruct.fill(sequence, name or "System", scene.expand)
    if told:
        line = line + between + scene.written(f"{filler}{name}:", NAME.what)
    bias = ""
    if scene.bias and not scene.is_impersonation:
        bias = scene.bias if told else between + scene.bias.lstrip(JS_WHITESPACE)
    whole = line + bias
    if instruct.wrap:
        whole = whole.rstrip(JS_WHITESPACE)
    whole = whole if told else whole + between
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


def ending(scene: TextScene, before: str) -> list[TextPiece]:
    """The pieces to append to a text; where they begin with a new line depends on how that text ends."""
    pieces: list[TextPiece] = []
    if scene.quiet_prompt:
        pieces.append(_quiet(scene))
        if not (scene.with_instruct or scene.quiet_to_loud):
            return pieces
    if scene.with_instruct:
        if not scene.is_continue:
            line, bias = instruct_line(scene)
            pieces.append(TextPiece(text=line, source="last_line", role=_role(scene)))
            pieces.append(TextPiece(text=bias, source="bias", role="assistant"))
    else:
        so_far = before + "".join(piece.text for piece in pieces)
        pieces.append(TextPiece(text=_name_line(scene, so_far), source="last_line", role=_role(scene)))
    return [piece for piece in pieces if piece.text]


def bias_behind(scene: TextScene, before: str) -> TextPiece | None:
    """The reply's first words behind a name, in a prompt without instruct sequences."""
    words = scene.bias.lstrip(JS_WHITESPACE)
    if scene.with_instruct or scene.is_impersonation or not words:
        return None
    has_space = bool(before) and before[-1] in JS_WHITESPACE
    text = words if has_space else scene.written(" ", SEPARATOR.what) + words
    return TextPiece(text=text, source="bias", role="assistant")


def _quiet(scene: TextScene) -> TextPiece:
    if scene.with_instruct:
        text = joined("", Sequences(scene).write(scene.quiet_prompt, scene.user_name, "system"))
    else:
        text = scene.written("\n", SEPARATOR.what) + scene.quiet_prompt
    return TextPiece(text=text, source="quiet_prompt")


def _name_line(scene: TextScene, before: str) -> str:
    new_line = "" if before.endswith("\n") else "\n"
    if scene.is_impersonation:
        return scene.written(f"{new_line}{scene.user_name}:", NAME.what)
    if not _forces_name(scene):
        return ""
    if scene.is_continue:
        if scene.chat_length == 1:
            return ""
        if scene.last_is_user:
            return scene.written(new_line, SEPARATOR.what)
    return scene.written(f"{new_line}{scene.character_name}:", NAME.what)


def _forces_name(scene: TextScene) -> bool:
    if scene.settings.always_force_name2:
        return True
    # Words that one message asks for need a name before them; the user's standing ones do not.
    return bool(scene.bias) and scene.bias != scene.expand(scene.settings.user_prompt_bias)


def _role(scene: TextScene) -> ExtensionRole:
    return "user" if scene.is_impersonation else "assistant"
