"""Variables: every `{{setvar}}` of a text runs before its first `{{getvar}}`, wherever they stand."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tavernkit.macros.variables import VariablesStore
from tavernkit.sillytavern.macros.legacy.passes import CallPass, LegacyExpansion, Pass, any_case
from tavernkit.sillytavern.macros.legacy.scanning import find_braced, find_named_values
from tavernkit.sillytavern.macros.variables import add_variable, get_variable, set_variable
from tavernkit.text.js_strings import js_trim
from tavernkit.text.js_values import to_text
from tavernkit.values import Json

_CHARACTERS_PER_STEP = 20


def _passes(word: str, scope: str) -> Iterator[Pass]:
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


VARIABLE_PASSES: tuple[Pass, ...] = (*_passes("var", "local"), *_passes("globalvar", "global"))
