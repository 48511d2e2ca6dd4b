"""The built-in macros, by topic."""

from __future__ import annotations

from typing import Literal

from tavernkit.sillytavern.macros.packs.card import CARD, GREETINGS, NAMES
from tavernkit.sillytavern.macros.packs.chat import CHAT, CHAT_RANGE
from tavernkit.sillytavern.macros.packs.condition import CONDITION
from tavernkit.sillytavern.macros.packs.instruct import EXTENSIONS, INSTRUCT
from tavernkit.sillytavern.macros.packs.random import RANDOM
from tavernkit.sillytavern.macros.packs.time import TIME
from tavernkit.sillytavern.macros.packs.utility import (
    STATE,
    STATE_1_15,
    STATE_1_19,
    UTILITY,
    UTILITY_1_15,
    UTILITY_1_19,
)
from tavernkit.sillytavern.macros.packs.variables import VARIABLES, VARIABLES_1_19
from tavernkit.sillytavern.macros.registry import MacroDefinitions

__all__ = ["built_in_macros"]

_BOTH = (NAMES, CARD, CHAT, TIME, VARIABLES, INSTRUCT, RANDOM, UTILITY, STATE)
_PACKS = {
    "1.15": (*_BOTH, UTILITY_1_15, STATE_1_15),
    "1.19": (*_BOTH, UTILITY_1_19, STATE_1_19, CONDITION, GREETINGS, CHAT_RANGE, VARIABLES_1_19, EXTENSIONS),
}


def built_in_macros(version: Literal["1.15", "1.19"]) -> MacroDefinitions:
    """A new registry of that version's macros; since 1.15 names do not depend on case."""
    registry = MacroDefinitions(case_sensitive=version == "1.15")
    for pack in _PACKS[version]:
        for definition in pack.definitions:
            registry.add(definition)
    return registry
