"""Which engine runs is a setting, as in SillyTavern."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tavernkit.macros.engine import MacroEngine
from tavernkit.sillytavern.macros.engine import ParserMacros
from tavernkit.sillytavern.macros.legacy.engine import LegacyMacros
from tavernkit.sillytavern.macros.problems import DEFAULT_LIMITS, MacroLimits, ProblemHandler
from tavernkit.values import check_choice

EngineName: TypeAlias = Literal["legacy", "1.15", "1.19"]


def macro_engine(
    name: EngineName = "1.19", *, limits: MacroLimits = DEFAULT_LIMITS, on_problem: ProblemHandler | None = None
) -> MacroEngine:
    """The legacy engine, which 1.15 shipped with, or one of the parser engines; the later one is today's default."""
    check_choice("The name of a macro engine", name, EngineName)
    if name == "legacy":
        return LegacyMacros(limits=limits, on_problem=on_problem)
    return ParserMacros(name, limits=limits, on_problem=on_problem)
