"""Errors of the JSON API: always `{"error": {"code", "sentence", "current"}}`."""

from __future__ import annotations

from typing import Any, TypeVar

from fastapi import HTTPException
from pydantic import BaseModel, Field

from tavernkit.playground.outcome import Refused

__all__ = ["ErrorBody", "ErrorResponse", "RefusedError", "documented", "unless_refused"]


T = TypeVar("T")


class ErrorBody(BaseModel):
    """Why nothing was done."""

    code: str = Field(description="For programs.")
    sentence: str = Field(description="For people: what was wrong and what to do.")
    current: Any = Field(default=None, description="How things are now, where they were changed in the meantime.")


class ErrorResponse(BaseModel):
    error: ErrorBody


class RefusedError(HTTPException):
    """A refusal on its way out of a route."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.status, refused.sentence)
        self.refused = refused

    @property
    def body(self) -> dict[str, Any]:
        refused = self.refused
        return {"error": {"code": refused.code, "sentence": refused.sentence, "current": refused.current}}


def unless_refused(outcome: T | Refused) -> T:
    """The outcome of a service; a refusal becomes the answer of the request."""
    if isinstance(outcome, Refused):
        raise RefusedError(outcome)
    return outcome


def documented(*codes: int) -> dict[int | str, dict[str, Any]]:
    """What OpenAPI says about the errors of a route, beside those that any route may give."""
    return {code: {"model": ErrorResponse} for code in (401, 403, 404, 422, *codes)}
