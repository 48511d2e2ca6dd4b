"""`{{if}}` and `{{else}}`: only the branch that is taken is expanded."""

from __future__ import annotations

import re

from tavernkit.sillytavern.macros.evaluator import MacroExpansion, dedent
from tavernkit.sillytavern.macros.lexer import Grammar, RawCall, scan
from tavernkit.sillytavern.macros.registry import MacroArgument, Pack
from tavernkit.sillytavern.macros.variables import get_variable, is_false, value_text
from tavernkit.text.js_strings import JS_WHITESPACE

CONDITION = Pack("utility")
ELSE_MARKER = "\0\x1fELSE\x1f\0"
"""What a stray `{{else}}` gives; it is taken out of the finished text."""

_VARIABLE = re.compile(r"([.$])([A-Za-z](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?)")


@CONDITION.macro(
    "if",
    "Its content, or what follows `{{else}}` in it when the condition is empty, false, off or 0.",
    MacroArgument(name="condition"),
    MacroArgument(name="content"),
    delayed=True,
)
def _if(expansion: MacroExpansion, condition: str, content: str) -> str:
    offset = expansion.offset
    keeps_white_space = expansion.keeps_white_space
    asked = condition.lstrip(JS_WHITESPACE)
    inverted = asked.startswith("!")
    if inverted:
        condition = asked[1:].lstrip(JS_WHITESPACE)
    no = is_false(_value(expansion, expansion.resolve(condition, offset), offset))
    then, otherwise = _branches(content)
    branch = then if no is inverted else otherwise
    if branch is None:
        return ""
    result = expansion.resolve(branch, offset)
    return result if keeps_white_space else dedent(result)


@CONDITION.macro("else", "Stands between the two branches of an `{{if}}`.")
def _else(_: MacroExpansion) -> str:
    return ELSE_MARKER


def _value(expansion: MacroExpansion, condition: str, offset: int) -> str:
    """What a condition stands for: a variable, a macro that needs no arguments, or itself."""
    variable = _VARIABLE.fullmatch(condition)
    if variable is not None:
        scope = "local" if variable[1] == "." else "global"
        return value_text(get_variable(expansion.environment.variables, variable[2], scope))
    definition = expansion.registry.get(condition.strip(JS_WHITESPACE))
    if definition is not None and definition.min_arguments == 0:
        return expansion.resolve(f"{{{{{condition}}}}}", offset)
    return condition


def _branches(content: str) -> tuple[str, str | None]:
    """The content before and after the first `{{else}}` that belongs to no `{{if}}` inside; by case, as there."""
    depth = 0
    found = scan(str(content), Grammar.V1_19)
    for call in found.calls:
        if found.unfinished is not None and call.start > found.unfinished:
            break
        closes = "/" in call.flags
        if isinstance(call, RawCall) and call.scope:
            continue
        if call.name == "if":
            if closes:
                depth -= 1
            elif len(call.arguments) == 1:
                depth += 1
        elif call.name == "else" and depth == 0:
            return content[: call.start], content[call.end :]
    return content, None
