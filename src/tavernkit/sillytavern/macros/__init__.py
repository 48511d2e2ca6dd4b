"""SillyTavern's macros: the legacy engine, the parser engine of 1.15, and the one of 1.19."""

from tavernkit.sillytavern.macros.engine import ParserMacros, macro_engine, shared_registry
from tavernkit.sillytavern.macros.environment import (
    AuthorsNotes,
    CardFields,
    ChatLine,
    Environment,
    GroupNames,
    MacroSettings,
    ModelState,
)
from tavernkit.sillytavern.macros.evaluator import MacroExpansion
from tavernkit.sillytavern.macros.problems import MacroFailure, MacroLimits, MacroProblem
from tavernkit.sillytavern.macros.registry import Alias, MacroArgument, MacroDefinition, MacroDefinitions

__all__ = [
    "Alias",
    "AuthorsNotes",
    "CardFields",
    "ChatLine",
    "Environment",
    "GroupNames",
    "MacroArgument",
    "MacroDefinition",
    "MacroDefinitions",
    "MacroExpansion",
    "MacroFailure",
    "MacroLimits",
    "MacroProblem",
    "MacroSettings",
    "ModelState",
    "ParserMacros",
    "macro_engine",
    "shared_registry",
]
