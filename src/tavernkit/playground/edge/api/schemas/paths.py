"""The state of a story as the API gives and takes it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from tavernkit.playground.base.schemas import StrictModel


class StateOut(StrictModel):
    """The state behind a message."""

    seq: int = Field(description="The number of the message.")
    state: dict[str, Any] = Field(description="Keys such as `variables.gold`.")


class VariablesOut(BaseModel):
    """The chat variables at one place of the path, or the global ones."""

    variables: dict[str, Any]


class VariableIn(BaseModel):
    """What a variable is to hold."""

    value: Any = Field(description="Any JSON value.")
