"""The passes around the named values, in the order in which they run."""

from __future__ import annotations

from tavernkit.sillytavern.macros.legacy.chat import CHAT_PASSES
from tavernkit.sillytavern.macros.legacy.dice import ROLL_PASS
from tavernkit.sillytavern.macros.legacy.instruct import INSTRUCT_PASSES
from tavernkit.sillytavern.macros.legacy.lists import RANDOM_PASS, PickPass
from tavernkit.sillytavern.macros.legacy.passes import CallPass, LegacyExpansion, NamePass, Pass, any_case
from tavernkit.sillytavern.macros.legacy.scanning import (
    find_comments,
    find_in_line,
    find_quoted_in_line,
    find_trims,
)
from tavernkit.sillytavern.macros.legacy.time import TIME_DIFF_PASS, TIME_PASSES
from tavernkit.sillytavern.macros.legacy.variables import VARIABLE_PASSES
from tavernkit.text.js_strings import js_trim


def _nothing(_: LegacyExpansion) -> str:
    return ""


def _reversed(_: LegacyExpansion, text: str) -> str:
    return text[::-1]


def _outlet(expansion: LegacyExpansion, name: str) -> str:
    return expansion.environment.outlets.get(js_trim(name), "")


def _ban(expansion: LegacyExpansion, words: str) -> str:
    if expansion.environment.model.api == "text":
        expansion.environment.banned_words.append(words)
    return ""


PASSES_BEFORE_NAMES: tuple[Pass, ...] = (
    ROLL_PASS,
    *INSTRUCT_PASSES,
    *VARIABLE_PASSES,
    NamePass("{{newline}}", value=lambda _: "\n"),
    CallPass("{{trim}}", find_trims, _nothing),
    NamePass("{{noop}}", value=_nothing),
    NamePass("{{input}}", value=lambda expansion: expansion.environment.input_text),
)

PASSES_AFTER_NAMES: tuple[Pass, ...] = (
    NamePass("{{maxPrompt}}", value=lambda expansion: str(expansion.environment.model.prompt_tokens)),
    *CHAT_PASSES,
    CallPass("{{reverse:", find_in_line(any_case(r"\{\{reverse:")), _reversed),
    CallPass("{{//", find_comments, _nothing),
    *TIME_PASSES,
    CallPass("{{outlet::", find_in_line(any_case(r"\{\{outlet::")), _outlet),
    TIME_DIFF_PASS,
    CallPass('{{banned "', find_quoted_in_line(any_case(r'\{\{banned "')), _ban),
    RANDOM_PASS,
    PickPass(),
)
