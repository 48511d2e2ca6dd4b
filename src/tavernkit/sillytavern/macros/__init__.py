"""SillyTavern's macros: the legacy engine, the parser engine of 1.15, and the one of 1.19."""

from tavernkit.sillytavern.macros.engine import ParserMacros, shared_registry
from tavernkit.sillytavern.macros.environment import (
    AuthorsNotes,
    CardFields,
    ChatLine,
    Environment,
    Group,
    ModelState,
    PromptSettings,
)
from tavernkit.sillytavern.macros.evaluator import Expansion
from tavernkit.sillytavern.macros.limits import Limits
from tavernkit.sillytavern.macros.problems import MacroFailure, MacroProblem
from tavernkit.sillytavern.macros.registry import Alias, MacroArgument, MacroDefinition, MacroRegistry
from tavernkit.sillytavern.macros.selection import macro_engine

__all__ = [
    "Alias",
    "AuthorsNotes",
    "CardFields",
    "ChatLine",
    "Environment",
    "Expansion",
    "Group",
    "Limits",
    "MacroArgument",
    "MacroDefinition",
    "MacroFailure",
    "MacroProblem",
    "MacroRegistry",
    "ModelState",
    "ParserMacros",
    "PromptSettings",
    "macro_engine",
    "shared_registry",
]
