"""What is done to a model's reply before it becomes a message."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Literal

from tavernkit.sillytavern.presets import Instruct
from tavernkit.sillytavern.settings import UserSettings
from tavernkit.text.js_strings import JS_WHITESPACE, js_trim
from tavernkit.text.replies import (
    END_OF_TEXT,
    before_speaker,
    strip_line_ends,
    without_labels,
    without_stop,
)
from tavernkit.text.replies import collapse_newlines as collapse_newlines

_SPACE = "[" + JS_WHITESPACE.translate({ord(end): None for end in "\n\v\f\r\u2028\u2029"}) + "]"
_PAIR = re.compile(r"([*_]{1,2})[\s\S]*?\1")
# A run of spaces is tried at its first space only: from every space of it would take quadratic time.
_SPACED_MARK = re.compile(f"([*_]){_SPACE}+|(?<!{_SPACE}){_SPACE}++([*_])")
_CLOSED_PER_LINE = ("*", '"')


def fix_markdown(text: str, *, for_display: bool = False) -> str:
    """Remove the spaces beside the marks of an emphasis: `* waves *` becomes `*waves*`.

    For display, a line with an odd number of asterisks or quotation marks gets one more at its end, the quotation mark
    alone if both are odd.
    """
    fixed = _PAIR.sub(lambda pair: _SPACED_MARK.sub(r"\1\2", pair[0]), text)
    if not for_display:
        return fixed
    return "\n".join(map(_closed, fixed.split("\n")))


def _closed(line: str) -> str:
    odd = [mark for mark in _CLOSED_PER_LINE if line.count(mark) % 2]
    return line.rstrip(JS_WHITESPACE) + odd[-1] if odd else line


_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u23cf\u23e9-\u23f3"
    "\u23f8-\u23fa\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u2604\u260e\u2611\u2614\u2615\u2618\u261d"
    "\u2620\u2622\u2623\u2626\u262a\u262e\u262f\u2638-\u263a\u2640\u2642\u2648-\u2653\u265f\u2660\u2663"
    "\u2665\u2666\u2668\u267b\u267e\u267f\u2692-\u2697\u2699\u269b\u269c\u26a0\u26a1\u26a7\u26aa\u26ab"
    "\u26b0\u26b1\u26bd\u26be\u26c4\u26c5\u26c8\u26ce\u26cf\u26d1\u26d3\u26d4\u26e9\u26ea\u26f0-\u26f5"
    "\u26f7-\u26fa\u26fd\u2702\u2705\u2708-\u270d\u270f\u2712\u2714\u2716\u271d\u2721\u2728\u2733\u2734\u2744"
    "\u2747\u274c\u274e\u2753-\u2755\u2757\u2763\u2764\u2795-\u2797\u27a1\u27b0\u27bf\u2934\u2935\u2b05-\u2b07"
    "\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299\U0001f004\U0001f02c-\U0001f02f\U0001f094-\U0001f09f"
    "\U0001f0af\U0001f0b0\U0001f0c0\U0001f0cf\U0001f0d0\U0001f0f6-\U0001f0ff\U0001f170\U0001f171"
    "\U0001f17e\U0001f17f\U0001f18e\U0001f191-\U0001f19a\U0001f1ae-\U0001f1ff\U0001f201-\U0001f20f\U0001f21a"
    "\U0001f22f\U0001f232-\U0001f23a\U0001f23c-\U0001f23f\U0001f249-\U0001f25f\U0001f266-\U0001f321"
    "\U0001f324-\U0001f393\U0001f396\U0001f397\U0001f399-\U0001f39b\U0001f39e-\U0001f3f0\U0001f3f3-\U0001f3f5"
    "\U0001f3f7-\U0001f4fd\U0001f4ff-\U0001f53d\U0001f549-\U0001f54e\U0001f550-\U0001f567\U0001f56f\U0001f570"
    "\U0001f573-\U0001f57a\U0001f587\U0001f58a-\U0001f58d\U0001f590\U0001f595\U0001f596\U0001f5a4\U0001f5a5"
    "\U0001f5a8\U0001f5b1\U0001f5b2\U0001f5bc\U0001f5c2-\U0001f5c4\U0001f5d1-\U0001f5d3\U0001f5dc-\U0001f5de"
    "\U0001f5e1\U0001f5e3\U0001f5e8\U0001f5ef\U0001f5f3\U0001f5fa-\U0001f64f\U0001f680-\U0001f6c5"
    "\U0001f6cb-\U0001f6d2\U0001f6d5-\U0001f6e5\U0001f6e9\U0001f6eb-\U0001f6f0\U0001f6f3-\U0001f6ff"
    "\U0001f7da-\U0001f7ff\U0001f80c-\U0001f80f\U0001f848-\U0001f84f\U0001f85a-\U0001f85f\U0001f888-\U0001f88f"
    "\U0001f8ae\U0001f8af\U0001f8bc-\U0001f8bf\U0001f8c2-\U0001f8cf\U0001f8d9-\U0001f8ff\U0001f90c-\U0001f93a"
    "\U0001f93c-\U0001f945\U0001f947-\U0001f9ff\U0001fa58-\U0001fa5f\U0001fa6e-\U0001faff\U0001fc00-\U0001fffd"
)
"""Emoji_Presentation or Extended_Pictographic in Unicode 17, as the inside of a character class."""

CLOSING_MARKS = '.!?*")}`]$。！？”）】’」_'
_UP_TO_LAST_END = re.compile(f"[\\s\\S]*(?:([{re.escape(CLOSING_MARKS)}])|[{_EMOJI}])")


def trim_to_end_sentence(text: str) -> str:
    """The text up to its last closing mark or emoji; all of it where there is none. A mark after a space is dropped."""
    found = _UP_TO_LAST_END.match(text)
    if found is None:
        return text.rstrip(JS_WHITESPACE)
    end = found.end()
    if found[1] and end > 1 and text[end - 2] in JS_WHITESPACE:
        end -= 1
    return text[:end].rstrip(JS_WHITESPACE)


def trim_to_start_sentence(text: str) -> str:
    """The text without what may be the end of a sentence that began before it.

    It begins after the first full stop, or after an exclamation mark, a question mark or a line break before that one.
    """
    stop = text.find(".")
    ends = (text.find(mark, 0, max(stop, 0)) for mark in "!?\n")
    first = min((end for end in ends if end > 0), default=stop)
    if first <= 0:
        return text
    return text[first + (1 if text[first] == "\n" else 2) :]


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
    for line in "\n".join(removed).split("\n"):
        if js_trim(line):
            text = text.replace(line, "")
    return text
