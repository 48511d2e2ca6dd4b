"""White space, comments, outlets, and small changes to text."""

from __future__ import annotations

from tavernkit.sillytavern.macros.evaluator import MacroExpansion
from tavernkit.sillytavern.macros.problems import MacroFailure
from tavernkit.sillytavern.macros.registry import Alias, MacroArgument, Pack
from tavernkit.text.js_numbers import to_number

UTILITY = Pack("utility")
UTILITY_1_15 = Pack("utility")
UTILITY_1_19 = Pack("utility")

_COUNT = MacroArgument(name="count", types=("integer",), optional=True, default="1")


def ban_word(expansion: MacroExpansion, word: str) -> None:
    """Remember a word that a text model must not use, without the quotes around it."""
    if expansion.environment.model.api == "text":
        expansion.environment.banned_words.append(word.removeprefix('"').removesuffix('"'))


def _repeat(expansion: MacroExpansion, text: str, count: str) -> str:
    number = to_number(count)
    if number < 0:
        raise MacroFailure("cannot be repeated fewer than 0 times")
    expansion.allow(int(min(number, 1e18)))
    return text * int(number)


@UTILITY.macro("space", "Spaces: one, or as many as said.", _COUNT)
def _space(expansion: MacroExpansion, count: str = "1") -> str:
    return _repeat(expansion, " ", count)


@UTILITY.macro("newline", "Line breaks: one, or as many as said.", _COUNT)
def _newline(expansion: MacroExpansion, count: str = "1") -> str:
    return _repeat(expansion, "\n", count)


@UTILITY.macro("noop", "Nothing.", constant=True)
def _noop(_: MacroExpansion) -> str:
    return ""


@UTILITY_1_15.macro("trim", "Removes itself and the line breaks around it.")
def _trim(_: MacroExpansion) -> str:
    return "{{trim}}"


@UTILITY_1_19.macro(
    "trim",
    "Removes itself and the line breaks around it; as a block, gives its body without white space around it.",
    MacroArgument(name="content", optional=True),
)
def _trim_block(expansion: MacroExpansion, content: str = "") -> str:
    return content if expansion.scoped else "{{trim}}"


@UTILITY.macro("input", "What stands in the input field.", constant=True)
def _input(expansion: MacroExpansion) -> str:
    return expansion.environment.input_text


@UTILITY.macro("reverse", "The text backwards.", MacroArgument(name="value"))
def _reverse(_: MacroExpansion, value: str) -> str:
    return value[::-1]


@UTILITY_1_15.macro("//", "A comment: nothing.", aliases=(Alias(name="comment"),), takes_list=True, strict=False)
def _lax_comment(_: MacroExpansion, *_comment: str) -> str:
    return ""


@UTILITY_1_19.macro(
    "//", "A comment: nothing.", MacroArgument(name="comment"), aliases=(Alias(name="comment", visible=False),)
)
def _comment(_: MacroExpansion, _comment: str) -> str:
    return ""


@UTILITY.macro("banned", "Forbids a text model a word.", MacroArgument(name="word"))
def _banned(expansion: MacroExpansion, word: str) -> str:
    ban_word(expansion, word)
    return ""


@UTILITY.macro("outlet", "What World Info put into the outlet of that name.", MacroArgument(name="key"))
def _outlet(expansion: MacroExpansion, key: str) -> str:
    return expansion.environment.outlets.get(key, "")
