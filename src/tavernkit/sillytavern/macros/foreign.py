"""The environment of another kind of build, as SillyTavern's engines read it."""

from __future__ import annotations

from tavernkit.macros.engine import BorrowedVariables, MacroEnvironment
from tavernkit.sillytavern.macros.environment import Environment


def as_environment(environment: MacroEnvironment) -> Environment:
    """The environment itself where it is SillyTavern's; else one with its names and its variables."""
    if isinstance(environment, Environment):
        return environment
    return Environment(
        user_name=environment.user_name,
        character_name=environment.character_name,
        variables=BorrowedVariables(environment),
    )
