"""Variables of the parse, of the chat and of all chats, and the calculator that reads them."""

from __future__ import annotations

from tavernkit.risuai.cbs.calculator import calculate
from tavernkit.risuai.cbs.call import CBSCall, ParseReturn
from tavernkit.risuai.cbs.functions.arguments import UNDEFINED, character, number_at, text_at
from tavernkit.risuai.cbs.functions.objects import inherited_text
from tavernkit.risuai.cbs.registry import FunctionPack
from tavernkit.risuai.default_variables import get_chat_variable, get_global_variable
from tavernkit.text.js_numbers import number_to_string, to_number

# RisuAI keeps what `{{return}}` says among the variables of the parse, where texts can write it as well.
_RETURNED = "__return__"
_RETURNS = "__force_return__"

VARIABLES = FunctionPack(
    "variables",
    {
        "getvar": lambda call: get_chat_variable(call.scene, text_at(call, 0)),
        "calc": lambda call: number_to_string(calculate(call.need(0), call.scene)),
    },
)


@VARIABLES.function("tempvar", "gettempvar")
def temporary_variable(call: CBSCall) -> str:
    name = text_at(call, 0)
    return call.temporary[name] if name in call.temporary else inherited_text(name)


@VARIABLES.function("settempvar")
def set_temporary_variable(call: CBSCall) -> str:
    _keep(call, text_at(call, 0), call.get(1))
    if call.temporary.get(_RETURNS):
        raise ParseReturn(call.temporary.get(_RETURNED, "null"))
    return ""


@VARIABLES.function("return")
def return_from_parse(call: CBSCall) -> str:
    value = call.get(0)
    raise ParseReturn("null" if value is None else value)


def _keep(call: CBSCall, name: str, value: str | None) -> None:
    if value is None:
        call.temporary.pop(name, None)
    elif name != "__proto__":  # a text given to it is not kept
        call.temporary[name] = value


@VARIABLES.function("getglobalvar")
def global_variable(call: CBSCall) -> str:
    name = text_at(call, 0)
    if inherited_text(name) and not call.scene.variables.has(name, "global"):
        return UNDEFINED
    return get_global_variable(call.scene, name)


@VARIABLES.function("setvar")
def set_variable(call: CBSCall) -> str | None:
    if not _runs(call):
        return _without_running(call)
    character(call)
    name, value = text_at(call, 0), call.get(1)
    if value is None:
        call.scene.variables.delete(name)
    else:
        call.scene.variables.set(name, value)
    return ""


@VARIABLES.function("addvar")
def add_to_variable(call: CBSCall) -> str | None:
    if not _runs(call):
        return _without_running(call)
    character(call)
    name = text_at(call, 0)
    total = to_number(get_chat_variable(call.scene, name)) + number_at(call, 1)
    call.scene.variables.set(name, number_to_string(total))
    return ""


@VARIABLES.function("setdefaultvar")
def set_default_variable(call: CBSCall) -> str | None:
    if not _runs(call):
        return _without_running(call)
    if not get_chat_variable(call.scene, text_at(call, 0)):
        return set_variable(call)
    return ""


def _runs(call: CBSCall) -> bool:
    return call.options.runs_variables and not call.options.removes_variables


def _without_running(call: CBSCall) -> str | None:
    return "" if call.options.removes_variables else None
