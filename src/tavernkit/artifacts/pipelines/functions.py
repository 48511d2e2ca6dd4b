"""Python functions that steps may call: registered by name, never imported by a profile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import TypeAlias

from tavernkit.values import Value

STEP_FUNCTIONS = "tavernkit.step_functions"
"""The scope of load hooks: `on_load(STEP_FUNCTIONS, hook)` gets the application's StepFunctions to register in."""


class StepFunctionCall(Value, frozen=True, kw_only=True):
    """What a function is told: the step's own arguments, and what templates see."""

    arguments: Mapping[str, object]
    values: Mapping[str, object]
    now: datetime
    random: Callable[[], float]


StepFunction: TypeAlias = Callable[[StepFunctionCall], Awaitable[object]]


class StepFunctions:
    """Functions by name."""

    def __init__(self) -> None:
        self._functions: dict[str, StepFunction] = {}

    def register(self, name: str, function: StepFunction) -> None:
        """Give a function a name; a name that is taken is a mistake of the program."""
        if name in self._functions:
            raise ValueError(f"A step function named {name!r} is registered already.")
        self._functions[name] = function

    def get(self, name: str) -> StepFunction | None:
        return self._functions.get(name)

    def __contains__(self, name: object) -> bool:
        return name in self._functions
