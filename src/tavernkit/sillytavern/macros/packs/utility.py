"""White space, comments, outlets, small changes to text, and what answers and how much it can hold."""

from __future__ import annotations

from functools import partial

from tavernkit.sillytavern.macros.evaluator import MacroExpansion
from tavernkit.sillytavern.macros.problems import MacroFailure
from tavernkit.sillytavern.macros.registry import MacroArgument, Pack
from tavernkit.text.js_numbers import to_number

UTILITY = Pack("utility")
UTILITY_1_15 = Pack("utility")
UTILITY_1_19 = Pack("utility")
STATE = Pack("state")
STATE_1_15 = Pack("state")
STATE_1_19 = Pack("state")

_COUNT = MacroArgument(name="count", types=("integer",), optional=True, default="1")


def _repeat(text: str, expansion: MacroExpansion, count: str = "1") -> str:
    number = to_number(count)
    if number < 0:
        raise MacroFailure("cannot be repeated fewer than 0 times")
    expansion.allow(int(min(number, 1e18)))
    return text * int(number)


UTILITY.macro("space", "Spaces: one, or as many as said.", _COUNT)(partial(_repeat, " "))
UTILITY.macro("newline", "Line breaks: one, or as many as said.", _COUNT)(partial(_repeat, "\n"))
UTILITY.value("noop", "Nothing.", lambda _: "")
UTILITY_1_15.macro("trim", "Removes itself and the line breaks around it.")(lambda _: "{{trim}}")


@UTILITY_1_19.macro(
    "trim",
    "Removes itself and the line breaks around it; as a block, gives its body without white space around it.",
    MacroArgument(name="content", optional=True),
)
def _trim_block(expansion: MacroExpansion, content: str = "") -> str:
    return content if expansion.scoped else "{{trim}}"


UTILITY.value("input", "What stands in the input field.", "input_text")


UTILITY.macro("reverse", "The text backwards.", MacroArgument(name="value"))(lambda _, value: value[::-1])
UTILITY_1_15.macro("//", "A comment: nothing.", aliases=("comment",), takes_list=True, strict=False)(lambda *_: "")
UTILITY_1_19.macro("//", "A comment: nothing.", MacroArgument(name="comment"), hidden=("comment",))(lambda *_: "")


@UTILITY.macro("banned", "Forbids a text model a word.", MacroArgument(name="word"))
def _banned(expansion: MacroExpansion, word: str) -> str:
    if expansion.environment.model.api == "text":
        expansion.environment.banned_words.append(word.removeprefix('"').removesuffix('"'))
    return ""


@UTILITY.macro("outlet", "What World Info put into the outlet of that name.", MacroArgument(name="key"))
def _outlet(expansion: MacroExpansion, key: str) -> str:
    return expansion.environment.outlets.get(key, "")


STATE.value("model", "The name of the model.", "model.name")
STATE.value(
    "isMobile",
    "Whether the page is shown on a phone.",
    lambda expansion: "true" if expansion.environment.is_mobile else "false",
    returns=("boolean",),
)
STATE.value("lastGenerationType", "What kind of reply was asked for last: normal, swipe, continue…", "generation_type")


def _tokens(pack: Pack, name: str, description: str, field: str, *aliases: str) -> None:
    def read(expansion: MacroExpansion) -> str:
        return str(getattr(expansion.environment.model, field))

    pack.value(name, description, read, *aliases, returns=("integer",))


_tokens(STATE_1_15, "maxPrompt", "How many tokens the prompt may have.", "prompt_tokens")
_tokens(STATE_1_19, "maxPrompt", "How many tokens the prompt may have.", "prompt_tokens", "maxPromptTokens")
_tokens(
    STATE_1_19,
    "maxContext",
    "How many tokens prompt and response may have together.",
    "max_context",
    "maxContextTokens",
)
_tokens(STATE_1_19, "maxResponse", "How many tokens the response may have.", "max_response", "maxResponseTokens")


@STATE_1_19.macro(
    "hasExtension", "Whether an extension of that name is there and on.", MacroArgument(name="extensionName")
)
def _has_extension(expansion: MacroExpansion, name: str) -> str:
    return "true" if name in expansion.environment.extensions else "false"
