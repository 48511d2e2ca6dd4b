"""Example dialogues, as cards and World Info write them: one text with `<START>` above each dialogue."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from tavernkit.prompt.parts import SEPARATOR, joined, lines_joined, with_source_of
from tavernkit.prompt.sources import FromTemplate
from tavernkit.prompt.tracing import beside, labelled, pieces_at
from tavernkit.sillytavern.presets import Instruct
from tavernkit.text.js_strings import js_trim
from tavernkit.values import Value

_START = re.compile("<START>", re.IGNORECASE | re.ASCII)


class ExampleLine(Value, frozen=True, kw_only=True):
    """What one speaker says in an example dialogue, without the name that stood before it."""

    name: str
    text: str
    is_user: bool


def split_dialogues(text: str) -> tuple[str, ...]:
    """The dialogues of one text, trimmed and without their marks.

    A text that does not begin with the mark gets one. What stands between two marks is a dialogue even if it is empty.
    """
    if not text or text == "<START>":
        return ()
    marked = text if text.startswith("<START>") else "<START>\n" + js_trim(text)
    return tuple(js_trim(dialogue) for dialogue in pieces_at(_START, marked)[1:])


def spoken_lines(
    dialogue: str, *, user_name: str, character_name: str, group: Sequence[str] = ()
) -> tuple[ExampleLine, ...]:
    """Who says what in a dialogue.

    A line that starts with the name of the user, the character or a member of the group begins to be theirs, and what
    follows goes on with it. What stands before the first name goes to whoever speaks first; without any name there is
    nothing. All but the user are one speaker: the member of the group who began a line last, else the character.
    """
    spoken: list[ExampleLine] = []
    lines: list[str] = []
    character = character_name
    user_speaks: bool | None = None

    def finish(name: str, *, is_user: bool) -> None:
        text = js_trim(lines_joined(lines).replace(f"{name}:", "", 1))
        spoken.append(ExampleLine(name=name, text=text, is_user=is_user))
        lines.clear()

    for line in dialogue.replace("\r", "").split("\n"):
        if line.startswith(f"{user_name}:"):
            if user_speaks is False:
                finish(character, is_user=False)
            user_speaks = True
        elif any(line.startswith(f"{name}:") for name in (character_name, *group)):
            if not line.startswith(f"{character_name}:"):
                character = str(line).split(":", 1)[0]
            if user_speaks:
                finish(user_name, is_user=True)
            user_speaks = False
        lines.append(line)
    if user_speaks is not None:
        finish(user_name if user_speaks else character, is_user=user_speaks)
    return tuple(spoken)


def example_texts(
    dialogues: Sequence[str],
    instruct: Instruct,
    *,
    heading: str,
    user_name: str,
    character_name: str,
    group: Sequence[str] | None,
    expand: Callable[[str], str],
) -> list[str]:
    """The texts of a text prompt that are kept or left out one by one.

    Without instruct sequences a text is a whole dialogue under its heading; with them, a heading or one message.
    """
    plain = [joined("", (heading, dialogue, beside("\n", dialogue or heading, SEPARATOR))) for dialogue in dialogues]
    if not instruct.enabled or instruct.skip_examples:
        return plain

    line_break = beside(instruct.line_break, dialogues[0] if dialogues else "", FromTemplate(what="instruct.wrap"))

    def pair(prefix: str, suffix: str, name: str) -> tuple[str, str]:
        """Prefix and suffix; the newline in place of a missing suffix comes only where macros are expanded."""
        filled = instruct.fill(suffix, name, expand) or (line_break if instruct.macro else "")
        return instruct.fill(prefix, name, expand), filled

    def messages(dialogue: str, lines: Sequence[ExampleLine]) -> Iterator[str]:
        for line in lines:
            prefix, suffix = sequences[line.is_user]
            name = line.name if in_group else (user_name if line.is_user else character_name)
            told = (
                in_group or instruct.names_behavior == "always" or (instruct.names_behavior == "force" and line.is_user)
            )
            message = with_source_of(labelled(name, line.text) if told else line.text, dialogue) + suffix
            yield joined(line_break, (part for part in (prefix, message) if part))

    # Names are told in a group for all, elsewhere with "force" only for the user.
    in_group = group is not None and instruct.names_behavior != "none"
    sequences = {
        True: pair(instruct.input_sequence, instruct.input_suffix, user_name),
        False: pair(instruct.output_sequence, instruct.output_suffix, character_name),
    }
    texts: list[str] = []
    for dialogue in dialogues:
        lines = spoken_lines(dialogue, user_name=user_name, character_name=character_name, group=group or ())
        if lines and heading:
            texts.append(heading)
        texts.extend(messages(dialogue, lines))
    return texts or plain
