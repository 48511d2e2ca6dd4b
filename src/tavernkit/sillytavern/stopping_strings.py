"""Where a reply must end: the strings at which a model is told to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from tavernkit.errors import ParseError
from tavernkit.reading import parse_json
from tavernkit.sillytavern.presets import Instruct
from tavernkit.sillytavern.presets.templates import fill_name
from tavernkit.sillytavern.settings import UserSettings
from tavernkit.text.js_strings import js_trim

SYSTEM_NAME = "System"


def stopping_strings(
    settings: UserSettings,
    *,
    user_name: str,
    character_name: str,
    group_names: Sequence[str] = (),
    is_impersonate: bool = False,
    is_continue: bool = False,
    last_is_user: bool = False,
    ephemeral: Sequence[str] = (),
    api: Literal["chat", "text"] = "text",
    expand: Callable[[str], str] = str,
    warn: Callable[[str], None] = lambda _: None,
) -> tuple[str, ...]:
    """The stopping strings for one generation, each once, in the order in which SillyTavern sends them.

    A text completion stops at names, at the sequences of the instruct template, at the separators of the context
    template and at the user's own strings; a chat completion at the user's own alone. `group_names` are all members of
    the group, `ephemeral` are strings for this one generation, and `warn` gets a sentence when the user's own strings
    cannot be read.
    """
    found: list[str] = []
    if api == "text":
        if settings.single_line:
            found.append("\n")
        if settings.context.names_as_stop_strings:
            found += (
                f"\n{name}:"
                for name in _names(
                    user_name,
                    character_name,
                    group_names,
                    is_impersonate=is_impersonate,
                    user_continues=is_continue and last_is_user,
                )
            )
        found += _instruct_sequences(settings.instruct, user_name, character_name, expand)
        if settings.context.use_stop_strings:
            separators = (settings.context.chat_start, settings.context.example_separator)
            found += (f"\n{expand(text)}" for text in separators if text)
    found += _own(settings, expand, warn)
    found += ephemeral
    return tuple(string for string in dict.fromkeys(found) if string)


def _names(
    user_name: str, character_name: str, group_names: Sequence[str], *, is_impersonate: bool, user_continues: bool
) -> Iterator[str]:
    if is_impersonate:
        yield character_name
    yield user_name
    if user_continues:
        yield character_name
    if character_name or is_impersonate:
        yield from (name for name in group_names if name not in ("", character_name))


def _instruct_sequences(
    instruct: Instruct, user_name: str, character_name: str, expand: Callable[[str], str]
) -> Iterator[str]:
    if not instruct.enabled:
        return
    texts = [instruct.stop_sequence]
    if instruct.sequences_as_stop_strings:
        texts += [
            fill_name(sequence, speaker)
            for sequence, speaker in (
                (instruct.input_sequence, user_name),
                (instruct.output_sequence, character_name),
                (instruct.first_output_sequence, character_name),
                (instruct.last_output_sequence, character_name),
                (instruct.system_sequence, SYSTEM_NAME),
                (instruct.last_system_sequence, SYSTEM_NAME),
            )
        ]
    lines = dict.fromkeys(line for text in texts for line in text.split("\n"))
    for line in lines:
        if js_trim(line):
            wrapped = f"\n{line}" if instruct.wrap else line
            yield expand(wrapped) if instruct.macro else wrapped


def _own(settings: UserSettings, expand: Callable[[str], str], warn: Callable[[str], None]) -> Iterator[str]:
    if not settings.custom_stopping_strings:
        return
    try:
        strings = parse_json(settings.custom_stopping_strings, what="The list of custom stopping strings")
    except ParseError as error:
        warn(f"{error} It is ignored.")
        return
    if not isinstance(strings, list):
        warn('The custom stopping strings are not a list such as ["END", "###"]. They are ignored.')
        return
    for string in strings:
        if isinstance(string, str) and string:
            yield expand(string) if settings.custom_stopping_strings_macro else string
