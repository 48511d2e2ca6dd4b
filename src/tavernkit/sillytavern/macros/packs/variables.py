"""Variables of the chat, and with `global` in the name those of all chats."""

from __future__ import annotations

from tavernkit.sillytavern.macros.evaluator import MacroExpansion
from tavernkit.sillytavern.macros.registry import MacroArgument, Pack
from tavernkit.sillytavern.macros.variables import (
    add_variable,
    get_element,
    get_variable,
    set_element,
    set_variable,
    value_text,
)

VARIABLES = Pack("variable")
VARIABLES_1_19 = Pack("variable")

_NAME = MacroArgument(name="name")
_KEY = MacroArgument(name="key", types=("string", "number"))
_VALUE = MacroArgument(name="value", types=("string", "number"))


def _register(scope: str, infix: str, where: str) -> None:
    @VARIABLES.macro(f"set{infix}var", f"Sets a variable of {where}.", _NAME, _VALUE)
    def _set(expansion: MacroExpansion, name: str, value: str) -> str:
        set_variable(expansion.environment.variables, name, value, scope)
        return ""

    @VARIABLES.macro(f"add{infix}var", f"Adds to a variable of {where}: sum, list or text.", _NAME, _VALUE)
    def _add(expansion: MacroExpansion, name: str, value: str) -> str:
        expansion.allow_growth(add_variable(expansion.environment.variables, name, value, scope))
        return ""

    @VARIABLES.macro(f"inc{infix}var", f"Adds 1 to a variable of {where} and prints it.", _NAME, returns=("number",))
    def _increase(expansion: MacroExpansion, name: str) -> str:
        return value_text(add_variable(expansion.environment.variables, name, 1, scope))

    @VARIABLES.macro(f"dec{infix}var", f"Takes 1 from a variable of {where} and prints it.", _NAME, returns=("number",))
    def _decrease(expansion: MacroExpansion, name: str) -> str:
        return value_text(add_variable(expansion.environment.variables, name, -1, scope))

    @VARIABLES.macro(f"get{infix}var", f"Prints a variable of {where}.", _NAME, returns=("string", "number"))
    def _get(expansion: MacroExpansion, name: str) -> str:
        return value_text(get_variable(expansion.environment.variables, name, scope))


def _register_1_19(scope: str, infix: str, where: str) -> None:
    @VARIABLES_1_19.macro(f"has{infix}var", f"Whether {where} has the variable.", _NAME, aliases=(f"{infix}varexists",))
    def _has(expansion: MacroExpansion, name: str) -> str:
        return "true" if expansion.environment.variables.has(name, scope) else "false"

    @VARIABLES_1_19.macro(f"delete{infix}var", f"Removes a variable of {where}.", _NAME, aliases=(f"flush{infix}var",))
    def _delete(expansion: MacroExpansion, name: str) -> str:
        expansion.environment.variables.delete(name, scope)
        return ""

    @VARIABLES_1_19.macro(
        f"set{infix}varkey",
        f"Sets one element of a list or object in a variable of {where}.",
        _NAME,
        _KEY,
        _VALUE,
        aliases=(f"set{infix}varindex",),
    )
    def _set_element(expansion: MacroExpansion, name: str, key: str, value: str) -> str:
        set_element(expansion.environment.variables, name, key, value, scope)
        return ""

    @VARIABLES_1_19.macro(
        f"get{infix}varkey",
        f"Prints one element of a list or object in a variable of {where}.",
        _NAME,
        _KEY,
        aliases=(f"get{infix}varindex",),
        returns=("string", "number"),
    )
    def _get_element(expansion: MacroExpansion, name: str, key: str) -> str:
        return get_element(expansion.environment.variables, name, key, scope)


_register("local", "", "the chat")
_register("global", "global", "all chats")
_register_1_19("local", "", "the chat")
_register_1_19("global", "global", "all chats")
