"""The passes around the named values, in the order in which they run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from tavernkit.macros.variables import VariablesStore
from tavernkit.sillytavern.macros.legacy.named_values import PARSER_MACROS
from tavernkit.sillytavern.macros.legacy.passes import CallPass, LegacyExpansion, NamePass, Pass, any_case, heads_of
from tavernkit.sillytavern.macros.legacy.scanning import (
    Finder,
    find_braced,
    find_comments,
    find_exactly,
    find_in_line,
    find_named_values,
    find_pairs_in_line,
    find_quoted_in_line,
    find_trims,
)
from tavernkit.sillytavern.macros.packs.random import MAX_DICE, roll
from tavernkit.sillytavern.macros.variables import add_variable, get_variable, set_variable
from tavernkit.text.js_numbers import number_to_string
from tavernkit.text.js_strings import JS_WHITESPACE, js_trim, utf16_length
from tavernkit.text.js_values import to_text
from tavernkit.text.seeded import SeededRandom, string_hash
from tavernkit.values import Json

_DICE = re.compile(r"([0-9]{1,6})d", re.IGNORECASE | re.ASCII)
_UNESCAPED_COMMA = re.compile(r"(?<!\\),")
_CHARACTERS_PER_STEP = 20


def _parser_pass(*names: str, means: str | None = None) -> Pass:
    """A pass for what the parser engine calls by the last of these names, or by the name `means`."""
    return NamePass(*(f"{{{{{name}}}}}" for name in names), value=PARSER_MACROS[means or names[-1]])


def _system_prompt(expansion: LegacyExpansion) -> str:
    prompt = expansion.environment.settings.system_prompt
    return (expansion.card.get("charPrompt") or prompt.content) if prompt.enabled else ""


def _current_swipe(expansion: LegacyExpansion) -> str:
    """A message without swipes has the swipe number NaN: nobody there asks whether there is one before adding one."""
    return PARSER_MACROS["currentSwipeId"](expansion) or "NaN"


def _roll(expansion: LegacyExpansion, formula: str) -> str:
    formula = js_trim(formula)
    dice = _DICE.match(formula)
    expansion.spend(calls=min(int(dice[1]), MAX_DICE) if dice else 1, length=0)
    total = roll(formula, expansion.environment.random)
    return "" if total is None else number_to_string(total)


def _find_list(name: str) -> Finder:
    """`{{name:` or `{{name::`, where one character of white space may stand before the colons.

    Of two colons the second belongs to the list when there would be no list otherwise.
    """
    return find_braced(any_case(rf"\{{\{{{name}[{JS_WHITESPACE}]?:(?::(?=[^}}]))?(?=[^}}])"))


def _items(listed: str) -> list[str]:
    """Items between `::` as they are; else items between commas, trimmed, where `\\,` is a comma."""
    if "::" in listed:
        return listed.split("::")
    return [js_trim(item).replace("\\,", ",") for item in _UNESCAPED_COMMA.split(listed)]


def _random(expansion: LegacyExpansion, listed: str) -> str:
    items = _items(listed)
    return items[expansion.environment.random_index(len(items))]


class PickPass:
    """Picks that stay the same for a chat, a text and a place in it; places are counted as JavaScript does."""

    openings = (b"{{pick",)
    heads = heads_of(openings)
    _find = staticmethod(_find_list("pick"))

    def run(self, text: str, expansion: LegacyExpansion) -> str:
        pieces: list[str] = []
        end = place = 0
        for call in self._find(text):
            place += utf16_length(text[end : call.start])
            seed = string_hash(f"{expansion.environment.chat_id_hash}-{expansion.raw_hash}-{place}")
            items = _items(call.arguments[0])
            value = expansion.processed(items[int(SeededRandom(seed).random() * len(items))])
            expansion.take(value, calls=1, length=len(text))
            pieces += (text[end : call.start], value)
            place += utf16_length(text[call.start : call.end])
            end = call.end
        return "".join((*pieces, text[end:])) if pieces else text


def _variable_passes(word: str, scope: str) -> Iterator[Pass]:
    """The passes of one scope; `word` is what its macros' names end with."""

    def read(expansion: LegacyExpansion, name: str) -> tuple[VariablesStore, str]:
        """The store and the variable's name; a long value costs more, for it is read as a number or as JSON."""
        store, name = expansion.environment.variables, js_trim(name)
        value = store.get(name, scope)
        if isinstance(value, str):
            expansion.spend(calls=len(value) // _CHARACTERS_PER_STEP, length=0)
        return store, name

    def put(expansion: LegacyExpansion, name: str, value: str) -> str:
        set_variable(expansion.environment.variables, js_trim(name), value, scope)
        return ""

    def add(expansion: LegacyExpansion, name: str, value: str) -> str:
        add_variable(*read(expansion, name), value, scope)
        return ""

    def increment(expansion: LegacyExpansion, name: str) -> str:
        return _counted(add_variable(*read(expansion, name), 1, scope))

    def decrement(expansion: LegacyExpansion, name: str) -> str:
        return _counted(add_variable(*read(expansion, name), -1, scope))

    def get(expansion: LegacyExpansion, name: str) -> str:
        return to_text(get_variable(*read(expansion, name), scope))

    yield CallPass(f"{{{{set{word}::", find_named_values(any_case(rf"\{{\{{set{word}::"), at_least=0), put)
    yield CallPass(f"{{{{add{word}::", find_named_values(any_case(rf"\{{\{{add{word}::"), at_least=1), add)
    for verb, value in (("inc", increment), ("dec", decrement), ("get", get)):
        yield CallPass(f"{{{{{verb}{word}::", find_braced(any_case(rf"\{{\{{{verb}{word}::")), value)


def _counted(value: Json) -> str:
    """The new value of a counter. A list that was counted on is kept as JSON, but given back as a list."""
    if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
        return to_text(json.loads(value))
    return to_text(value)


def _outlet(expansion: LegacyExpansion, name: str) -> str:
    return expansion.environment.outlets.get(js_trim(name), "")


def _ban(expansion: LegacyExpansion, words: str) -> str:
    if expansion.environment.model.api == "text":
        expansion.environment.banned_words.append(words)
    return ""


def _time_at(expansion: LegacyExpansion, offset: str) -> str:
    return PARSER_MACROS["time"](expansion, f"UTC{offset}")


PASSES_BEFORE_NAMES: tuple[Pass, ...] = (
    CallPass("{{roll", find_braced(any_case(r"\{\{roll[ :]")), _roll),
    _parser_pass("instructStoryStringPrefix"),
    _parser_pass("instructStoryStringSuffix"),
    _parser_pass("instructInput", "instructUserPrefix"),
    _parser_pass("instructUserSuffix"),
    _parser_pass("instructOutput", "instructAssistantPrefix"),
    _parser_pass("instructSeparator", "instructAssistantSuffix"),
    _parser_pass("instructSystemPrefix"),
    _parser_pass("instructSystemSuffix"),
    _parser_pass("instructFirstOutput", "instructFirstAssistantPrefix"),
    _parser_pass("instructLastOutput", "instructLastAssistantPrefix"),
    _parser_pass("instructStop"),
    _parser_pass("instructUserFiller"),
    _parser_pass("instructSystemInstructionPrefix"),
    _parser_pass("instructFirstInput", "instructFirstUserPrefix"),
    _parser_pass("instructLastInput", "instructLastUserPrefix"),
    NamePass("{{systemPrompt}}", value=_system_prompt),
    _parser_pass("instructSystem", "instructSystemPrompt", "defaultSystemPrompt"),
    _parser_pass("chatSeparator", means="exampleSeparator"),
    _parser_pass("chatStart"),
    *_variable_passes("var", "local"),
    *_variable_passes("globalvar", "global"),
    NamePass("{{newline}}", value=lambda _: "\n"),
    CallPass("{{trim}}", find_trims, lambda _: ""),
    _parser_pass("noop"),
    _parser_pass("input"),
)

PASSES_AFTER_NAMES: tuple[Pass, ...] = (
    _parser_pass("maxPrompt"),
    _parser_pass("lastMessage"),
    _parser_pass("lastMessageId"),
    _parser_pass("lastUserMessage"),
    _parser_pass("lastCharMessage"),
    _parser_pass("firstIncludedMessageId"),
    _parser_pass("firstDisplayedMessageId"),
    _parser_pass("lastSwipeId"),
    NamePass("{{currentSwipeId}}", value=_current_swipe),
    CallPass("{{reverse:", find_in_line(any_case(r"\{\{reverse:")), PARSER_MACROS["reverse"]),
    CallPass("{{//", find_comments, lambda _: ""),
    _parser_pass("time"),
    _parser_pass("date"),
    _parser_pass("weekday"),
    _parser_pass("isotime"),
    _parser_pass("isodate"),
    # Only a space may stand before a format, and only `time_UTC` names another zone.
    CallPass(
        "{{datetimeformat ",
        find_braced(any_case(r"\{\{datetimeformat +"), at_least=0),
        PARSER_MACROS["datetimeformat"],
    ),
    _parser_pass("idle_duration", means="idleDuration"),
    CallPass("{{time_utc", find_exactly(any_case(r"\{\{time_UTC([-+][0-9]+)\}\}")), _time_at),
    CallPass("{{outlet::", find_in_line(any_case(r"\{\{outlet::")), _outlet),
    CallPass("{{timediff::", find_pairs_in_line(any_case(r"\{\{timeDiff::")), PARSER_MACROS["timeDiff"]),
    CallPass('{{banned "', find_quoted_in_line(any_case(r'\{\{banned "')), _ban),
    CallPass("{{random", _find_list("random"), _random),
    PickPass(),
)
