"""All routes of the JSON API, noun by noun."""

from __future__ import annotations

from fastapi import APIRouter

__all__ = ["PREFIX", "api_router"]

PREFIX = "/api/v1"


def api_router() -> APIRouter:
    """The routes under one prefix."""
    return APIRouter(prefix=PREFIX)
