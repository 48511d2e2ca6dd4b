"""Making a message of what a model has answered, in SillyTavern's order of steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Literal

from tavernkit.sillytavern.cleanup.markdown import fix_markdown
from tavernkit.sillytavern.cleanup.sentences import trim_to_end_sentence
from tavernkit.sillytavern.presets import Instruct
from tavernkit.sillytavern.settings import UserSettings
from tavernkit.text.js_strings import JS_WHITESPACE, js_trim
from tavernkit.text.replies import (
    END_OF_TEXT,
    before_speaker,
    collapse_newlines,
    strip_line_ends,
    without_labels,
    without_stop,
)


def clean_reply(
    text: str,
    *,
    settings: UserSettings,
    user_name: str,
    character_name: str,
    group_names: Sequence[str] = (),
    is_impersonate: bool = False,
    is_continue: bool = False,
    stopping_strings: Sequence[str] = (),
    api: Literal["chat", "text"] = "text",
    expand: Callable[[str], str] = str,
    apply_regex: Callable[[str], str] = str,
    add_bias: bool = True,
    trim_names: bool = True,
    trim_wrong_names: bool = True,
    keep_unfinished_sentence: bool = False,
    ends_in_thought: bool = False,
) -> str:
    """The reply without what does not belong to it: stopping strings, other speakers, sequences, stray white space.

    `apply_regex` runs the regex scripts for model output, or for user input when impersonating. While a reply is still
    arriving, `keep_unfinished_sentence` is True. `ends_in_thought` says that the prompt ended inside a block of
    thoughts: the reply goes on with them, and its outer white space counts.
    """
    if not text:
        return ""
    if add_bias and not is_impersonate and not is_continue:
        text = expand(settings.user_prompt_bias) + text
    text = apply_regex(reduce(without_stop, stopping_strings, text))
    if settings.collapse_newlines:
        text = collapse_newlines(text)
    text = strip_line_ends(text)

    own, other = (user_name, character_name) if is_impersonate else (character_name, user_name)
    own_allowed, other_allowed = settings.allow_name2_display, settings.allow_name1_display
    if is_impersonate:
        own_allowed, other_allowed = other_allowed, own_allowed

    if trim_wrong_names and other and not other_allowed:
        text = before_speaker(text, other)
    text = text.partition(END_OF_TEXT)[0]
    if settings.instruct.enabled and api == "text":
        text = _without_sequences(text, settings.instruct, is_impersonate=is_impersonate)
    if not settings.disable_group_trimming:
        for name in group_names:
            if name != character_name:
                text = before_speaker(text, name)
    if character_name and not settings.allow_name2_display:
        text = without_labels(text, f"{character_name}:")
    if is_impersonate:
        text = js_trim(text)
    if settings.auto_fix_generated_markdown:
        text = fix_markdown(text)
    if trim_names and own and not own_allowed and text.startswith(f"{own}:"):
        text = text[len(own) + 1 :].lstrip(JS_WHITESPACE)
    if is_impersonate:
        text = js_trim(text)
    if settings.trim_sentences and not keep_unfinished_sentence:
        text = trim_to_end_sentence(text)
    return js_trim(text) if settings.trim_spaces and not ends_in_thought else text


def _without_sequences(text: str, instruct: Instruct, *, is_impersonate: bool) -> str:
    """Cut at the template's stop and input sequences, and take out the lines of its output sequences."""
    if instruct.stop_sequence:
        text = text.partition(instruct.stop_sequence)[0]
    if js_trim(instruct.input_sequence):
        text = text.partition(instruct.input_sequence)[0]
    if not instruct.sequences_as_stop_strings:
        return text
    removed = (
        (instruct.input_sequence,) if is_impersonate else (instruct.output_sequence, instruct.last_output_sequence)
    )
    return reduce(lambda rest, line: rest.replace(line, ""), _lines(removed), text)


def _lines(sequences: Iterable[str]) -> Iterable[str]:
    return (line for sequence in sequences for line in sequence.split("\n") if js_trim(line))
