"""Macro engines: the contract they share, and the variables they work on."""

from tavernkit.macros.engine import MacroEngine, MacroEnvironment, MacroRegistry, NameEnvironment, NameMacros
from tavernkit.macros.variables import CORE_SCOPES, Variables, VariablesStore

__all__ = [
    "CORE_SCOPES",
    "MacroEngine",
    "MacroEnvironment",
    "MacroRegistry",
    "NameEnvironment",
    "NameMacros",
    "Variables",
    "VariablesStore",
]
