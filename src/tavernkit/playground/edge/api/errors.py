"""Errors of the JSON API: always `{"error": {"code", "sentence", "current"}}`."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class ErrorBody(BaseModel):
    """Why nothing was done."""

    code: str = Field(description="For programs.")
    sentence: str = Field(description="For people: what was wrong and what to do.")
    current: Any = Field(default=None, description="How things are now, where they were changed in the meantime.")


class ErrorResponse(BaseModel):
    error: ErrorBody


def documented(*codes: int) -> dict[int | str, dict[str, Any]]:
    """What OpenAPI says about the errors of a route, beside those that any route may give."""
    return {code: {"model": ErrorResponse} for code in (401, 403, 404, 422, *codes)}
